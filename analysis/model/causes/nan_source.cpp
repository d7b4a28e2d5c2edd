#include <algorithm>

#include "evidence.hpp"
#include "replay/backward_order.hpp"

namespace ulp {

nan_source nan_source_of(const survey& run, const std::vector<tensor_info>& tensors, const first_lost& lost) {
  nan_source n;
  n.with_nan = static_cast<std::uint32_t>(lost.with_nan.size());
  n.tensors = run.steps()[lost.step].tensors;
  const auto is_weight = [&](std::uint32_t i) { return tensors[i].kind != tensor_kind::activation_grad; };
  const auto weight = std::ranges::find_if(lost.with_nan, is_weight);
  n.tensor = weight == lost.with_nan.end() ? lost.with_nan.front() : *weight;
  const std::vector<std::uint32_t> ranks = backward_ranks(tensors);
  for (std::uint32_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].kind != tensors[n.tensor].kind || run.tensors()[i].steps == 0) continue;
    if (ranks[i] < ranks[n.tensor] && (!n.neighbour || ranks[i] > ranks[*n.neighbour])) n.neighbour = i;
  }
  return n;
}

void examine_nan_source(const evidence& e, std::vector<cause>& found) {
  if (e.nan) found.emplace_back(*e.nan);
}

}  // namespace ulp
