#include "backward_order.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string_view>

namespace ulp {
namespace {

// "head" of "wgrad/head.weight".
std::string_view module_of(std::string_view parameter) {
  parameter = without_kind(parameter);
  return parameter.substr(0, parameter.rfind('.'));
}

// The place of each activation gradient's module in `weights`, which are in the order of backward.
class modules {
 public:
  modules(const std::vector<tensor_info>& tensors, const std::vector<std::uint32_t>& weights) {
    for (std::size_t i = 0; i < weights.size(); ++i) first_.emplace(module_of(tensors[weights[i]].name), i);
  }
  [[nodiscard]] std::optional<std::size_t> place_of(const tensor_info& activation) const {
    const auto found = first_.find(without_kind(activation.name));
    return found == first_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  std::map<std::string_view, std::size_t> first_;
};

}  // namespace

std::vector<std::uint32_t> backward_ranks(const std::vector<tensor_info>& tensors) {
  std::vector<std::uint32_t> activations;
  std::vector<std::uint32_t> weights;
  for (std::uint32_t i = 0; i < tensors.size(); ++i)
    (tensors[i].kind == tensor_kind::activation_grad ? activations : weights).push_back(i);
  std::ranges::reverse(weights);
  const modules at(tensors, weights);

  std::ptrdiff_t rises = 0;  // less the falls
  std::optional<std::size_t> last;
  bool is_named_so = false;
  for (const std::uint32_t i : activations)
    if (const std::optional<std::size_t> place = at.place_of(tensors[i])) {
      is_named_so = true;
      if (last && place != last) rises += *last < *place ? 1 : -1;
      last = place;
    }
  if (rises < 0) std::ranges::reverse(activations);

  std::vector<std::uint32_t> ranks(tensors.size());
  if (!is_named_so) {
    for (std::uint32_t i = 0; i < ranks.size(); ++i) ranks[i] = static_cast<std::uint32_t>(ranks.size()) - 1 - i;
    return ranks;
  }
  std::uint32_t rank = 0;
  std::size_t taken = 0;  // of the weights
  const auto take_weights = [&](std::size_t end) {
    for (; taken < end; ++taken) ranks[weights[taken]] = rank++;
  };
  for (const std::uint32_t i : activations) {
    take_weights(at.place_of(tensors[i]).value_or(0));
    ranks[i] = rank++;
  }
  take_weights(weights.size());
  return ranks;
}

}  // namespace ulp
