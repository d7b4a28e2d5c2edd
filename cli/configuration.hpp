// --config FILE: a framework's own configuration in place of --scaler, --set, --format and --clip-norm or --clip-value.
#ifndef ULP_CLI_CONFIGURATION_HPP
#define ULP_CLI_CONFIGURATION_HPP

#include <string>
#include <ulp/io/config_import.hpp>
#include <vector>

namespace ulp::cli {

// The options that a configuration stands in for, as given on the command line.
struct policy_options {
  std::string& scaler;
  std::vector<std::string>& parameters;  // "key=value"
  std::string& format_name;
  std::string& clip_norm;
  std::string& clip_value;
};

// Fills in what the file says. Parameters and format that were given stay; clipping that was given too is a usage_error.
[[nodiscard]] imported_config apply_configuration(const std::string& file, policy_options given);

// What its keys mean: on stdout, or as notes where that belongs to a machine.
void print_configuration(const std::string& file, const imported_config& config, bool machine_stdout);

}  // namespace ulp::cli

#endif
