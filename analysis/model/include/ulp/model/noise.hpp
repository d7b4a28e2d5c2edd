// The error that rounding to a format makes, as a sum of squares: what MSE and SQNR are made of.
//
// Of values that underflow the error is the value itself, whose squares the exact sums know; just below the smallest number,
// where nearest roundings go up, it follows exactly from count and sums. Elsewhere it is modelled: errors spread evenly over
// the spacing u of their octave, u^2 / 12 on average to nearest, u^2 / 3 to one side, u^2 / 6 stochastically. The bounds are
// those of the worst case in each octave. Values that overflow have no finite error and are left out, and counted.
// Source of the model: the uniform quantization error of Bennett (1948); docs/numerics.md has its measured error.
#ifndef ULP_MODEL_NOISE_HPP
#define ULP_MODEL_NOISE_HPP

#include <cstdint>

#include <ulp/formats/format.hpp>
#include <ulp/formats/rounding.hpp>
#include <ulp/model/cell_table.hpp>
#include <ulp/model/outcome.hpp>

namespace ulp {

// In units of the recorded values divided by their factor.
struct rounding_noise {
  double signal = 0;         // sum x^2 of the values that do not overflow
  double squares = 0;        // sum of squared errors, modelled
  double least = 0;          // what it is at least,
  double most = 0;           // and at most
  std::uint64_t values = 0;  // finite ones, zeros too, that do not overflow
  std::uint64_t overflowing = 0;

  rounding_noise& operator+=(const rounding_noise& other) noexcept;
  // Mean squared error.
  [[nodiscard]] double mean_square() const noexcept;
  // 10 log10(signal / squares) in decibels: infinite without error, NaN without signal.
  [[nodiscard]] double sqnr() const noexcept;
  [[nodiscard]] double least_sqnr() const noexcept;
};

// `by` as for outcomes_of. Needs exact or reported sums for anything below the smallest normal number; cells stand in for
// them.
[[nodiscard]] rounding_noise noise_of(const cell_table& table, const format& to, const rounding& mode, multiplier by);

}  // namespace ulp

#endif
