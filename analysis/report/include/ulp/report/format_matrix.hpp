// What each of the usual formats would do to a run.
#ifndef ULP_REPORT_FORMAT_MATRIX_HPP
#define ULP_REPORT_FORMAT_MATRIX_HPP

#include <functional>
#include <string>
#include <vector>

#include <ulp/model/survey.hpp>
#include <ulp/report/rounding_text.hpp>
#include <ulp/report/run_picture.hpp>
#include <ulp/report/table.hpp>

namespace ulp {

// `told` hears the share that is done; what it throws ends the work.

// One row a format: shares of the nonzero values of the shown tensors that underflow and overflow at the scale 1 and at
// `scale`, and the static scales at which at most `epsilon` of them underflow and none overflows in any step.
[[nodiscard]] table format_matrix(const run_picture& run, const tensor_mask& shown, double scale, double epsilon,
                                  const std::function<void(double)>& told);

// One row a tensor, one column a format: those static scales. Tensors that fewest formats suit come first.
[[nodiscard]] table tensor_format_matrix(const run_picture& run, const std::vector<tensor_info>& tensors,
                                         const tensor_mask& shown, double epsilon,
                                         const std::function<void(double)>& told);

// One row a set of tensors, one column a common format: the share of the nonzero values that underflows without a loss
// scale. `title` says what the sets are.
[[nodiscard]] table set_format_matrix(const survey& run, const std::vector<tensor_set>& sets, const std::string& title,
                                      const rounding_text& mode);

}  // namespace ulp

#endif
