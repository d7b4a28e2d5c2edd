// How far one tensor is from the same tensor of another run at one step, as far as two tables tell: values are not
// paired.
#ifndef ULP_MODEL_COMPARISON_ROW_CHANGE_HPP
#define ULP_MODEL_COMPARISON_ROW_CHANGE_HPP

#include <cstdint>
#include <vector>

#include <ulp/model/cells/step.hpp>

namespace ulp {

// What is compared of a table: its values divided by row.unit().
struct row_figures {
  // Magnitudes from `low` on, up to the next slot's.
  struct slot {
    double low = 0;
    std::uint64_t count = 0;
    friend bool operator==(const slot&, const slot&) = default;
  };

  std::uint64_t numel = 0;
  std::uint64_t zeros = 0;
  std::uint64_t nonfinite = 0;
  std::uint64_t nans = 0;  // of these
  double norm = 0;         // of the finite values
  double magnitudes = 0;   // sum of |x|
  double sum = not_known;  // sum of x, where exact sums are kept
  double largest = 0;      // not_known as in cell_table
  bool exact = true;       // norm and magnitudes are exact, or as the source reported them
  // Where they are not: what the norm is at least and at most, and what is where, ascending.
  double norm_low = 0;
  double norm_high = 0;
  std::vector<slot> filled;
  double significand = 1;  // of the unit: slots begin at other magnitudes where it is another

  // Root mean square; 0 without values.
  [[nodiscard]] double typical() const noexcept;
  // What is not known of both is the same.
  friend bool operator==(const row_figures& a, const row_figures& b) noexcept;
};
[[nodiscard]] row_figures figures_of(const tensor_row& row);

// How large ||a - b|| is at least, relative to the larger norm, whichever value of one belongs to which of the other:
// by Cauchy and Schwarz the norms, the sums and the magnitudes' sums differ by no more than ||a - b||, the latter two
// over sqrt(numel), and the largest magnitudes likewise. Of the norms it is the logarithm of their ratio, which is the
// same where it is small, and tells factors apart. 0 where both are zero, 1 where one is; infinite where one alone has
// infinities or NaN, and where numel differs.
// Without exact sums norms are intervals, and the slots speak: by how much values have to move in all, which is at most
// sqrt(numel) ||a - b||. A value that goes over an edge seems to move by the width of its slot, so what chance adds is
// taken off, and what is left is an estimate.
[[nodiscard]] double least_change(const row_figures& a, const row_figures& b) noexcept;

// How many leading bits of 24 the significands of a table need at most: as a sum of multiples of 2^t is one, trailing
// zeros of the exact sums tell; 11 of values that are float16 numbers. Without sums the two extremes stand for binades.
struct significand_bits {
  int most = 0;   // of all binades; 0: no values
  int usual = 0;  // the median over them
  // That have values: in each a sum of longer significands looks like a shorter one in one case of 2^(their difference).
  int binades = 0;
  friend bool operator==(const significand_bits&, const significand_bits&) = default;
};
[[nodiscard]] significand_bits bits_of(const cell_table& table);

// Whether `shorter` is as short as values of a 16-bit format, and it would take more luck than one case in 2^24 for
// significands as long as those of `longer` usually are to look like it.
[[nodiscard]] bool is_narrower(const significand_bits& shorter, const significand_bits& longer) noexcept;

}  // namespace ulp

#endif
