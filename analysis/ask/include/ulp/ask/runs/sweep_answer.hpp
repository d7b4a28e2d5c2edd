// What `ulp sweep` asks: many policies over one run, the grid of what is tried, and which does best.
#ifndef ULP_ASK_RUNS_SWEEP_ANSWER_HPP
#define ULP_ASK_RUNS_SWEEP_ANSWER_HPP

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ulp/ask/progress/listener.hpp>
#include <ulp/ask/questions/run_text.hpp>
#include <ulp/ask/questions/scenario_text.hpp>
#include <ulp/ask/reading/reading.hpp>
#include <ulp/model/sweep/sweep.hpp>

namespace ulp {

struct grid_text {
  scenario_text base;                  // parameters "key=v1,v2" take their values in turn
  std::vector<std::string> scalers;    // none: that of the base, or of the configuration, as with
  std::vector<std::string> formats;    // these
  std::vector<std::string> roundings;  // and these directions; none: that of the base
  std::optional<configuration> own;    // one policy more
};

// Every combination for every policy, of the parameters that it has; formats and roundings run fastest. Throws
// std::invalid_argument.
[[nodiscard]] std::vector<scenario_text> grid_of(const grid_text& grid);

// What they mean, as scenario_of has it.
[[nodiscard]] std::vector<scenario> scenarios_of(const std::vector<scenario_text>& grid, const run_text& run);

struct swept_policy {
  scenario_text text;
  sweep_result result;
  bool on_front = false;  // no other loses as few steps and as few gradients, and less of one of them
};

// The front first; then by lost steps, then by underflow; what is equal stays in the order of the grid.
[[nodiscard]] std::vector<swept_policy> ranked(const std::vector<scenario_text>& grid,
                                               const std::vector<sweep_result>& results, std::uint64_t steps);

// "growth_interval=200 init_scale=8".
[[nodiscard]] std::string parameters_text(const scenario_text& text);

// With what the file says, if one is named, and nothing missing or twice. Throws input_error, std::invalid_argument.
[[nodiscard]] grid_text completed(grid_text grid, const config_file& file, const run_text& run);
[[nodiscard]] grid_text completed(grid_text grid, const std::optional<configuration>& own);

struct sweep_answer {
  std::vector<scenario_text> grid;
  std::vector<sweep_result> results;      // of the grid
  std::vector<swept_policy> policies;     // ranked
  std::shared_ptr<const sweep> all;       // has the best trajectories in hindsight; never null in what sweep_over gives
  std::uint64_t steps = 0;                // of the run
  std::vector<std::int64_t> lost_to_all;  // steps that every policy lost
  bool any_applied = false;               // some policy applies them instead
};

// The grid, completed, over the whole run; `magnitude_cost` as it is typed. Throws input_error, std::invalid_argument.
[[nodiscard]] sweep_answer sweep_over(const run_text& run, const grid_text& grid, const std::string& magnitude_cost,
                                      listener& to, first_look look = first_look::yes);

}  // namespace ulp

#endif
