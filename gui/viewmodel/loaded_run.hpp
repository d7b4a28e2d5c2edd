// An open run.
#ifndef ULP_GUI_VIEWMODEL_LOADED_RUN_HPP
#define ULP_GUI_VIEWMODEL_LOADED_RUN_HPP

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ulp/ask/columns/block_comparison.hpp>
#include <ulp/ask/progress/listener.hpp>
#include <ulp/ask/questions/run_text.hpp>
#include <ulp/ask/runs/pictured_run.hpp>
#include <ulp/ask/runs/sweep_answer.hpp>

namespace ulp::gui {

[[nodiscard]] std::uint64_t new_run_id() noexcept;

// What was read of a run; does not change any more.
struct loaded_run : pictured_run {
  std::uint64_t id = new_run_id();
};

// In whatever thread calls. Throw input_error, std::invalid_argument.
[[nodiscard]] std::shared_ptr<const loaded_run> load_run(const run_text& text, listener& to,
                                                         first_look look = first_look::yes);
// Those lines that are not told of the run itself.
[[nodiscard]] std::vector<std::string> without(std::vector<std::string> lines, const std::vector<std::string>& known);
// One step alone, where its column holds several: at once from a recording, else the inputs are read up to it. Empty where
// there is no such step.
[[nodiscard]] tensor_tables tables_of_step(const loaded_run& run, std::int64_t step, listener& to);

// Of these steps, with what block tables tell.
[[nodiscard]] std::vector<compared_blocks> blocks_of_steps(const loaded_run& run, std::int64_t first, std::int64_t last,
                                                           const tensor_mask& shown,
                                                           const std::vector<named_block_format>& rows, listener& to);

// As `ulp sweep` ranks it; the trajectories in hindsight, which take much room, are not kept.
[[nodiscard]] sweep_answer swept_over(const loaded_run& run, const grid_text& grid, listener& to);

}  // namespace ulp::gui

#endif
