// ulp precision: a command of commands.
#include "command.hpp"
#include "precision/subcommands.hpp"

namespace ulp::cli {

command precision_command() {
  command made{.name = "precision", .help = "what-ifs beside loss scaling: weights, sums, optimizer states"};
  made.commands = {precision_optimizer_command(), precision_optimizer8_command()};
  made.footer =
      "ulp precision COMMAND --help, or ulp help precision COMMAND, lists the options of a command.\n"
      "Example:\n"
      "  ulp precision optimizer --dialect torch_adamw";
  return made;
}

}  // namespace ulp::cli
