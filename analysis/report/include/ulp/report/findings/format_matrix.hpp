// What each of the usual formats would do to a run.
#ifndef ULP_REPORT_FINDINGS_FORMAT_MATRIX_HPP
#define ULP_REPORT_FINDINGS_FORMAT_MATRIX_HPP

#include <cstddef>
#include <string>
#include <vector>

#include <ulp/ask/columns/run_picture.hpp>
#include <ulp/ask/progress/listener.hpp>
#include <ulp/ask/questions/rounding_text.hpp>
#include <ulp/model/replay/survey.hpp>
#include <ulp/report/tables/table.hpp>

namespace ulp {

// Of what a share may be lost to underflow.
enum class lost_share : bool {
  of_magnitude,  // of the sum of all magnitudes, as `ulp advise` has it
  of_values      // of the nonzero values
};

inline constexpr double usual_epsilon = 1e-5;

struct format_question {
  const run_picture& run;
  std::size_t first = 0;  // of its steps, by index: those that are counted,
  std::size_t end = 0;    // up to this one, exclusive,
  tensor_tables tables;   // and their tables
  const std::vector<tensor_info>& tensors;
  tensor_mask shown;
  double scale = 1;  // a static one, beside no scale
  double epsilon = usual_epsilon;
  lost_share measure = lost_share::of_magnitude;
  bool as_recorded = false;  // some factor is not known
};

// One row a format: whether it needs a loss scale and which static ones suffice, where at most `epsilon` may be lost and no
// finite step may overflow; and what is lost without a scale and at `scale`. As `ulp advise` answers, of the kind of tensors
// that asks for the highest scale. Overflow is told in steps where all tensors are shown, else in values.
[[nodiscard]] table format_matrix(const format_question& asked, listener& to);

// One row a tensor: the smallest format that holds it without a loss scale, and the static scales that suffice in each.
// Tensors that fewest formats suit come first.
[[nodiscard]] table tensor_format_matrix(const format_question& asked, listener& to);

// One row a set of tensors, one column a common format: the share of the nonzero values that underflows without a loss
// scale. `title` says what the sets are.
[[nodiscard]] table set_format_matrix(const survey& run, const std::vector<tensor_set>& sets, const std::string& title,
                                      const rounding_text& mode);

}  // namespace ulp

#endif
