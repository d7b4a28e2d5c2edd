// ulp advise: what a run needs, in plain words.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <string>
#include <ulp/io/printable.hpp>
#include <ulp/report/advice.hpp>
#include <ulp/report/run_notes.hpp>

#include "command.hpp"
#include "each_step.hpp"
#include "options.hpp"
#include "output.hpp"

namespace ulp::cli {
namespace {

struct options {
  run_text run;
  std::string format_name = "float16";
  std::string check;
  std::string epsilon = "0.001";
  rounding_text rounding;
  output_options output;
};

void print(const std::vector<finding>& findings) {
  for (const finding& f : findings) {
    fmt::print("{}\n  {}\n", printable(f.question), printable(f.conclusion));
    for (const std::string& line : f.evidence) fmt::print("    {}\n", printable(line));
    if (!f.limits.empty()) fmt::print("  Limits: {}\n", printable(f.limits));
    fmt::print("\n");
  }
}

table advice_table(const std::vector<finding>& findings) {
  const std::vector<column<finding>> columns = {
      {"topic", "", &finding::topic},
      {"question", "", &finding::question},
      {"conclusion", "", &finding::conclusion},
      {"evidence", "", [](const finding& f) { return fmt::format("{}", fmt::join(f.evidence, "\n")); }},
      {"limits", "", &finding::limits},
      {"numbers", "", [](const finding& f) { return named_values{f.numbers}; }},
  };
  return table_of(columns, findings);
}

int run(const options& o) {
  refuse_overwriting_inputs(o.output, o.run.files());
  const advice_options how = advice_options_of(o.format_name, o.rounding, o.epsilon, o.run);
  const selection counted = o.run.selected();
  name_predicate checked;
  if (!o.check.empty()) checked = regex_of(o.check, "--check");
  const std::vector<scenario> scenarios = scaler_trials(how, counted, checked);

  const std::unique_ptr<source> from = open_run(o.run);
  check_tensors_exist(o.check, *from);
  survey run(counted, checked);
  sweep trials(scenarios);
  run_notes notes;
  for_each_step(*from, counted, [&](const step& now) {
    notes.see(now, from->tensors());
    run.add(now, from->tensors());
    trials.add(now, from->tensors());
  });
  check_steps_counted(run.steps().size(), o.run);
  check_tensors_counted(run.choice(), *from);
  const auto findings = advice_of(run, from->tensors(), scenarios, trials.results(), how);
  if (findings.empty())
    throw usage_error(o.run.inputs.front() +
                      ": shows at most which steps overflowed, which answers none of these questions");
  for (const std::string& line : notes.lines(run.choice())) note(line);
  for (const std::string& line : group_notes(sets_by_group(run, from->tensors(), how.groups))) note(line);
  if (run.as_recorded()) note(factor_note);
  write_table("advise", advice_table(findings), o.output, false);
  if (!o.output.machine_stdout()) print(findings);
  return done;
}

}  // namespace

command advise_command() {
  auto o = std::make_shared<options>();
  command made{.name = "advise", .help = "say in plain words what a run needs: format, loss scale, clipping"};
  add_run(made, o->run);
  add_groups(made, o->run);
  made.add("--format", &o->format_name, "the format that gradients are scaled for (see ulp formats)",
           {.type = "F", .show_default = true});
  made.add("--epsilon", &o->epsilon, "the share of the nonzero gradients that may underflow",
           {.type = "X", .show_default = true});
  made.add("--check", &o->check, "the tensors whose overflow the scaler sees, as in ulp replay", {.type = "REGEX"});
  add_rounding(made, o->rounding);
  add_output(made, o->output);
  made.footer =
      "--json: an array of findings, each with topic, question, conclusion, evidence, limits and numbers. Shares are "
      "fractions of 1, [low, high] where the input leaves them open; names of scales end in log2; null: unknown or "
      "nonexistent.\n"
      "  happened                    gradient_overflow, forward_overflow: steps first_step last_step\n"
      "  format                      format decided epsilon censored_zeros; formats: NAME: underflow_share "
      "lost_l1_share overflow_steps undecided_steps\n"
      "  static_scale                epsilon lowest_log2 highest_log2; scales: SCALE: underflow_share overflow_steps "
      "undecided_steps\n"
      "  growth                      defaults, best: init_scale growth_interval skipped skipped_low skipped_high "
      "decided underflow_share mean_log2_scale\n"
      "  worst_tensors worst_groups  scale_log2; tensors, groups: NAME: underflow_share of_all_underflow max_abs\n"
      "  clipping                    trigger_rate_at_1 norms median p90 p99 largest\n"
      "  tensor_scales group_scales  octaves_apart octaves_of_format; least, greatest: name scale_log2\n"
      "  not_helped                  forward_overflow_steps overflow_steps_at_1 mostly_zero_tensors censored_zeros\n"
      "  log                         steps open marked max_abs_at_least max_abs_below; skipped, not_finite, "
      "longest_in_a_row: steps first_step last_step\n"
      "  recorded_values nothing     no numbers\n"
      "\n"
      "Example:\n"
      "  ulp advise examples/digits.ulp --group conv=^conv --group fc=^fc";
  made.run = [o] { return run(*o); };
  return made;
}

}  // namespace ulp::cli
