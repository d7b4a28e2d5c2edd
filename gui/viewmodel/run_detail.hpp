// Some steps of a run, read once more in finer columns than the whole is kept in.
#ifndef ULP_GUI_VIEWMODEL_RUN_DETAIL_HPP
#define ULP_GUI_VIEWMODEL_RUN_DETAIL_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <ulp/ask/progress/listener.hpp>

#include "document.hpp"
#include "drawn_columns.hpp"

namespace ulp::gui {

// Does not change any more.
struct run_detail {
  std::uint64_t run = 0;  // its id
  step_range range;       // the columns hold the run's steps of it and no others
  std::size_t width = 1;  // steps in a column, less at the ends of the range
  std::vector<column_span> spans;
  std::vector<tensor_tables> columns;
};

// In columns of `width` steps. A recording gives them in the time that these steps take, or, from block_of_steps
// a column on, that its merged blocks take; other inputs are read up to the end of the range. Throws input_error.
[[nodiscard]] std::shared_ptr<const run_detail> detail_of(const loaded_run& run, step_range range, std::size_t width,
                                                          listener& to);

// The run's steps of the range.
[[nodiscard]] std::size_t steps_in(const loaded_run& run, step_range range);

// Narrower columns are read step by step.
inline constexpr std::size_t block_of_steps = 64;

// Whether the steps take long to read one by one, so that blocks are worth being read before.
[[nodiscard]] bool is_slow_in_steps(const loaded_run& run, step_range range);

}  // namespace ulp::gui

#endif
