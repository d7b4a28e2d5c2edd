// ulp precision: a command of commands.
#include "command.hpp"
#include "precision/subcommands.hpp"

namespace ulp::cli {

command precision_command() {
  command made{.name = "precision", .help = "what-ifs beside loss scaling: weights, sums, optimizer states"};
  made.commands = {precision_optimizer_command(), precision_optimizer8_command()};
  return made;
}

}  // namespace ulp::cli
