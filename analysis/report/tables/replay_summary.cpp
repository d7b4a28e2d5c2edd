#include <ulp/report/tables/replay_summary.hpp>

#include <fmt/format.h>

#include <cmath>
#include <ulp/ask/reading/run_notes.hpp>
#include <ulp/model/machines/policy_analysis.hpp>
#include <ulp/report/tables/estimates.hpp>

#include "policy_text.hpp"

namespace ulp {
namespace {

struct finished_replay {
  const scenario_text& text;
  const scenario& what;
  const replayed_run& run;
};

constexpr value_range unknown_range{not_known, not_known};

table_value step_if(const std::optional<std::int64_t>& step) { return step ? table_value{*step} : table_value{}; }

std::string share(const count_range& c, const value_range& of_nonzero) {
  const std::string count = c.exact() ? grouped(c.low) : grouped(c.low) + " to " + grouped(c.high);
  return fmt::format("{} ({} of nonzero)", count, percent_text(of_nonzero));
}

void add_policy(std::vector<summary_line>& to, const finished_replay& r) {
  std::string text{r.what.recipe.machine().entry().name};
  named_values parameters;
  for (const auto& p : r.what.recipe.machine().parameters()) {
    parameters.all.push_back({p.name, std::visit([](const auto& v) { return table_value{v}; }, p.value)});
    if (!std::holds_alternative<std::monostate>(p.value)) text += " " + p.name + "=" + to_string(p.value);
  }
  const std::string rounding = r.text.rounding.text(r.what.recipe.usual().format);
  const std::string checked = rule_text(r.run.choice());
  const bool has_tensors = r.run.choice().rule() != check_rule::undecided;
  to.push_back(
      {"scaler",
       text,
       {{"scaler", std::string{r.what.recipe.machine().entry().name}}, {"parameters", std::move(parameters)}}});
  to.push_back(
      {"format", fmt::format("{}, {}", r.text.format, rounding), {{"format", r.text.format}, {"rounding", rounding}}});
  to.push_back(
      {"checked",
       checked,
       {{"checked", checked}, {"checked_tensors", value_if(has_tensors, integer(r.run.choice().checked_count()))}}});
}

void add_scales(std::vector<summary_line>& to, const finished_replay& r) {
  const trajectory_summary& sum = r.run.sum();
  to.push_back({"steps",
                fmt::format("{}, of which {} skipped{}", grouped(sum.steps),
                            skipped_text(sum.skipped, sum.uncertain, sum.bounds),
                            sum.first_skip ? fmt::format(", the first at step {}", *sum.first_skip) : ""),
                {{"steps", integer(sum.steps)},
                 {"skipped", integer(sum.skipped)},
                 {"skipped_low", value_if(sum.bounds.known, integer(sum.bounds.skipped.low))},
                 {"skipped_high", value_if(sum.bounds.known, integer(sum.bounds.skipped.high))},
                 {"first_skipped_step", step_if(sum.first_skip)}}});
  to.push_back({"scale",
                fmt::format("{} at the start, {} after the last step; used from {} to {}", as_power(sum.first_scale),
                            as_power(sum.last_scale), as_power(sum.least_scale), as_power(sum.greatest_scale)),
                {{"first_scale", sum.first_scale},
                 {"last_scale", sum.last_scale},
                 {"least_scale", sum.least_scale},
                 {"greatest_scale", sum.greatest_scale},
                 {"mean_log2_scale", sum.mean_log2_scale()}}});
  const auto add_words = [&](const char* title, const std::string& text) {
    to.push_back({title, text, {{title, value_if(!text.empty(), text)}}});
  };
  add_words("critical", critical_text(r.run.account().critical()));
  add_words("recovery", recovery_text(r.what.recipe.machine()));
  add_words("expected", prediction_text(r.what.recipe.machine(), r.run.account().critical(), sum));
}

void add_recorded(std::vector<summary_line>& to, const trajectory_summary& sum) {
  std::string text;
  if (const std::uint64_t lost = sum.recorded_nan + sum.recorded_inf; lost > 0)
    text = fmt::format("infinite or NaN in {}{}, first in step {}: {}", count_text(lost, "step"),
                       sum.recorded_nan > 0 ? fmt::format(" (NaN in {})", grouped(sum.recorded_nan)) : "",
                       *sum.first_recorded_nonfinite,
                       sum.beyond_scaling == lost ? "no scale changes that"
                       : sum.beyond_scaling == 0
                           ? "they overflowed at the scale of the run, and might not have at a smaller one"
                           : fmt::format("no scale changes {} of them, whose loss was lost; the others overflowed at "
                                         "the scale of the run, and might not have at a smaller one",
                                         grouped(sum.beyond_scaling)));
  to.push_back({"recorded",
                text,
                {{"recorded_nan_steps", integer(sum.recorded_nan)},
                 {"recorded_inf_steps", integer(sum.recorded_inf)},
                 {"beyond_scaling_steps", integer(sum.beyond_scaling)},
                 {"first_recorded_nonfinite_step", step_if(sum.first_recorded_nonfinite)}}});
}

void add_counts(std::vector<summary_line>& to, const finished_replay& r) {
  const outcome_counts& c = r.run.sum().counts;
  const bool known = r.run.sum().has_counts;
  const auto line = [&](const char* title, const std::string& text, std::vector<named_value> values) {
    to.push_back({title, known ? text : "", std::move(values)});
  };
  const auto range = [&](const table_value& v) { return known ? v : table_value{unknown_range}; };
  const std::uint64_t tensors = r.run.choice().counted_count();
  const value_range overflow = share_of_nonzero(c, c.overflow);
  line("counted",
       fmt::format("{}, checked or not: {} (see --tensor, --kind)", count_text(tensors, "tensor"),
                   count_text(c.numel, "element")),
       {{"counted_tensors", value_if(known, integer(tensors))},
        {"numel", range(exactly(c.numel))},
        {"zero", range(c.zeros())},
        {"nonfinite", range(exactly(c.nonfinite))}});
  line("underflow", share(c.underflow, underflow_share(c)),
       {{"underflow", range(c.underflow)}, {"underflow_share", range(underflow_share(c))}});
  line("overflow", share(c.overflow, overflow),
       {{"subnormal", range(c.subnormal)}, {"overflow", range(c.overflow)}, {"overflow_share", range(overflow)}});
  line("scale of",
       r.run.sum().as_recorded ? "the values as recorded: their factor is not known (see --factor)"
                               : "the true gradient",
       {{"scale_of", value_if(known, std::string{r.run.sum().as_recorded ? "recorded" : "true_gradient"})}});
}

std::string text_of(const replay_account& left, const scenario& s) {
  if (std::isnan(left.largest_norm())) return "";
  std::string text = s.clip_value ? fmt::format("; {} elements clamped", to_cell(left.clamped())) : "";
  text += fmt::format("; the largest norm left is {}{:.6g}", left.norm_is_exact() ? "" : "up to ", left.largest_norm());
  if (s.clip_value && !left.clamped().exact() && !s.order.clip_before_unscale)
    text += fmt::format(" (exact with ulp record --edge {})", shortest(s.clip_value->max_value));
  return text;
}

void add_clipping(std::vector<summary_line>& to, const finished_replay& r) {
  const scenario& s = r.what;
  const trajectory_summary& sum = r.run.sum();
  const bool clips = s.clip_norm || s.clip_value;
  const bool unknown = sum.clipping_unknown == sum.steps;
  const replay_account& left = r.run.account();
  const bool clamps = s.clip_value && !std::isnan(left.largest_norm());
  std::string text;
  if (clips && unknown)
    text = s.clip_norm ? "unknown: the input has no norm" : "unknown: the input has no largest gradient";
  else if (clips)
    text =
        fmt::format("{} of {}{}{}{}", grouped(sum.clipped), count_text(sum.steps, "step"),
                    sum.clipping_unknown == 0 ? "" : fmt::format(", unknown for {}", grouped(sum.clipping_unknown)),
                    s.order == step_order{} ? "" : fmt::format(" (in the order {})", r.text.order), text_of(left, s));
  to.push_back(
      {"clipping",
       text,
       {{"clipped_steps", value_if(clips && !unknown, integer(sum.clipped))},
        {"clipping_unknown_steps", value_if(clips, integer(sum.clipping_unknown))},
        {"order", r.text.order.empty() ? std::string{"unscale,check,clip"} : r.text.order},
        {"clamped", clamps ? table_value{left.clamped()} : table_value{unknown_range}},
        {"largest_clipped_norm", value_if(clips, left.largest_norm())},
        {"largest_clipped_norm_exact", value_if(clips && !std::isnan(left.largest_norm()), left.norm_is_exact())}}});
}

void add_doubts(std::vector<summary_line>& to, const finished_replay& r) {
  const trajectory_summary& sum = r.run.sum();
  const std::string schedule = schedule_text(r.run.learning_rates(), sum);
  const std::string uncertain = uncertain_text(sum);
  to.push_back({"uncertain", uncertain.empty() ? "" : "~ " + uncertain, {{"uncertain_steps", integer(sum.uncertain)}}});
  to.push_back({"schedule", schedule, {{"schedule", value_if(!schedule.empty(), schedule)}}});
  to.push_back({"open loop",
                open_loop_text(sum),
                {{"first_diverged_step", step_if(sum.first_divergence)},
                 {"first_diverged_step_certain", value_if(sum.first_divergence.has_value(), sum.divergence_certain)},
                 {"recorded_outcome_known", sum.recorded_outcome_known},
                 {"error", value_if(!sum.error.empty(), sum.error)}}});
}

}  // namespace

std::vector<summary_line> lines_of(const replayed_run& run, const replay_question& asked, const scenario& s) {
  const finished_replay r{asked.what, s, run};
  std::vector<summary_line> all;
  add_policy(all, r);
  add_scales(all, r);
  add_recorded(all, r.run.sum());
  add_counts(all, r);
  add_clipping(all, r);
  add_doubts(all, r);
  return all;
}

}  // namespace ulp
