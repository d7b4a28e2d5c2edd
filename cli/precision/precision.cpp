// ulp precision: a command of commands.
#include "command.hpp"
#include "precision/subcommands.hpp"

namespace ulp::cli {

command precision_command() {
  command made{.name = "precision", .help = "what-ifs beside loss scaling: weights, sums, optimizer states"};
  made.commands = {precision_weights_command(),    precision_accumulate_command(), precision_random_bits_command(),
                   precision_optimizer8_command(), precision_dot_command(),        precision_optimizer_command()};
  made.footer =
      "ulp precision COMMAND --help, or ulp help precision COMMAND, lists the options of a command.\n"
      "Example:\n"
      "  ulp precision weights examples/weights.step00100.safetensors --lr 0.05";
  return made;
}

}  // namespace ulp::cli
