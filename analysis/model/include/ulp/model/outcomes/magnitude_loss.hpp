// How much of the gradients' magnitude a format loses at each power-of-two scale, in one pass over a cell table.
//
// Lost is the |x| of a value that becomes zero, and of a value that is clamped to the largest finite number what exceeds it;
// a value that is delivered as infinity or NaN loses nothing here, because its step is skipped. Where cells do not decide
// it is the upper end, so that an undecided loss is a loss. Of underflow it is lost_to_underflow(...).magnitudes.high.
#ifndef ULP_MODEL_OUTCOMES_MAGNITUDE_LOSS_HPP
#define ULP_MODEL_OUTCOMES_MAGNITUDE_LOSS_HPP

#include <vector>

#include <ulp/formats/treatment.hpp>
#include <ulp/model/cells/cell_table.hpp>

namespace ulp {

// Of the recorded values divided by their factor: sums of |x|.
struct magnitude_loss {
  int first = 0;             // lost[i] is at the scale 2^(first + i); before and after them as at the ends
  std::vector<double> lost;  // empty: nothing at any scale
  double total = 0;          // of all finite values; NaN or infinite where it is not known

  [[nodiscard]] double at(int exponent) const;
  magnitude_loss& operator+=(const magnitude_loss& other);
};

// Preconditions: the rounding is deterministic, treats both signs alike, and has no DAZ; 0 < factor < infinity.
[[nodiscard]] magnitude_loss magnitude_loss_of(const cell_table& table, const treatment& how, double factor);

}  // namespace ulp

#endif
