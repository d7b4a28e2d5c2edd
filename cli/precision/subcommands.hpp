// The commands of `ulp precision`: what 16 and 8 bits do beside loss scaling.
#ifndef ULP_CLI_PRECISION_SUBCOMMANDS_HPP
#define ULP_CLI_PRECISION_SUBCOMMANDS_HPP

#include "command_line.hpp"

namespace ulp::cli {

[[nodiscard]] command precision_accumulate_command();
[[nodiscard]] command precision_dot_command();
[[nodiscard]] command precision_optimizer_command();
[[nodiscard]] command precision_optimizer8_command();
[[nodiscard]] command precision_random_bits_command();
[[nodiscard]] command precision_weights_command();

}  // namespace ulp::cli

#endif
