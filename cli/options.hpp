// The arguments that several subcommands share, and the inputs that they name.
#ifndef ULP_CLI_OPTIONS_HPP
#define ULP_CLI_OPTIONS_HPP

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ulp/io/source.hpp>
#include <ulp/model/tensor_choice.hpp>
#include <ulp/report/rounding_text.hpp>
#include <ulp/report/run_text.hpp>
#include <ulp/report/scenario_text.hpp>
#include <ulp/report/text_option.hpp>
#include <ulp/report/typed_values.hpp>

#include "command_line.hpp"

namespace ulp::cli {

// Registers these, except for those whose names are left out.
void add_options(command& to, const std::vector<text_option>& options, const std::vector<std::string>& but = {});

void add_rounding(command& to, rounding_text& options);
void add_run(command& to, run_text& options, const std::vector<std::string>& but = {});
void add_groups(command& to, run_text& options);  // where groups are distinguished

// Opens the inputs and tells what a user should know about them.
[[nodiscard]] std::unique_ptr<source> open_run(const run_text& options);
// The same, as how_to_read() and more says.
[[nodiscard]] std::unique_ptr<source> open_run(const run_text& options, const source_options& how);

// The same inputs once more, which tells nothing; nullptr where they cannot be read twice, such as a pipe.
[[nodiscard]] std::unique_ptr<source> open_run_again(const run_text& options);

// The recording that INPUT is, as follow_recording gives it; throws usage_error where it cannot be one.
[[nodiscard]] std::unique_ptr<source> follow_run(const run_text& options, const source_options& how,
                                                 wait_for_steps wait);

// Throws usage_error where there was no step to look at.
void check_steps_counted(std::uint64_t steps, const run_text& options);
// Throws usage_error where --check is given for an input without tensors.
void check_tensors_exist(const std::string& check, const source& from);
// Throws usage_error where --tensor, --kind and --role leave no tensor.
void check_tensors_counted(const tensor_choice& choice, const source& from, const run_text& options);
// "; near: conv1.weight, conv2.weight", the names that --tensor may have meant; where none is near, some of all.
[[nodiscard]] std::string near_tensors(const std::string& expression, const source& from);

}  // namespace ulp::cli

#endif
