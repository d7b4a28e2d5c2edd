#include "swept_grid.hpp"

#include <utility>

#include <ulp/ask/runs/sweep_answer.hpp>

namespace ulp::gui {

swept_grid swept_over(const loaded_run& run, const grid_text& grid, listener& to) {
  sweep_answer answer = sweep_over(run.text, grid, "1", to, first_look::no);
  return {std::move(answer.policies), answer.steps};
}

}  // namespace ulp::gui
