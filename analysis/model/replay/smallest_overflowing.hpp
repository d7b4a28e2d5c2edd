// Where overflow begins, by bisection.
#ifndef ULP_MODEL_REPLAY_SMALLEST_OVERFLOWING_HPP
#define ULP_MODEL_REPLAY_SMALLEST_OVERFLOWING_HPP

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace ulp {

// The smallest positive finite scale that overflows, where larger ones do too; infinity where none does. Looks around
// `near` first, then bisects the bit patterns of the positive doubles, which are in their order.
template <typename Overflows>
double smallest_overflowing(double near, Overflows overflows_at) {
  const auto overflows = [&](std::uint64_t bits) { return overflows_at(std::bit_cast<double>(bits)); };
  constexpr std::uint64_t least = 0;  // does not
  const auto greatest = std::bit_cast<std::uint64_t>(std::numeric_limits<double>::max());
  std::uint64_t fine = least;  // the largest known not to
  std::uint64_t over = greatest;
  if (near > 0 && std::isfinite(near)) {
    const auto middle = std::bit_cast<std::uint64_t>(near);
    const bool falls = overflows(middle);
    (falls ? over : fine) = middle;
    const std::uint64_t room = falls ? middle - least : greatest - middle;
    std::uint64_t away = 1;
    while (away < room) {
      const std::uint64_t at = falls ? middle - away : middle + away;
      const bool is_over = overflows(at);
      (is_over ? over : fine) = at;
      if (is_over != falls) break;
      away = (away > room / 16) ? room : 16 * away;
    }
  }
  if (over == greatest && !overflows(greatest)) return std::numeric_limits<double>::infinity();
  while (over - fine > 1) {
    const std::uint64_t middle = fine + (over - fine) / 2;
    (overflows(middle) ? over : fine) = middle;
  }
  return std::bit_cast<double>(over);
}

}  // namespace ulp

#endif
