// Gradients that are all exact zeros, to the end.
#include "evidence.hpp"

namespace ulp {
namespace {

std::optional<zero_gradients> zero_gradients_of(const std::vector<step_survey>& steps) {
  constexpr std::uint64_t least_steps = 5;
  const auto is_zero = [](const step_survey& s) {
    if (s.tensors == 0) return s.logged_norm == 0 || (s.known && s.max_abs == 0);
    return s.is_zero;
  };
  zero_gradients z{.loss_is_zero = true};
  std::size_t first = steps.size();
  while (first > 0 && is_zero(steps[first - 1])) --first;
  z.zero = {0, 0, steps.size() - first};
  z.starts_the_run = first == 0;
  if (z.zero.steps < least_steps && !(z.starts_the_run && z.zero.steps > 0)) return std::nullopt;
  z.zero.first = steps[first].key.step;
  z.zero.last = steps.back().key.step;
  for (std::size_t i = first; i < steps.size(); ++i) {
    z.loss_is_zero = z.loss_is_zero && steps[i].loss == 0;
    if (!z.overflowed && steps[i].found_inf == true && steps[i].tensors > 0) z.overflowed = steps[i].key.step;
  }
  return z;
}

}  // namespace

void examine_zero_gradients(const evidence& e, std::vector<cause>& found) {
  if (e.died) return;
  if (const auto zero = zero_gradients_of(e.steps)) found.emplace_back(*zero);
}

}  // namespace ulp
