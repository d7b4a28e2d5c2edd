// What a fall of the loss scale proves: every scaler that is read here halves it, and only after an overflow.
#ifndef ULP_IO_TRAINING_LOG_FALLS_HPP
#define ULP_IO_TRAINING_LOG_FALLS_HPP

#include <cstdint>

#include "intervals.hpp"

namespace ulp::io {

// How often the scale was halved at least from one value to another, both as printed: small ones are rounded, and may be 0.
[[nodiscard]] std::int64_t falls(double from, double to) noexcept;

// The scale that an overflow was found at; `scale` is that before it, where known.
[[nodiscard]] double used_scale(const scale_record& overflow, double scale) noexcept;

// The scale after an overflow, where the log says it or what it was before.
[[nodiscard]] double scale_after(const scale_record& overflow) noexcept;

// How often the scale must have doubled before an overflow.
[[nodiscard]] std::int64_t growths(double scale, const scale_record& overflow) noexcept;

struct unlogged_falls {
  std::int64_t between = 0;  // before or between the overflows that have lines
  std::int64_t after = 0;    // from there to the printed scale
};
// Falls of the scale that no line of an interval tells of; `scale` is that which it begins at.
[[nodiscard]] unlogged_falls unlogged_falls_of(const log_interval& now, double scale) noexcept;

}  // namespace ulp::io

#endif
