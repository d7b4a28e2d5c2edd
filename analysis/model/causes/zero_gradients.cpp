// Gradients that are all exact zeros, to the end.
#include <cmath>

#include "evidence.hpp"

namespace ulp {
namespace {

std::optional<zero_gradients> zero_gradients_of(const std::vector<step_survey>& steps) {
  constexpr std::uint64_t least_steps = 5;
  const auto is_zero = [](const step_survey& s) {
    if (s.tensors == 0) return s.found_inf != true && (s.logged_norm == 0 || (s.known && s.max_abs == 0));
    return s.is_zero;
  };
  // Between the lines of a log that has not every step.
  const auto is_untold = [](const step_survey& s) {
    return s.tensors == 0 && std::isnan(s.logged_norm) && !s.known && s.found_inf != true;
  };
  zero_gradients z{.loss_is_zero = true};
  std::size_t first = steps.size();
  std::uint64_t zeros = 0;
  for (std::size_t i = steps.size(); i-- > 0 && (is_zero(steps[i]) || is_untold(steps[i]));) {
    if (!is_zero(steps[i])) continue;
    first = i;
    ++zeros;
  }
  z.zero = {0, 0, zeros};
  z.starts_the_run = first == 0;
  if (zeros < least_steps && !(z.starts_the_run && zeros > 0)) return std::nullopt;
  z.zero.first = steps[first].key.step;
  z.zero.last = steps.back().key.step;
  for (std::size_t i = first; i < steps.size(); ++i) {
    z.loss_is_zero = z.loss_is_zero && (steps[i].loss == 0 || is_untold(steps[i]));
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
