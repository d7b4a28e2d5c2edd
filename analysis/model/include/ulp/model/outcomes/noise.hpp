// The error that rounding to a format makes: what MSE, SQNR and cosine similarity are made of.
//
// With e = x - rounded x. Exact, but for the rounding of these doubles, where the multiplier is a power of two: of values
// that underflow, whose e is x, and of those that a nearest rounding takes up to the smallest number, by the exact sums;
// of all others that are rounded to nearest, by the error ladder (binade_errors), as far as no value of their binade
// overflows; of everything in complete histograms of codes (row_outcomes.hpp). Elsewhere it is modelled: errors spread evenly
// over the spacing u of their binade, e^2 = u^2 / 12 on average to nearest, u^2 / 3 to one side, u^2 / 6 stochastically;
// the bounds are the worst case in each binade. Values that overflow have no finite error and are left out, and counted.
// Under stochastic rounding all are means over the draws.
// Source of the model: the uniform quantization error of Bennett (1948); docs/numerics.md has its measured error.
#ifndef ULP_MODEL_OUTCOMES_NOISE_HPP
#define ULP_MODEL_OUTCOMES_NOISE_HPP

#include <cstdint>

#include <ulp/formats/treatment.hpp>
#include <ulp/model/cells/cell_table.hpp>
#include <ulp/model/cells/step.hpp>
#include <ulp/model/outcomes/outcome.hpp>

namespace ulp {

// In units of the recorded values divided by their factor.
struct rounding_noise {
  double signal = 0;          // sum x^2 of the values that do not overflow,
  double least_signal = 0;    // what it is at least
  double squares = 0;         // sum e^2,
  double least = 0;           // what it is at least,
  double most = 0;            // and at most
  double products = 0;        // sum e x
  bool exact = true;          // none of them is modelled or estimated
  bool squares_exact = true;  // nor signal and squares
  std::uint64_t values = 0;   // finite ones, zeros too, that do not overflow
  std::uint64_t overflowing = 0;

  rounding_noise& operator+=(const rounding_noise& other) noexcept;
  // Mean squared error.
  [[nodiscard]] double mean_square() const noexcept;
  // 10 log10(signal / squares) in decibels: infinite without error, NaN without signal.
  [[nodiscard]] double sqnr() const noexcept;
  [[nodiscard]] double least_sqnr() const noexcept;
  // Of the values and the rounded values: sum x q / sqrt(sum x^2 sum q^2), q = x - e; NaN where either is all zero.
  [[nodiscard]] double cosine() const noexcept;
};

// `by` and `recorded` as for outcomes_of. Cells stand in for sums that a table does not have.
[[nodiscard]] rounding_noise noise_of(const cell_table& table, const treatment& how, multiplier by,
                                      dtype recorded = dtype::unknown);

}  // namespace ulp

#endif
