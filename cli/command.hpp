// The subcommands, and what they have in common.
#ifndef ULP_CLI_COMMAND_HPP
#define ULP_CLI_COMMAND_HPP

#include <stdexcept>

#include "command_line.hpp"

namespace ulp::cli {

// Exit codes: done; a check found differences; bad input or usage.
inline constexpr int done = 0;
inline constexpr int differences = 1;
inline constexpr int bad_input = 2;

// A wrong argument: one line that says which and what to do.
class usage_error : public std::runtime_error {
  using runtime_error::runtime_error;
};

[[nodiscard]] command advise_command();
[[nodiscard]] command check_command();
[[nodiscard]] command compare_command();
[[nodiscard]] command convert_command();
[[nodiscard]] command diff_command();
[[nodiscard]] command eval_command();
[[nodiscard]] command export_command();
[[nodiscard]] command formats_command();
[[nodiscard]] command info_command();
[[nodiscard]] command inspect_command();
[[nodiscard]] command matmul_command();
[[nodiscard]] command merge_command();
[[nodiscard]] command outcomes_command();
[[nodiscard]] command plan_command();
[[nodiscard]] command precision_command();
[[nodiscard]] command probe_command();
[[nodiscard]] command record_command();
[[nodiscard]] command replay_command();
[[nodiscard]] command report_command();
[[nodiscard]] command view_command();
[[nodiscard]] command scalers_command();
[[nodiscard]] command selfcheck_command();
[[nodiscard]] command sweep_command();
[[nodiscard]] command vectors_command();
[[nodiscard]] command verify_command();
[[nodiscard]] command watch_command();

}  // namespace ulp::cli

#endif
