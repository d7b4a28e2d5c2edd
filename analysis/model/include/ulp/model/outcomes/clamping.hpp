// What clipping by value does to the values of a cell table: each |y| above the bound becomes the bound.
//
// Exact where the table has counts at that very edge (edge_counts), as a recording made for this bound has, or where the
// bound is the edge of a cell; elsewhere the cell that it cuts makes ranges.
#ifndef ULP_MODEL_OUTCOMES_CLAMPING_HPP
#define ULP_MODEL_OUTCOMES_CLAMPING_HPP

#include <ulp/model/cells/cell_table.hpp>
#include <ulp/model/outcomes/expectation.hpp>
#include <ulp/model/outcomes/outcome.hpp>

namespace ulp {

struct clamping {
  count_range elements;  // above the bound, infinities among them
  value_range squares;   // sum of min(|y|, bound)^2, NaNs left out
  clamping& operator+=(const clamping& other) noexcept {
    elements += other.elements;
    squares += other.squares;
    return *this;
  }
};

// Of y = x * by.scale / by.factor. bound and by.scale above zero and finite.
[[nodiscard]] clamping clamping_of(const cell_table& table, double bound, multiplier by);

}  // namespace ulp

#endif
