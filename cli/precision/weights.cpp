// ulp precision weights: updates that are lost where weights are kept in 16 bits without a master copy.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <ulp/ask/precision/weights_answer.hpp>
#include <ulp/report/findings/weights_finding.hpp>
#include <ulp/report/tables/sorted.hpp>
#include <ulp/report/tables/weights_table.hpp>

#include "command.hpp"
#include "listening.hpp"
#include "options.hpp"
#include "output.hpp"
#include "precision/subcommands.hpp"
#include "runs/configuration.hpp"

namespace ulp::cli {
namespace {

struct weights_arguments {
  weights_question asked;
  row_order order;
  output_options output;
};

void print_heading(const weights_answer& answer) {
  const typed_treatment& first = answer.counted.cases.front();
  std::vector<std::string> names;
  for (const typed_treatment& c : answer.counted.cases) names.push_back(c.format_name);
  fmt::print("weights kept in {} without a master copy, {}\n", fmt::join(names, ", "), first.rounding_name);
  fmt::print(
      "lost: weight + update, rounded once, is the weight again; stuck at 1: lost where the weight is 1 or -1\n");
  if (first.is_drawn()) fmt::print("never moved: whatever is drawn; lost in a draw: the mean over all draws\n");
  fmt::print("\n");
}

int run(const weights_arguments& o) {
  std::vector<std::string> read = o.asked.run.files();
  read.push_back(o.asked.config.path);
  refuse_overwriting_inputs(o.output, read);
  const weights_answer answer = weights_over(o.asked, on_stderr(), [&](const weights_answer& none) {
    check_order(weights_table(none.counted, none.layout), o.order);
  });
  table rows = weights_table(answer.counted, answer.layout);
  const bool has_several = rows.rows.size() > answer.counted.cases.size();
  arrange(rows, o.order, on_stderr());
  const bool machine = o.output.machine_stdout();
  print_conclusions(conclusions_of(answer), machine);
  write_table("precision.weights", rows, o.output, false);
  if (machine) return done;
  for (const std::string& line : losses_of(answer)) print_sentences("", printable(line));
  fmt::print("\n");
  print_heading(answer);
  fmt::print("{}", to_text(has_several ? with_sum(rows, answer.counted, answer.layout) : rows));
  return done;
}

}  // namespace

command precision_weights_command() {
  auto o = std::make_shared<weights_arguments>();
  command made{.name = "weights", .help = "count the updates that 16-bit weights without a master copy lose"};
  add_run(made, o->asked.run, {},
          "dumps with weights and their updates or gradients, or a folder of them; or a recording with joint tables");
  add_groups(made, o->asked.run);
  made.add("--format", &o->asked.formats,
           "the formats that weights are kept in (default: as --config says, else bfloat16, float16, cbfloat16)",
           {.type = "F,...", .split_at_commas = true});
  made.add("--by", &o->asked.by, "separate rows by tensor, step, group, or several of them; sum over the rest",
           {.type = "WHAT,...", .show_default = true, .split_at_commas = true, .one_of = weight_groups});
  made.add("--lr", &o->asked.learning_rate,
           "the learning rate where dumps hold gradients and no updates: plain SGD (default: lr of --scalars)",
           {.type = "X"});
  made.add("--curvature", &o->asked.curvature,
           "the curvature L of the loss: adds the stall radius, spacing / (2 lr L), of the largest weights",
           {.type = "L"});
  add_config(made, o->asked.config, {}, "says what weights are kept in,");
  made.add("--sort", &o->order.sort,
           "largest first by this key of --json and --csv: lost_share, lost, changed_share ...", {.type = "KEY"});
  made.add("--top", &o->order.top, "only the first rows", {.type = "N", .check = positive});
  add_rounding(made, o->asked.rounding);
  add_output(made, o->output);
  made.footer =
      "INPUT: dumps with weight/NAME and update/NAME, or with weights and wgrad/NAME (update = -lr * gradient), or "
      "with weights of several steps (update = the difference); or a recording with joint tables.\n"
      "--json and --csv add what a resume without master weights changes (changed), the spacing of the largest "
      "weights, and where updates come from (origin).\n"
      "Examples:\n"
      "  ulp precision weights examples/weights.step00100.safetensors --lr 0.05 --format bf16,fp16,cb16\n"
      "  ulp precision weights examples/weights.step00100.safetensors --lr 0.05 --format bf16 --rounding "
      "stochastic:A,bits=8";
  made.run = [o] {
    o->asked.formats = joined_names(o->asked.formats);
    return run(*o);
  };
  return made;
}

}  // namespace ulp::cli
