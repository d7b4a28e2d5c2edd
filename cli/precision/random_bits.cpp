// ulp precision random-bits: how many random bits updates need under stochastic rounding.
#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <optional>
#include <ulp/ask/precision/random_bits_answer.hpp>
#include <ulp/ask/questions/typed_values.hpp>
#include <ulp/report/tables/random_bits_table.hpp>

#include "command.hpp"
#include "listening.hpp"
#include "options.hpp"
#include "output.hpp"
#include "precision/subcommands.hpp"

namespace ulp::cli {
namespace {

struct random_bits_arguments {
  random_bits_question asked;
  bool by_tensor = false;
  output_options output;
};

// With the drift that is left: updates that never move are not all that is lost.
std::string fewest_text(const random_bit_need& need, stochastic_definition by, double share) {
  const std::optional<int> n = need.fewest(by, share);
  if (!n) return fmt::format("more than {}", random_bit_need::most_bits);
  const stochastic_movement& moved = need.bits[static_cast<std::size_t>(*n)].by[static_cast<std::size_t>(by)];
  const double percent = 100 * moved.drift / need.mass;
  return fmt::format("{} (drift {:+.{}f} %)", *n, percent, std::abs(percent) < 10 ? 1 : 0);
}

void print_needs(const random_bits_answer& answer) {
  for (const auto& [format, need] : answer.all) {
    const double lost = need.mass_lost_nearest / need.mass;
    fmt::print("{}: {} of {}; nearest-even loses {} of their mass\n", format, count_text(need.updates, "update"),
               count_text(need.numel, "weight"), percent_text({lost, lost}));
    fmt::print("  fewest random bits that lose less than {}: definition A {}, B {}, C {}\n",
               percent_text({answer.share, answer.share}), fewest_text(need, stochastic_definition::a, answer.share),
               fewest_text(need, stochastic_definition::b, answer.share),
               fewest_text(need, stochastic_definition::c, answer.share));
    if (need.overflowing + need.nonfinite > 0)
      fmt::print("  left out: {} beyond the format, {} not finite\n", grouped(need.overflowing),
                 grouped(need.nonfinite));
  }
}

int run(const random_bits_arguments& o) {
  refuse_overwriting_inputs(o.output, o.asked.run.files());
  const random_bits_answer answer = random_bits_over(o.asked, on_stderr());
  if (!o.output.machine_stdout()) {
    print_needs(answer);
    if (!o.by_tensor)
      fmt::print(
          "\nbelow: |update| below 2^-bits of the distance to the next number; never: no draw moves the weight;\n"
          "mass lost: their share of the sum of |update|; bias: mean result - exact sum in ulp, away from zero;\n"
          "drift: the same in the direction of the update, as a share of the sum of |update|\n");
    fmt::print("\n");
  }
  write_table("precision.random-bits", o.by_tensor ? random_bits_by_tensor(answer) : random_bits_table(answer),
              o.output);
  return done;
}

}  // namespace

command precision_random_bits_command() {
  auto o = std::make_shared<random_bits_arguments>();
  command made{.name = "random-bits", .help = "count the random bits that updates need under stochastic rounding"};
  add_run(made, o->asked.run, {}, "dumps with weights and their updates or gradients, or a folder of them");
  made.add("--format", &o->asked.formats, "the formats that weights are kept in",
           {.type = "F,...", .show_default = true, .split_at_commas = true});
  made.add("--lr", &o->asked.learning_rate,
           "the learning rate where dumps hold gradients and no updates: plain SGD (default: lr of --scalars)",
           {.type = "X"});
  made.add("--lose", &o->asked.share, "the share of the mass of updates that may be lost",
           {.type = "X", .show_default = true});
  made.add("--by-tensor", &o->by_tensor, "a row for each tensor, with the fewest bits that it needs");
  add_output(made, o->output);
  made.footer =
      "INPUT: dumps with weight/NAME and update/NAME, or with weights and wgrad/NAME (update = -lr * gradient), or "
      "with weights of several steps (update = the difference). Every element is counted, exactly, for 0 to 24 "
      "random bits and the definitions A, B and C of IEEE P3109 (docs/numerics.md).\n"
      "The first lines name the fewest bits with which less than --lose of the mass never moves, and the drift that "
      "is left with them: mean result - exact sum in the direction of the update, as a share of the mass; --json and "
      "--csv have it for all numbers of bits.\n"
      "Examples:\n"
      "  ulp precision random-bits examples/weights.step00100.safetensors --lr 0.05 --format bf16\n"
      "  ulp precision random-bits examples/weights.step00100.safetensors --lr 0.05 --format bf16,cb16 --by-tensor";
  made.run = [o] {
    o->asked.formats = joined_names(o->asked.formats);
    return run(*o);
  };
  return made;
}

}  // namespace ulp::cli
