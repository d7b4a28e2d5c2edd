#include "falls.hpp"

#include <algorithm>
#include <cmath>

namespace ulp::io {

std::int64_t falls(double from, double to) noexcept {
  constexpr double least_printed = 0.5;  // 0 may be printed for what is below
  // 0.25 is printed as 0.2, 0.125 as 0.1: a little less is no fall.
  constexpr double rounded = 0.75;
  if (!(from > 0) || !(to >= 0) || !std::isfinite(from) || !(to < from)) return 0;
  if (to == 0 && from <= least_printed) return 0;
  if (to == 0) to = least_printed;
  if (to < 1 && to > rounded * from) return 0;
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::floor(std::log2(from) - std::log2(to))));
}

double used_scale(const scale_record& overflow, double scale) noexcept {
  const bool may_stay = !overflow.from->counts_updates;  // fairseq ends a run rather than leave the scale at its least
  if (!std::isnan(overflow.before) || (overflow.after == scale && may_stay)) return overflow.before;
  if (overflow.after == 0) return scale;  // half of the smallest number is rounded to 0
  return 2 * overflow.after;              // half of it was printed, unless the scale stood at its least value already
}

double scale_after(const scale_record& overflow) noexcept {
  return std::isnan(overflow.after) && !std::isnan(overflow.before) ? overflow.before / 2 : overflow.after;
}

std::int64_t growths(double scale, const scale_record& overflow) noexcept {
  const double used = used_scale(overflow, scale);
  if (!(scale > 0) || !(used > scale) || !std::isfinite(used)) return 0;
  return static_cast<std::int64_t>(std::ceil(std::log2(used) - std::log2(scale)));
}

unlogged_falls unlogged_falls_of(const log_interval& now, double scale) noexcept {
  unlogged_falls all;
  for (const scale_record& e : now.events) {
    all.between += falls(scale, used_scale(e, scale));
    scale = scale_after(e);
  }
  // ESPnet prints means, and fairseq did before 2021: one that is lower than a scale says that it fell, and so does a scale of half of
  // a mean or less; nothing follows from two.
  const double after = now.record.after;
  const bool is_mean = now.from->scale_is_mean && !is_power_of_two(after);
  const bool was_mean = now.from->scale_is_mean && !is_power_of_two(scale);
  if (!was_mean || (!is_mean && after <= scale / 2)) all.after = falls(scale, after);
  return all;
}

}  // namespace ulp::io
