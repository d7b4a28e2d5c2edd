// Policies swept over an open run.
#ifndef ULP_GUI_VIEWMODEL_SWEPT_GRID_HPP
#define ULP_GUI_VIEWMODEL_SWEPT_GRID_HPP

#include <cstdint>
#include <vector>

#include <ulp/ask/runs/sweep_answer.hpp>
#include <ulp/ask/progress/listener.hpp>

#include "loaded_run.hpp"

namespace ulp::gui {

struct swept_grid {
  std::vector<swept_policy> policies;
  std::uint64_t steps = 0;  // of the run
};

// As `ulp sweep` does. Throws std::invalid_argument, input_error.
[[nodiscard]] swept_grid swept_over(const loaded_run& run, const grid_text& grid, listener& to);

}  // namespace ulp::gui

#endif
