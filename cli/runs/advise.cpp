// ulp advise: what a run needs, in plain words.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <string>
#include <ulp/io/configuration_lines.hpp>
#include <ulp/io/printable.hpp>
#include <ulp/report/advice.hpp>
#include <ulp/report/run_notes.hpp>

#include "command.hpp"
#include "configuration.hpp"
#include "each_step.hpp"
#include "options.hpp"
#include "output.hpp"

namespace ulp::cli {
namespace {

struct options {
  run_text run;
  std::string format_name = "float16";
  std::string check;
  std::string epsilon = "1e-5";
  std::string config;
  rounding_text rounding;
  output_options output;
};

void print_evidence(const finding& f) {
  for (const std::string& line : f.evidence) fmt::print("    {}\n", printable(line));
  if (!f.limits.empty()) fmt::print("  Limits: {}\n", printable(f.limits));
  fmt::print("\n");
}

void print(const advice& given) {
  const advice_summary& first = given.first;
  fmt::print("What happened   {}\nWhat to change  {}\n", printable(first.happened), printable(first.change));
  for (const std::string& line : first.lines) fmt::print("                  {}\n", printable(line));
  fmt::print("How sure        {}\n", printable(first.sure));
  if (first.left_out_from)
    fmt::print("Left out below  the steps from {} on, when the run was lost\n", *first.left_out_from);
  fmt::print("\n");
  for (const finding& f : given.findings) {
    fmt::print("{}\n  {}\n", printable(f.question), printable(f.conclusion));
    print_evidence(f);
  }
}

table advice_table(const advice& given) {
  std::vector<finding> findings{finding_of(given.first)};
  findings.insert(findings.end(), given.findings.begin(), given.findings.end());
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
  std::vector<std::string> read = o.run.files();
  read.push_back(o.config);
  refuse_overwriting_inputs(o.output, read);
  scenario_text asked{.format = o.format_name, .rounding = o.rounding};
  const std::optional<configuration> own = configuration_of(o.config, asked, o.run);
  advice_options how = advice_options_of(o.format_name, o.rounding, o.epsilon, o.run);
  if (own) how.configured = own_configuration_of(own->said);
  const selection counted = o.run.selected();
  name_predicate checked;
  if (!o.check.empty()) checked = regex_of(o.check, "--check");

  const std::unique_ptr<source> from = open_run(o.run);
  const std::string logged = from->framework().substr(0, from->framework().find(" and "));
  if (!own && !configuration_lines(logged, {.format = "bfloat16"}).empty()) how.configured.framework = logged;
  check_tensors_exist(o.check, *from);
  adviser adviser(how, counted, checked);
  adviser.expect(from->step_count());
  run_notes notes;
  for_each_step(*from, counted, [&](const step& now) {
    notes.see(now, from->tensors());
    adviser.add(now, from->tensors());
  });
  check_steps_counted(adviser.whole().steps().size(), o.run);
  check_tensors_counted(adviser.whole().choice(), *from, o.run);
  if (const std::unique_ptr<source> twice = open_run_again(o.run))
    if (const std::optional<selection> less = adviser.again(from->tensors()))
      for_each_step(*twice, *less, [&](const step& now) { adviser.add_again(now, from->tensors()); });

  const advice given = adviser.result(from->tensors());
  for (const std::string& line : notes.lines(adviser.whole().choice())) note(line);
  for (const std::string& line : group_notes(sets_by_group(adviser.whole(), from->tensors(), how.groups))) note(line);
  if (adviser.whole().as_recorded()) note(factor_note);
  write_table("advise", advice_table(given), o.output, false);
  if (!o.output.machine_stdout()) print(given);
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
  made.add("--epsilon", &o->epsilon, "the share of the magnitude of gradients that underflow may take",
           {.type = "X", .show_default = true});
  made.add("--check", &o->check, "the tensors whose overflow the scaler sees, as in ulp replay", {.type = "REGEX"});
  add_rounding(made, o->rounding);
  add_config(made, o->config, {}, "writes what to change in the words");
  add_output(made, o->output);
  made.footer =
      "The first three lines say what happened, what to change and how sure that is; --config names the framework "
      "whose "
      "configuration is written. Where a run was lost, the steps from there on are left out of the other questions.\n"
      "--json: an array of findings, each with topic, question, conclusion, evidence, limits and numbers. Shares are "
      "fractions of 1, [low, high] where the input leaves them open; names of scales end in log2; null: unknown or "
      "nonexistent.\n"
      "  summary                     cause happened change configuration sure left_out_from\n"
      "  causes: steps first_step last_step and\n"
      "    divergence                growth growth_steps rate_rises lost_at learning_rate_before learning_rate_after "
      "loss_before loss_after\n"
      "    initial_scale             first_scale last_scale fitting_scale scale_before\n"
      "    bad_batch                 loss_is_lost ends_the_run times\n"
      "    forward_overflow          losses_lost losses_finite in_all_tensors before first_scale last_scale\n"
      "    loss_overflow             no more\n"
      "    open_overflow             first_scale last_scale\n"
      "    unhandled_overflow        applied scale\n"
      "    nan_source                tensor neighbour with_nan\n"
      "    zero_gradients            loss_is_zero\n"
      "    underflow                 tensor tensors of all_zero zero_share mean_units scale\n"
      "    vanished                  tensor living tensors zero_share_before zero_share_after peak peak_step loss\n"
      "    vanished_in_depth         small_end large_end layers all_zero log2_ratio\n"
      "    scale_at_floor            overflows floor greatest\n"
      "    dead_layer                tensors first_tensor living\n"
      "    gradient_overflow         places longest\n"
      "    recorded_wrongly          no numbers\n"
      "  format                      format epsilon censored_zeros; formats: NAME: lost_l1_share sqnr_db lost_sqnr_db "
      "underflow_share overflow_steps undecided_steps; other_kinds: KIND: the same\n"
      "  static_scale                epsilon lowest_log2 highest_log2; scales: SCALE: as of formats; other_kinds\n"
      "  growth                      defaults, best: init_scale growth_interval skipped skipped_low skipped_high "
      "decided underflow_share mean_log2_scale\n"
      "  worst_tensors worst_groups  scale_log2; tensors, groups: NAME: as of formats, and max_abs\n"
      "  clipping                    trigger_rate_at_1 norms median p90 p99 largest\n"
      "  tensor_scales group_scales  octaves_apart octaves_of_format; least, greatest: name scale_log2\n"
      "  not_helped                  overflow_steps_at_1 mostly_zero_tensors censored_zeros\n"
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
