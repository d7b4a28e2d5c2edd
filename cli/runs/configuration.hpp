// --config FILE: a framework's own configuration in place of --scaler, --set, --format and --clip-norm or --clip-value.
#ifndef ULP_CLI_CONFIGURATION_HPP
#define ULP_CLI_CONFIGURATION_HPP

#include <optional>
#include <string>
#include <ulp/report/scenario_text.hpp>

#include "command_line.hpp"

namespace ulp::cli {

void add_config(command& to, std::string& file, option_details details, const char* instead);

// nullopt where no file is named. Throws usage_error where standard input is the run already.
[[nodiscard]] std::optional<configuration> configuration_of(const std::string& file, const scenario_text& given,
                                                            const run_text& run);

// What its keys mean: on stdout, or as notes where that belongs to a machine.
void print_configuration(const configuration& config, bool machine_stdout);

}  // namespace ulp::cli

#endif
