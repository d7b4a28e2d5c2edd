// What ulp selfcheck closed-loop --recipe says: a row for each kind of tensor, and what they amount to.
#ifndef ULP_CLI_FP8_LOOP_TABLE_HPP
#define ULP_CLI_FP8_LOOP_TABLE_HPP

#include <span>
#include <string>
#include <ulp/report/tables/table.hpp>
#include <ulp/train/fp8_loop.hpp>

#include "summary.hpp"

namespace ulp::cli {

struct finished_fp8_loops {
  std::string model;
  const fp8_loop_options& options;
  std::span<const fp8_loop_result> seeds;
};

[[nodiscard]] table kinds_table(std::span<const fp8_loop_result> seeds);
[[nodiscard]] summary summary_of(const finished_fp8_loops& all);

// Whether the self-replays of all seeds are as their trainings were.
[[nodiscard]] bool is_identical(std::span<const fp8_loop_result> seeds);

}  // namespace ulp::cli

#endif
