// What is lost where the gradients of micro-batches are added up in a narrow format: docs/precision.md.
//
// Each addend is rounded to the accumulator's format first, as a gradient of that type is, then added as `accumulation`
// says (dot.hpp): one after the other, in chunks, or compensated. Other orders are not those of an accumulation over time.
#ifndef ULP_MODEL_PRECISION_ACCUMULATION_ERROR_HPP
#define ULP_MODEL_PRECISION_ACCUMULATION_ERROR_HPP

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <ulp/formats/dot.hpp>

namespace ulp {

// A sum of squares that neither overflows nor underflows: each is scaled by a power of four.
class square_sum {
 public:
  void add(double x) noexcept;
  square_sum& operator+=(const square_sum& other) noexcept;
  [[nodiscard]] bool is_zero() const noexcept { return scaled_ == 0; }
  // The sum itself, which may.
  [[nodiscard]] double value() const noexcept;
  // log2 of this over another; NaN where one of them is zero.
  [[nodiscard]] double log2_over(const square_sum& other) const noexcept;
  // The root of this over another; NaN where that is zero.
  [[nodiscard]] double root_over(const square_sum& other) const noexcept;

 private:
  void scale_to(int exponent) noexcept;

  double scaled_ = 0;
  int exponent_ = 0;  // the sum is scaled_ * 4^exponent_
};

// Of the elements of gradients. Errors are differences from the exact sum of the addends as they were given, as double.
struct accumulation_errors {
  std::uint64_t numel = 0;
  std::uint64_t nonfinite = 0;    // an addend is NaN or infinite: in nothing below
  std::uint64_t overflowed = 0;   // the exact sum is finite, the result is not: in no error
  std::uint64_t addends = 0;      // not zero as given
  std::uint64_t underflowed = 0;  // of these, zero once rounded
  std::uint64_t swamped = 0;  // of these, not zero once rounded, and the sum stays as it was: |addend| is at most half
                              // the distance to its neighbour. 0 where sums are compensated
  square_sum squared_error;
  square_sum squared_exact;
  square_sum squared_rounding;  // the error of the exact sum rounded once to the accumulator's format
  double outward = 0;           // sum of errors, positive where away from zero
  double magnitudes = 0;        // of the exact sums
  // Error in units in the last place of the exact sum in the accumulator's format, of sums that are not zero; NaN where no such sum
  // has a finite result.
  double largest_ulps = std::numeric_limits<double>::quiet_NaN();

  accumulation_errors& operator+=(const accumulation_errors& other) noexcept;
  // Root of the sum of squared errors over that of squared exact sums; NaN where these are all zero.
  [[nodiscard]] double relative() const noexcept;
  // log2 of the rms error over that of one rounding; NaN where one of them is zero.
  [[nodiscard]] double bits_lost() const noexcept;
  // Mean error over mean magnitude, negative where sums are too small; NaN where all are zero.
  [[nodiscard]] double bias() const noexcept;
};

// addends[k][i]: element i of micro-batch k, all of one size, at least one micro-batch. Allocates a few arrays of that size.
// Under stochastic rounding element i of the n-th operation takes element random.first + i of stream random.stream + n.
// Throws std::invalid_argument where sizes differ, a format has more than 32 bits, or the order is another one.
[[nodiscard]] accumulation_errors accumulation_error(std::span<const std::vector<double>> addends,
                                                     const accumulation& how);

// The relative rms error that is expected of so many independent addends of mean zero and one variance, at least one: a model,
// docs/precision.md derives it. Nearest and stochastic rounding only, else std::invalid_argument. `rounds_addends`: false where they are in the format already.
[[nodiscard]] double modelled_accumulation_error(const accumulation& how, std::uint64_t addends,
                                                 bool rounds_addends = true);

// Whether so many addends are few enough for the model: of a walk 4^(M+1), M the fraction bits, where the error nears a third of
// the sum and addends begin to be swamped; compensated 2^(4M-6), where what is carried begins to be.
[[nodiscard]] bool accumulation_model_holds(const accumulation& how, std::uint64_t addends);

}  // namespace ulp

#endif
