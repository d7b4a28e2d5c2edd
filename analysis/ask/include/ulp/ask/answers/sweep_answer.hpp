// What `ulp sweep` asks: many policies over one run.
#ifndef ULP_ASK_ANSWERS_SWEEP_ANSWER_HPP
#define ULP_ASK_ANSWERS_SWEEP_ANSWER_HPP

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ulp/ask/answers/policy_grid.hpp>
#include <ulp/ask/answers/reading.hpp>
#include <ulp/ask/progress/listener.hpp>
#include <ulp/ask/questions/run_text.hpp>
#include <ulp/model/sweep/sweep.hpp>

namespace ulp {

// With what the file says, if one is named, and nothing missing or twice. Throws input_error, std::invalid_argument.
[[nodiscard]] grid_text completed(grid_text grid, const std::string& config_file, const run_text& run);

struct sweep_answer {
  std::vector<scenario_text> grid;
  std::vector<sweep_result> results;      // of the grid
  std::vector<swept_policy> policies;     // ranked
  std::shared_ptr<const sweep> all;       // has the best trajectories in hindsight
  std::uint64_t steps = 0;                // of the run
  std::vector<std::int64_t> lost_to_all;  // steps that every policy lost
  bool any_applied = false;               // some policy applies them instead
};

// The grid, completed, over the whole run; `magnitude_cost` as it is typed. Throws input_error, std::invalid_argument.
[[nodiscard]] sweep_answer sweep_over(const run_text& run, const grid_text& grid, const std::string& magnitude_cost,
                                      listener& to, first_look look = first_look::yes);

}  // namespace ulp

#endif
