// What a block format makes of the values themselves: each element is quantized, so that counts are exact for every row, also where
// scales are of two levels, are no powers of two, or are chosen by the error, and for stochastic rounding.
#ifndef ULP_MODEL_OUTCOMES_QUANTIZED_OUTCOMES_HPP
#define ULP_MODEL_OUTCOMES_QUANTIZED_OUTCOMES_HPP

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include <ulp/formats/block_formats.hpp>
#include <ulp/model/outcomes/block_outcomes.hpp>

namespace ulp {

// Sums over elements that are finite before and after, of squares in float64.
struct error_energies {
  double signal = 0;
  double error = 0;
  std::uint64_t not_finite = 0;  // elements that were finite and are no more

  // Of both sums; NaN where an element is finite no more, or there is no signal.
  [[nodiscard]] double relative() const noexcept;
  // Of signal to error, in dB: infinite without an error, NaN where relative() is.
  [[nodiscard]] double sqnr() const noexcept;
  error_energies& operator+=(const error_energies& other) noexcept;
};

struct quantized_outcomes {
  block_outcomes counts;  // none is a range
  // Of the scales that follow from the block alone and are powers of two; of others nothing is clamped that could be told from what
  // the rule gives elsewhere.
  bool knows_clamped = false;
  std::optional<error_energies> errors;

  // Precondition: of the same row.
  quantized_outcomes& operator+=(const quantized_outcomes& other) noexcept;
};

struct block_quantization {
  block_format row;
  std::optional<ulp::rounding> how;  // of its elements; none: its own
  bool along_other = false;          // blocks lie along the columns of the matrix
  bool with_errors = false;
  std::uint64_t seed = 0;  // of stochastic rounding
};

// Why the row cannot be had of such a matrix; empty where it can.
[[nodiscard]] std::string why_not_quantized(const block_quantization& asked, matrix_extent of);

// The second level of the row, where it has one, is of all values. Of a row that transforms the transpose, values are what it
// transforms them to. `random_stream`: see random_bits.hpp; element i of the matrix takes element i of it. Precondition: why_not_quantized is empty. Throws std::invalid_argument where the rounding is not possible.
[[nodiscard]] quantized_outcomes quantize_values(const block_quantization& asked, std::span<const float> x,
                                                 matrix_extent of, std::uint64_t random_stream = 0);

}  // namespace ulp

#endif
