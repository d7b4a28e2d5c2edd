// Distances to the best trajectory in hindsight, in words.
#ifndef ULP_REPORT_TABLES_REGRET_TEXT_HPP
#define ULP_REPORT_TABLES_REGRET_TEXT_HPP

#include <cstdint>
#include <string>
#include <vector>

#include <ulp/ask/runs/sweep_answer.hpp>
#include <ulp/model/hindsight/hindsight.hpp>

namespace ulp {

// What the columns hold; the costs are to be named after it.
inline constexpr const char* regret_meaning =
    "regret: cost above the best loss-scale trajectory in hindsight that starts where the policy does and moves no "
    "further in a step; free regret: above the best of all";

// "3.002"; "~3 [0, 5]" where it depends on open steps; "~3" where too much may have happened for bounds. Empty where there
// is no regret.
[[nodiscard]] std::string regret_text(const sweep_result& r);
[[nodiscard]] std::string free_regret_text(const sweep_result& r);

// Of each format and rounding the best trajectory with any start and moves: "best of all, fp16 nearest-even: ...".
[[nodiscard]] std::vector<std::string> best_lines(const std::vector<swept_policy>& policies);

// "2 steps are skipped by every row: their gradients are not finite as recorded (steps 3, 7)"; empty where there are none.
// `any_applied`: some row applies them instead.
[[nodiscard]] std::string lost_to_all_text(const std::vector<std::int64_t>& steps, bool any_applied);

}  // namespace ulp

#endif
