// What rounding to a format does to the values of a cell table, as counts.
//
// The scaled value is exactly x * scale / factor, for any doubles scale and factor. For each sign three thresholds on its
// magnitude decide (nonzero, at least normal, overflow); they follow from the numbers of the format next to each edge
// and from the rounding direction. With a cell table, a power-of-two scale / factor, a format with subnormals and up to
// 10 fraction bits and any deterministic rounding every count is exact, except for the overflow of formats other than
// float8_e4m3fn that reserve the all-ones code alone; elsewhere a cell or bucket that a threshold cuts makes a range. Of
// a bucket that may hold zeros it is not known either whether a value is one: no count of outcomes holds it for certain.
// Under stochastic rounding the range covers all draws.
//
// Formats are those that values are rounded to: with sign and zero, so not E8M0.
#ifndef ULP_MODEL_OUTCOMES_OUTCOME_HPP
#define ULP_MODEL_OUTCOMES_OUTCOME_HPP

#include <cstdint>
#include <limits>

#include <ulp/formats/treatment.hpp>
#include <ulp/model/cells/cell_table.hpp>
#include <ulp/model/cells/ranges.hpp>
#include <ulp/model/cells/step.hpp>

namespace ulp {

struct outcome_counts {
  std::uint64_t numel = 0;
  std::uint64_t zero = 0;        // known to be zero before rounding
  std::uint64_t maybe_zero = 0;  // not known whether they are; each may be in the counts below too
  std::uint64_t nonfinite = 0;   // infinite or NaN before rounding
  count_range underflow;         // nonzero, rounded (or flushed) to zero
  count_range subnormal;         // nonzero result below the smallest normal number
  count_range normal;            // finite result of at least that; in a format without subnormals all others
  count_range overflow;          // result with unbounded exponent exceeds the largest finite number
  count_range infinite;          // of those: delivered as infinity or NaN

  [[nodiscard]] constexpr count_range zeros() const noexcept { return {zero, zero + maybe_zero}; }
  [[nodiscard]] constexpr count_range nonzero() const noexcept {
    const std::uint64_t most = numel - zero - nonfinite;
    return {most - maybe_zero, most};
  }

  outcome_counts& operator+=(const outcome_counts& other) noexcept;
  friend bool operator==(const outcome_counts&, const outcome_counts&) = default;
};

// The share of a count in the nonzero values: 0 where there are none. Of `underflow` by underflow_share: what may be zero
// may underflow too, and does both or neither, so its range is narrower.
[[nodiscard]] value_range share_of_nonzero(const outcome_counts& counts, const count_range& part) noexcept;
[[nodiscard]] value_range underflow_share(const outcome_counts& counts) noexcept;

// A threshold as a double, on doubles: what step logs compare. NaN reaches it.
struct double_threshold {
  double at = 0;
  bool closed = true;
  [[nodiscard]] constexpr bool reached_by(double y) const noexcept { return closed ? !(y < at) : !(y <= at); }
};

// The magnitudes |y| >= at, or > at where not closed.
struct threshold {
  magnitude at;
  bool closed = true;

  [[nodiscard]] constexpr bool reached_by(const magnitude& y) const noexcept { return at < y || (closed && at == y); }
  // Whether everything above y does.
  [[nodiscard]] constexpr bool reached_above(const magnitude& y) const noexcept { return at <= y; }
  [[nodiscard]] double_threshold in_double() const noexcept { return {double_from(at), closed}; }
  friend constexpr bool operator==(const threshold&, const threshold&) = default;
};

// For values of one sign: where results become nonzero, normal, overflow. Ascending.
struct outcome_thresholds {
  threshold nonzero;
  threshold normal;
  threshold overflow;
};

// Precondition: how.rounding.direction is not stochastic.
[[nodiscard]] outcome_thresholds thresholds_of(const treatment& how, bool negative) noexcept;

// The rounding whose thresholds stand for a stochastic one where these have to be single numbers: to nearest even. Others
// are themselves.
[[nodiscard]] rounding undrawn(rounding mode) noexcept;
[[nodiscard]] inline treatment undrawn(const treatment& how) noexcept {
  return {how.format, undrawn(how.rounding), how.scale};
}

// Under stochastic rounding: the magnitudes that overflow under some draw, and those that do under every draw.
struct drawn_overflow {
  threshold of_some;
  threshold of_every;
};
[[nodiscard]] drawn_overflow drawn_overflow_of(const format& to) noexcept;

// Whether an overflowing result of that sign is delivered as infinity or NaN: not in formats that have neither.
[[nodiscard]] bool overflow_is_infinite(const treatment& how, bool negative) noexcept;

// Whether an infinity is delivered as infinity or NaN, rather than as the largest finite number.
[[nodiscard]] bool keeps_infinity(const treatment& how) noexcept;

// What recorded values are multiplied by: scale / factor. factor > 0 and finite; a scale of 0 loses every value, an
// infinite one overflows every value, and so does NaN.
struct multiplier {
  double scale = 1;
  double factor = 1;
  // Whether the product is rounded to float32 (to nearest even) before the format's rounding, as kernels that scale do.
  // Powers of two need no such rounding.
  bool in_float32 = false;

  // Whether it leaves any value above zero and finite.
  [[nodiscard]] constexpr bool usable() const noexcept {
    return scale > 0 && scale <= std::numeric_limits<double>::max();
  }
};

// Counts for by.scale / by.factor * x over all x of the table. `recorded` matters with DAZ only: values subnormal in
// that type are read as zero and count as underflow.
[[nodiscard]] outcome_counts outcomes_of(const cell_table& table, const treatment& how, multiplier by,
                                         dtype recorded = dtype::unknown) noexcept;

// How many values of the table have |x| * by.scale / by.factor > edge > 0; infinities do, NaNs do not. by is usable.
[[nodiscard]] count_range count_above(const cell_table& table, double edge, multiplier by) noexcept;

// The threshold on |x| that |x| * by.scale / by.factor, rounded as `by` says, meets at `t`, to the last bit that tells
// doubles apart.
[[nodiscard]] threshold divided(const threshold& t, const multiplier& by) noexcept;

// With DAZ, values of that type below 2^this are read as zero; INT_MIN without.
[[nodiscard]] int read_as_zero_below(const rounding& mode, dtype recorded) noexcept;

// Whether x * by.scale / by.factor, x > 0, reaches the threshold; by is usable.
[[nodiscard]] bool reaches(const threshold& t, multiplier by, double x) noexcept;

}  // namespace ulp

#endif
