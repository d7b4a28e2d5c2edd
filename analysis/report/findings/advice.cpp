#include <ulp/report/findings/advice.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <ulp/ask/questions/typed_values.hpp>

#include "findings.hpp"
#include "summary.hpp"
#include "weights.hpp"

namespace ulp {
namespace {

bool has_values(const survey& run) {
  return std::ranges::any_of(run.tensors(), [](const tensor_survey& t) { return t.counted && t.max_abs > 0; });
}

bool has_maxima(const survey& run) {
  return std::ranges::any_of(run.steps(),
                             [](const step_survey& s) { return std::isfinite(s.max_abs) && s.max_abs > 0; });
}

finding recorded_values() {
  return {.topic = "recorded_values",
          .question = "What do scales multiply here?",
          .conclusion = "the values as recorded, since their factor is not known",
          .evidence = {"if they were recorded under a loss scale, give --factor, or --scalars with --factor scale"},
          .limits = "Findings that need the true gradient are omitted: formats without a scale, clipping.",
          .numbers = {},
          .grade = finding_grade::notable};
}

}  // namespace

own_configuration own_configuration_of(const imported_config& said) {
  return {said.framework, said.format.value_or(""), said.scaler == "static", said.weights_kept_in,
          said.weights_stochastic};
}

advice_options advice_options_of(const std::string& format, const rounding_text& rounding, const std::string& epsilon,
                                 const run_text& run) {
  advice_options o{.format_name = format, .format = value_format_named(format), .typed = rounding};
  o.rounding = rounding.value(o.format);
  if (o.rounding.direction == direction::stochastic)
    throw std::invalid_argument(
        "--rounding: advice and reports need a deterministic rounding; for stochastic rounding see ulp outcomes");
  o.epsilon = positive_number(epsilon, "--epsilon");
  if (!(o.epsilon < 1)) throw std::invalid_argument("--epsilon: a share below 1, such as 1e-5");
  o.groups = run.named_groups();
  return o;
}

adviser::adviser(advice_options options, selection counted, name_predicate checked)
    : options_(std::move(options)),
      counted_(std::move(counted)),
      checked_(std::move(checked)),
      scenarios_(scaler_trials(options_, counted_, checked_)),
      whole_(counted_, checked_),
      trials_(std::in_place, scenarios_) {}

void adviser::add(const step& now, const std::vector<tensor_info>& tensors) {
  whole_.add(now, tensors);
  trials_->add(now, tensors);
}

std::optional<selection> adviser::again(const std::vector<tensor_info>& tensors) {
  found_ = diagnosis_of(whole_, tensors);
  if (!found_->died_at || *found_->died_at == whole_.steps().front().key.step) return std::nullopt;
  selection less = counted_;
  less.end_step = *found_->died_at;
  less_.emplace(less, checked_);
  trials_.emplace(scenarios_);
  return less;
}

void adviser::add_again(const step& now, const std::vector<tensor_info>& tensors) {
  less_->add(now, tensors);
  trials_->add(now, tensors);
}

advice adviser::result(const std::vector<tensor_info>& tensors, std::optional<weights_told> updates) {
  if (!found_) found_ = diagnosis_of(whole_, tensors);
  const survey& run = judged();
  const advice_options& o = options_;
  const bool values = has_values(run);
  const bool maxima = has_maxima(run);
  const window w = window_of(run.steps(), {o.format, o.rounding});
  const std::vector<named_kind> kinds = kinds_of(run, tensors);
  const bool died_at_once = found_->died_at && *found_->died_at == whole_.steps().front().key.step;

  advice all;
  std::vector<weights_told> weights;
  if (std::optional<weights_told> lost = weights_not_finite(run, tensors)) weights.push_back(std::move(*lost));
  if (!updates) updates = unmoved_by_updates(run, tensors, o.configured);
  if (updates) weights.push_back(std::move(*updates));
  const summary_of told(whole_, run, tensors, o, *found_, w, weights);
  for (const finding& f : told.causes()) all.findings.push_back(f);
  const auto is_well = [](const weights_told& of) { return of.about.grade == finding_grade::fine; };
  for (const weights_told& of : weights)
    if (!is_well(of)) all.findings.push_back(of.about);
  std::optional<best_trial> best;
  if (!died_at_once && (values || maxima)) {
    if (run.as_recorded()) all.findings.push_back(recorded_values());
    if (values && !run.as_recorded()) all.findings.push_back(which_format(run, kinds, o));
    if (maxima) {
      all.findings.push_back(which_scale(run, kinds, w, o, values));
      all.findings.push_back(which_policy(run, scenarios_, trials_->results(), best));
    }
    if (values) {
      constexpr int usual = 16;
      const int scale_log2 = std::min(w.largest_safe().value_or(usual), usual);
      std::vector<compared_sets> sets{{sets_by_tensor(run, tensors), "tensor"}};
      if (!o.groups.empty()) sets.push_back({sets_by_group(run, tensors, o.groups), "group"});
      for (const compared_sets& of : sets) all.findings.push_back(which_lose_most(run, of, scale_log2, o));
      if (!run.as_recorded() &&
          std::ranges::any_of(run.steps(), [](const step_survey& s) { return std::isfinite(s.norm); }))
        all.findings.push_back(which_clipping(run));
      for (const compared_sets& of : sets) all.findings.push_back(which_need_own_scale(run, of, w, o));
    }
    // What happened tells more than that there is nothing of the kind.
    finding beyond = what_scaling_cannot_help(run, tensors, w, o);
    if (!beyond.evidence.empty() || !told.has_cause()) all.findings.push_back(std::move(beyond));
  } else if (std::optional<finding> shown = what_log_shows(whole_)) {
    all.findings.push_back(std::move(*shown));
  } else if (std::ranges::any_of(whole_.steps(), &step_survey::known)) {
    all.findings.push_back({.topic = "nothing",
                            .question = "What does the run need?",
                            .conclusion = "it holds no finite nonzero gradient, so there is nothing to judge",
                            .grade = finding_grade::notable});
  }
  for (const weights_told& of : weights)
    if (is_well(of)) all.findings.push_back(of.about);
  all.first = told.summary(best);
  all.thresholds = fmt::format(
      "A finding stands out where underflow takes more than {} of the magnitude (more than {} of a tensor is "
      "trouble), where more than one step in {} overflows, where no 16-bit format or static scale suffices, or where "
      "one of the known causes of trouble is found.",
      percent(o.epsilon), percent(much_of_a_tensor), steps_for_a_skip);
  if (less_) all.first.left_out_from = found_->died_at;
  return all;
}

bool advice::all_clear() const noexcept {
  return first.grade == finding_grade::fine &&
         std::ranges::all_of(findings, [](const finding& f) { return f.grade == finding_grade::fine; });
}

finding finding_of(const advice_summary& first) {
  finding f{.topic = "summary", .question = "What happened, and what to change?", .conclusion = first.happened};
  f.grade = first.grade;
  f.evidence.push_back("change: " + first.change);
  for (const std::string& line : first.lines) f.evidence.push_back("  " + line);
  f.evidence.push_back("how sure: " + first.sure);
  f.numbers = {{"cause", first.cause},
               {"happened", first.happened},
               {"change", first.change},
               {"configuration", fmt::format("{}", fmt::join(first.lines, "\n"))},
               {"sure", first.sure},
               {"left_out_from", first.left_out_from ? table_value{*first.left_out_from} : table_value{}}};
  return f;
}

}  // namespace ulp
