// Whether the numbers of a column can be what its name says, by the steps of their rows.
#ifndef ULP_IO_TABLE_COLUMN_FIT_HPP
#define ULP_IO_TABLE_COLUMN_FIT_HPP

#include <span>

namespace ulp::io {

struct numbered_value {
  double step = 0;  // NaN where it is not known
  double value = 0;
};

// Flags; or numbers of steps since the row before, or since the run began, which are no more than lie there.
[[nodiscard]] bool can_count_steps(std::span<const numbered_value> values);

// Whether it falls again and again from one step to the next, by more than one factor, and rises between. A scaler has one.
[[nodiscard]] bool falls_by_several_factors(std::span<const numbered_value> scales);

// Whether the later half of the finite numbers is greater, on average.
[[nodiscard]] bool rises_in_all(std::span<const numbered_value> values);

// The distance between each of these and the next, at least three of them; 0 where it is not the same throughout.
[[nodiscard]] double common_distance(std::span<const double> ascending) noexcept;

}  // namespace ulp::io

#endif
