// What a run asks of any policy, and what a policy does of its own, in words.
#ifndef ULP_REPORT_TABLES_POLICY_TEXT_HPP
#define ULP_REPORT_TABLES_POLICY_TEXT_HPP

#include <span>
#include <string>
#include <ulp/model/machines/scaler.hpp>
#include <ulp/model/replay/trajectory.hpp>
#include <ulp/report/tables/replay_summary.hpp>
#include <vector>

namespace ulp {

// The critical scales of a run, one a step; empty where none is known.
[[nodiscard]] std::string critical_text(const std::vector<critical_step>& steps);

// How long the policy, in its start state, takes to come back after overflows; empty where they do not change its scale.
[[nodiscard]] std::string recovery_text(const scaler& start);

// The closed form of predict_markov beside what was replayed; empty where there is none.
[[nodiscard]] std::string prediction_text(const scaler& start, const std::vector<critical_step>& steps,
                                          const trajectory_summary& sum);

// What skipped steps do to a schedule that counts applied steps, from the learning rates that were logged, NaN where not;
// empty where it would be none.
[[nodiscard]] std::string schedule_text(std::span<const double> learning_rates, const trajectory_summary& sum);

}  // namespace ulp

#endif
