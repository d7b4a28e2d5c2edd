// What `ulp sweep` says of a run: many policies, formats and roundings, ranked.
#ifndef ULP_ASK_ANSWERS_SWEEP_ANSWER_HPP
#define ULP_ASK_ANSWERS_SWEEP_ANSWER_HPP

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <ulp/ask/answers/listener.hpp>
#include <ulp/ask/questions/run_text.hpp>
#include <ulp/ask/sweep/policy_grid.hpp>
#include <ulp/model/sweep/sweep.hpp>
#include <ulp/report/tables/table.hpp>

namespace ulp {

// With what the file says, if one is named, and nothing missing or twice. Throws input_error, std::invalid_argument.
[[nodiscard]] grid_text completed(grid_text grid, const std::string& config_file, const run_text& run);

struct sweep_answer {
  std::vector<scenario_text> grid;
  std::vector<sweep_result> results;   // of the grid
  std::vector<swept_policy> policies;  // ranked
  std::unique_ptr<sweep> all;
  std::string lost_to_all;  // what is to be said of steps that every policy lost; empty where there is none

  // A row for each policy.
  [[nodiscard]] table rows() const;
  // Columns step, format, rounding, scale: for each format and rounding a row for each step, with the scale of the best
  // trajectory in hindsight that starts and moves as it likes. It comes in parts of the same columns, at least one.
  void hindsight(const std::function<void(const table&)>& part) const;
};

// The grid, completed, over the whole run; `magnitude_cost` as it is typed. Throws input_error, std::invalid_argument.
[[nodiscard]] sweep_answer sweep_over(const run_text& run, const grid_text& grid, const std::string& magnitude_cost,
                                      listener& to);

}  // namespace ulp

#endif
