// How many random bits stochastic rounding needs for given updates of weights: docs/precision.md.
//
// The weight w, rounded to the format, is w'; the exact sum w' + d lies between two neighbouring numbers of the format, at
// the part v of their distance from the one nearer to zero. With N random bits rounding.hpp's definitions take the outer one in
// draws_up() of 2^N draws. An update never moves its weight if no draw gives anything but w'.
#ifndef ULP_MODEL_PRECISION_RANDOM_BIT_NEED_HPP
#define ULP_MODEL_PRECISION_RANDOM_BIT_NEED_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <ulp/formats/codec.hpp>
#include <ulp/formats/format.hpp>
#include <ulp/formats/rounding.hpp>

namespace ulp {

// Of the 2^bits draws those that round up in magnitude. lost.leading and lost.beyond_leading are read; bits from 0, where
// there is one draw, to 32.
[[nodiscard]] std::uint64_t draws_up(const discarded& lost, stochastic_definition definition, int bits) noexcept;

// What stochastic rounding of a finite x above zero in magnitude errs by on average over the draws: (mean result - x) in units
// of the distance between its neighbours, positive away from zero. nullopt where a draw overflows. Formats as below.
[[nodiscard]] std::optional<double> mean_stochastic_error(const format& to, const unpacked& x,
                                                          stochastic_definition definition, int bits) noexcept;

// Of updates under one definition and number of bits.
struct stochastic_movement {
  std::uint64_t never = 0;  // no draw moves the weight
  double mass_never = 0;    // the sum of their |d|
  double bias = 0;          // sum of (mean result - exact sum) in units of the distance, positive away from zero
  double drift = 0;         // sum of (mean result - exact sum), positive in the direction of d

  stochastic_movement& operator+=(const stochastic_movement& other) noexcept;
};

struct random_bit_need {
  static constexpr int most_bits = 24;
  struct row {
    std::uint64_t below = 0;  // updates with |d| below 2^-bits of the distance from w' to its neighbour on their side
    std::array<stochastic_movement, 3> by{};  // definitions a, b, c
  };

  std::uint64_t numel = 0;
  std::uint64_t zero_updates = 0;
  std::uint64_t nonfinite = 0;     // the weight or the update is infinite or NaN
  std::uint64_t overflowing = 0;   // w' is not finite, or the sum beyond the largest finite number
  std::uint64_t updates = 0;       // what is left, and all that follows counts
  double mass = 0;                 // the sum of |d|
  std::uint64_t lost_nearest = 0;  // rounding to nearest even gives w'
  double mass_lost_nearest = 0;
  std::array<row, most_bits + 1> bits{};  // from 0 on

  random_bit_need& operator+=(const random_bit_need& other) noexcept;
  // The fewest bits with which updates that never move have less than `share` of the mass; nullopt where even most_bits do
  // not do it, or nothing is updated.
  [[nodiscard]] std::optional<int> fewest(stochastic_definition definition, double share) const noexcept;
};

// Element by element, integer arithmetic but for the sums of doubles, which are in the order of the elements. The format
// has sign and subnormals, else std::invalid_argument, as where there are not as many weights as updates.
[[nodiscard]] random_bit_need random_bits_needed(std::span<const double> weights, std::span<const double> updates,
                                                 const format& to);

}  // namespace ulp

#endif
