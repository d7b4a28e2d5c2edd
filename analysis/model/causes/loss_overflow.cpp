#include <cmath>

#include "evidence.hpp"

namespace ulp {

// Infinite, while every gradient is finite.
void examine_loss_overflow(const evidence& e, std::vector<cause>& found) {
  loss_overflow all;
  for (std::size_t i = 0; i < e.healthy; ++i) {
    const step_survey& s = e.steps[i];
    if (!std::isinf(s.loss) || is_lost(s) || s.tensors == 0) continue;
    if (all.lost.steps++ == 0) all.lost.first = s.key.step;
    all.lost.last = s.key.step;
  }
  if (all.lost.steps > 0) found.emplace_back(all);
}

}  // namespace ulp
