// What a replay amounts to, above its steps.
#ifndef ULP_CLI_REPLAY_SUMMARY_HPP
#define ULP_CLI_REPLAY_SUMMARY_HPP

#include <span>
#include <ulp/model/replay.hpp>
#include <ulp/report/scenario_text.hpp>

#include "summary.hpp"

namespace ulp::cli {

struct finished_replay {
  const scenario_text& text;
  const scenario& what;
  const replayer& by;
  std::span<const trajectory_row> rows;
  const trajectory_summary& sum;
  std::span<const double> learning_rates;
};

[[nodiscard]] summary summary_of(const finished_replay& r);

}  // namespace ulp::cli

#endif
