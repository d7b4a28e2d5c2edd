// What ulp selfcheck closed-loop says: a row for each seed and loop, and what they amount to.
#ifndef ULP_CLI_CLOSED_LOOP_TABLE_HPP
#define ULP_CLI_CLOSED_LOOP_TABLE_HPP

#include <cstdint>
#include <span>
#include <string>
#include <ulp/report/tables/table.hpp>
#include <ulp/train/closed_loop.hpp>

#include "summary.hpp"

namespace ulp::cli {

struct finished_loops {
  std::string model;  // "transformer, tied, 3 micro-batches"
  std::string format;
  const closed_loop_options& options;
  std::uint64_t parameters = 0;
  std::span<const closed_loop_result> seeds;
};

[[nodiscard]] table loops_table(std::span<const closed_loop_result> seeds);
[[nodiscard]] summary summary_of(const finished_loops& all);

// Whether the self-replays of all seeds are as their trainings were.
[[nodiscard]] bool is_identical(std::span<const closed_loop_result> seeds);

}  // namespace ulp::cli

#endif
