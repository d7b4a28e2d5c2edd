// What each of the usual formats would do to a run.
#ifndef ULP_GUI_VIEWMODEL_FORMAT_MATRIX_HPP
#define ULP_GUI_VIEWMODEL_FORMAT_MATRIX_HPP

#include <memory>

#include <ulp/report/table.hpp>

#include "document.hpp"

namespace ulp::gui {

// One row a format: shares of the nonzero values of the shown tensors that underflow at the scale 1 and at `scale`, and the
// static scales at which at most `epsilon` of them underflow and none overflows in any step.
[[nodiscard]] table format_matrix(const loaded_run& run, const tensor_mask& shown, double scale, double epsilon,
                                  const background::report& told);

// One row a tensor, one column a format: those static scales. Tensors that fewest formats suit come first.
[[nodiscard]] table tensor_format_matrix(const loaded_run& run, const tensor_mask& shown, double epsilon,
                                         const background::report& told);

}  // namespace ulp::gui

#endif
