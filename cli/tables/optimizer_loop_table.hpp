// What ulp selfcheck optimizers says: a row for each mode, or mode and layer, and what they amount to.
#ifndef ULP_CLI_OPTIMIZER_LOOP_TABLE_HPP
#define ULP_CLI_OPTIMIZER_LOOP_TABLE_HPP

#include <cstdint>
#include <span>
#include <string>
#include <ulp/report/tables/table.hpp>
#include <ulp/train/optimizer_loop.hpp>
#include <vector>

#include "summary.hpp"

namespace ulp::cli {

struct finished_optimizer_loops {
  std::string model;
  std::string passes;
  std::int64_t steps = 0;
  std::int64_t judged = 0;
  double rate = 0;
  std::vector<std::string> modes;
  std::span<const optimizer_loop_result> seeds;
};

[[nodiscard]] table modes_table(const finished_optimizer_loops& all);
[[nodiscard]] table layers_table(const finished_optimizer_loops& all);
[[nodiscard]] summary summary_of(const finished_optimizer_loops& all);

// Whether the mode with the largest loss change in the open loop is the one that trains worst, both as means over seeds.
[[nodiscard]] bool names_the_worst(const finished_optimizer_loops& all);

}  // namespace ulp::cli

#endif
