#include <algorithm>

#include "evidence.hpp"

namespace ulp {

nan_source nan_source_of(const survey& run, const std::vector<tensor_info>& tensors, const first_lost& lost) {
  nan_source n;
  n.with_nan = static_cast<std::uint32_t>(lost.with_nan.size());
  n.tensors = run.steps()[lost.step].tensors;
  const auto is_weight = [&](std::uint32_t i) { return tensors[i].kind != tensor_kind::activation_grad; };
  const auto weight = std::ranges::find_if(lost.with_nan, is_weight);
  n.tensor = weight == lost.with_nan.end() ? lost.with_nan.front() : *weight;
  for (std::uint32_t i = n.tensor + 1; i < tensors.size() && !n.neighbour; ++i)
    if (tensors[i].kind == tensors[n.tensor].kind && run.tensors()[i].steps > 0) n.neighbour = i;
  return n;
}

void examine_nan_source(const evidence& e, std::vector<cause>& found) {
  if (e.nan) found.emplace_back(*e.nan);
}

}  // namespace ulp
