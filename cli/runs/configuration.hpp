// --config FILE: a framework's own configuration in place of --scaler, --set, --format and --clip-norm or --clip-value.
#ifndef ULP_CLI_CONFIGURATION_HPP
#define ULP_CLI_CONFIGURATION_HPP

#include <string>
#include <ulp/ask/questions/scenario_text.hpp>
#include <vector>

#include "command_line.hpp"

namespace ulp::cli {

// And --framework NAME, whose it is.
void add_config(command& to, config_file& file, option_details details, const char* instead);

// What its keys mean: on stdout, or as notes where that belongs to a machine.
void print_configuration(const configuration& config, bool machine_stdout);

// Sentences of an answer: above its table, or as notes.
void print_conclusions(const std::vector<std::string>& conclusions, bool machine_stdout);

}  // namespace ulp::cli

#endif
