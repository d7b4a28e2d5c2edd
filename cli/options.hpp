// The arguments that several subcommands share, and the inputs that they name.
#ifndef ULP_CLI_OPTIONS_HPP
#define ULP_CLI_OPTIONS_HPP

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ulp/ask/questions/rounding_text.hpp>
#include <ulp/ask/questions/run_text.hpp>
#include <ulp/ask/questions/scenario_text.hpp>
#include <ulp/ask/questions/text_option.hpp>
#include <ulp/ask/questions/typed_values.hpp>
#include <ulp/io/recording/following.hpp>

#include "command_line.hpp"

namespace ulp::cli {

// Registers these, except for those whose names are left out.
void add_options(command& to, const std::vector<text_option>& options, const std::vector<std::string>& but = {});

void add_rounding(command& to, rounding_text& options);
// `inputs`: what INPUT may be; empty: all that is read as a run.
void add_run(command& to, run_text& options, const std::vector<std::string>& but = {}, const std::string& inputs = "");
// Of these --tensor, --limit and --raw-codes alone: for files of arrays.
void add_tensor_and_limits(command& to, run_text& options);
// --limit and --raw-codes alone: for dumps that are no run.
void add_limits(command& to, run_text& options);
void add_groups(command& to, run_text& options);  // where groups are distinguished

// The recording that INPUT is, as follow_recording gives it; throws usage_error where it cannot be one.
[[nodiscard]] std::unique_ptr<source> follow_run(const run_text& options, const source_options& how,
                                                 wait_for_steps wait);

}  // namespace ulp::cli

#endif
