// ulp advise: what a run needs, in plain words.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <ulp/ask/runs/advice_answer.hpp>
#include <ulp/io/bytes/printable.hpp>
#include <ulp/report/findings/advice.hpp>
#include <vector>

#include "command.hpp"
#include "configuration.hpp"
#include "listening.hpp"
#include "options.hpp"
#include "output.hpp"

namespace ulp::cli {
namespace {

struct advise_arguments {
  advice_question asked;
  output_options output;
};

void print_evidence(const finding& f) {
  for (const std::string& line : f.evidence) print_sentences("    ", printable(line));
  if (!f.limits.empty()) print_sentences("  Limits: ", printable(f.limits));
  fmt::print("\n");
}

void print(const advice& given) {
  const advice_summary& first = given.first;
  print_sentences("What happened   ", printable(first.happened));
  print_sentences("What to change  ", printable(first.change));
  for (const std::string& line : first.lines) fmt::print("                  {}\n", printable(line));
  print_sentences("How sure        ", printable(first.sure));
  if (first.left_out_from)
    fmt::print("Left out below  the steps from {} on, when the run was lost\n", *first.left_out_from);
  fmt::print("\n");
  for (const finding& f : given.findings) {
    print_sentences("", printable(f.question));
    print_sentences("  ", printable(f.conclusion));
    print_evidence(f);
  }
}

int run(const advise_arguments& o) {
  std::vector<std::string> read = o.asked.run.files();
  read.push_back(o.asked.config.path);
  refuse_overwriting_inputs(o.output, read);
  const advice given = advice_on(advice_over(o.asked, on_stderr()));
  write_table("advise", advice_table(given), o.output, false);
  if (!o.output.machine_stdout()) print(given);
  return done;
}

}  // namespace

command advise_command() {
  auto o = std::make_shared<advise_arguments>();
  command made{.name = "advise", .help = "say in plain words what a run needs: format, loss scale, clipping"};
  add_run(made, o->asked.run);
  add_groups(made, o->asked.run);
  made.add(
      "--format", &o->asked.format,
      "the format that gradients are scaled for (see ulp formats), or one of blocks (mxfp8, nvfp4, ...; see ulp formats "
      "--blocks), of mxfp8, mxfp6 and mxfp4 with scales rounded up; without it float16, or what --config trains in",
      {.type = "F"});
  made.add("--epsilon", &o->asked.epsilon, "the share of the magnitude of gradients that underflow may take",
           {.type = "X", .show_default = true});
  made.add("--check", &o->asked.check, "the tensors whose overflow the scaler sees, as in ulp replay",
           {.type = "REGEX"});
  add_rounding(made, o->asked.rounding);
  add_config(made, o->asked.config, {}, "writes what to change in the words");
  add_output(made, o->output);
  made.footer =
      "The first three lines say what happened, what to change and how sure that is; --config names the framework "
      "whose configuration is written. Where a run was lost, the steps from there on are left out of the other "
      "questions.\n"
      "--json: an array of findings, each with topic, question, conclusion, evidence, limits and numbers. Shares are "
      "fractions of 1, [low, high] where the input leaves them open; names of scales end in log2; null: unknown or "
      "nonexistent.\n"
      "  summary                     cause happened change configuration sure left_out_from\n"
      "  causes: steps first_step last_step places_certain and\n"
      "    divergence                growth growth_steps rate_rises lost_at learning_rate_before learning_rate_after "
      "loss_before loss_after\n"
      "    initial_scale             first_scale last_scale fitting_scale scale_before\n"
      "    bad_batch                 loss_is_lost ends_the_run times lost_at loss_before loss_after finite_norms period\n"
      "    forward_overflow          losses_lost losses_finite finite_norms in_all_tensors before first_scale last_scale\n"
      "                              loss_before loss_after outlier_step outlier\n"
      "    loss_overflow             no more\n"
      "    collapsed_scale           greatest least loss; or dead_steps dead_lost scale\n"
      "    open_overflow             first_scale last_scale\n"
      "    unhandled_overflow        applied ruined_at scale\n"
      "    nan_source                tensor neighbour with_nan\n"
      "    zero_gradients            loss_is_zero\n"
      "    underflow                 tensor tensors of all_zero zero_share mean_units scale\n"
      "    vanished                  tensor living tensors zero_share_before zero_share_after peak peak_step loss\n"
      "    vanished_in_depth         small_end large_end layers all_zero log2_ratio\n"
      "    loss_peak                 loss_before loss_highest highest_step loss_at_end dying_tensors\n"
      "    dying_units               tensors first_tensor zero_share_before zero_share_low zero_share_high\n"
      "    scale_at_floor            overflows floor greatest\n"
      "    dead_layer                tensors first_tensor living\n"
      "    gradient_overflow         places longest\n"
      "    recorded_clipped          limit steps of\n"
      "    recorded_wrongly          no numbers\n"
      "  format                      format epsilon censored_zeros; formats: NAME: lost_l1_share sqnr_db "
      "lost_sqnr_db underflow_share overflow_steps undecided_steps; other_kinds: KIND: the same\n"
      "  static_scale                epsilon lowest_log2 highest_log2 outlier_steps highest_log2_without_outliers; "
      "scales: SCALE: as of formats; other_kinds\n"
      "  first_overflow              overflows; tensors: NAME: first_in lost_steps first_step\n"
      "  growth                      defaults, best: init_scale growth_interval skipped skipped_low skipped_high "
      "decided underflow_share mean_log2_scale\n"
      "  fp8_format                  kinds: KIND: e4m3, e5m2: sqnr_db underflow_share\n"
      "  fp8_history                 histories: STEPS: saturating_steps stale_steps tensor_steps\n"
      "  fp8_tensors                 not_held\n"
      "  block_format                format row tensors held drowned nonfinite saturating not_decided left_out_steps\n"
      "  block_elements              first second; kinds: KIND: tensors better_in_first better_in_second\n"
      "  block_scale_rule            element; rules: RULE: saturating_share underflow_share worst_lost_share\n"
      "  block_noise                 gradients drowned not_decided tensor least_ratio\n"
      "  worst_tensors worst_groups  scale_log2; tensors, groups: NAME: as of formats, and max_abs\n"
      "  clipping                    trigger_rate_at_1 norms median p90 p99 largest\n"
      "  tensor_scales group_scales  octaves_apart octaves_of_format; least, greatest: name scale_log2; "
      "tensors, groups: NAME: scale_log2\n"
      "  not_helped                  overflow_steps_at_1 mostly_zero_tensors censored_zeros\n"
      "  log                         steps open marked max_abs_at_least max_abs_below; skipped, not_finite, "
      "longest_in_a_row: steps first_step last_step places_certain\n"
      "  weights_not_finite          first_step tensors nonfinite_share\n"
      "  lost_updates                format lost_share layers first_step; or format unmoved_share\n"
      "  recorded_values nothing     no numbers\n"
      "\n"
      "Examples:\n"
      "  ulp advise examples/digits.ulp --group conv=^conv --group fc=^fc\n"
      "  ulp advise examples/digits.step00100.safetensors --format mxfp8";
  made.run = [o] { return run(*o); };
  return made;
}

}  // namespace ulp::cli
