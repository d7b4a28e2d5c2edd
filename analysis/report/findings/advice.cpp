#include <ulp/report/findings/advice.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <ulp/report/findings/weights_finding.hpp>
#include <variant>

#include "attempts.hpp"
#include "findings.hpp"
#include "summary.hpp"
#include "weights.hpp"

namespace ulp {
namespace {

finding recorded_values() {
  return {.topic = "recorded_values",
          .question = "What do scales multiply here?",
          .conclusion = "the values as recorded, since their factor is not known",
          .evidence = {"if they were recorded under a loss scale, give --factor, or --scalars with --factor scale"},
          .limits = "Findings that need the true gradient are omitted: formats without a scale, clipping.",
          .numbers = {},
          .grade = finding_grade::notable};
}

// Rows of an epoch each, or of as many steps as a line is of, are not called steps, and what one of them says may be a mean.
void say_in_units(advice& all, const std::string& unit) {
  const auto renamed = [&](std::string& text) {
    for (std::size_t at = text.find("step"); at != std::string::npos; at = text.find("step", at + unit.size()))
      if (at == 0 || text[at - 1] == ' ' || text[at - 1] == '(') text.replace(at, 4, unit);
  };
  renamed(all.first.happened);
  renamed(all.first.change);
  if (unit == "line") renamed(all.first.sure);
  if (unit == "line")
    all.first.sure += "; the lines have no step numbers, and each may stand for many steps";
  else
    all.first.sure = hedged(all.first.sure, fmt::format("each row is a whole {}", unit));
  for (finding& f : all.findings) {
    renamed(f.conclusion);
    for (std::string& line : f.evidence) renamed(line);
  }
}

}  // namespace

advice advice_on(const examined_run& run) { return advice_on(run, weights_finding(run.weights)); }

advice advice_on(const examined_run& examined, std::optional<weights_told> updates) {
  const survey& run = examined.judged();
  const survey& whole = examined.whole;
  const survey& shared = examined.shared();
  const std::vector<tensor_info>& tensors = examined.tensors;
  const advice_options& o = examined.options;
  const bool values = examined.has_values();
  const bool maxima = examined.has_maxima();
  const bool is_clipped = std::ranges::any_of(
      examined.found.causes, [](const cause& c) { return std::holds_alternative<recorded_clipped>(c); });
  const window w = window_of(run.steps(), o.how);
  const std::vector<named_kind> kinds = kinds_of(shared, tensors);

  advice all;
  std::vector<weights_told> weights;
  if (std::optional<weights_told> lost = weights_not_finite(run, tensors)) weights.push_back(std::move(*lost));
  if (!updates) updates = unmoved_by_updates(run, tensors, o.configured);
  if (updates) weights.push_back(std::move(*updates));
  const summary_of told(whole, run, tensors, o, examined.found, w, weights);
  const scaling_kind scaling = o.scaling();
  for (const finding& f : told.causes()) all.findings.push_back(f);
  const auto is_well = [](const weights_told& of) { return of.about.grade == finding_grade::fine; };
  for (const weights_told& of : weights)
    if (!is_well(of)) all.findings.push_back(of.about);
  if (std::optional<finding> first = which_overflow_first(whole, tensors, o)) all.findings.push_back(std::move(*first));
  std::optional<best_trial> best;
  if (!examined.died_at_once() && (values || maxima)) {
    if (run.as_recorded()) all.findings.push_back(recorded_values());
    if (values && !run.as_recorded()) all.findings.push_back(which_format(shared, run.steps(), kinds, o));
    if (maxima && !is_clipped && (scaling == scaling_kind::run || scaling == scaling_kind::none))
      all.findings.push_back(which_scale(shared, kinds, sets_that_matter(shared, tensors), w, o, values));
    if (maxima && !is_clipped && scaling == scaling_kind::run)
      all.findings.push_back(which_policy(run, tensors, examined.trials, examined.tried, best));
    for (finding& f : which_tensor_scales(examined.fp8, tensors)) all.findings.push_back(std::move(f));
    if (values) {
      constexpr int usual = 16;
      const int scale_log2 = scaling == scaling_kind::run ? std::min(w.largest_usual_safe().value_or(usual), usual) : 0;
      std::vector<compared_sets> sets{{sets_by_tensor(shared, tensors), "tensor"}};
      if (!o.groups.empty()) sets.push_back({sets_by_group(shared, tensors, o.groups), "group"});
      if (scaling == scaling_kind::run || scaling == scaling_kind::none)
        for (const compared_sets& of : sets) all.findings.push_back(which_lose_most(shared, of, scale_log2, o));
      if (!run.as_recorded() && !is_clipped &&
          std::ranges::any_of(run.steps(), [](const step_survey& s) { return std::isfinite(s.norm); }))
        all.findings.push_back(which_clipping(shared, o));
      if (scaling == scaling_kind::run)
        for (const compared_sets& of : sets) all.findings.push_back(which_need_own_scale(shared, of, w, o));
    }
    // What happened tells more than that there is nothing of the kind.
    finding beyond = what_scaling_cannot_help(shared, tensors, w, o);
    if (!beyond.evidence.empty() || !told.has_cause()) all.findings.push_back(std::move(beyond));
  } else if (std::optional<finding> shown = what_log_shows(whole)) {
    all.findings.push_back(std::move(*shown));
  } else if (std::ranges::any_of(whole.steps(), &step_survey::known)) {
    all.findings.push_back({.topic = "nothing",
                            .question = "What does the run need?",
                            .conclusion = "it holds no finite nonzero gradient, so there is nothing to judge",
                            .grade = finding_grade::notable});
  }
  if (examined.blocks)
    for (finding& f : which_blocks(*examined.blocks)) all.findings.push_back(std::move(f));
  for (const weights_told& of : weights)
    if (is_well(of)) all.findings.push_back(of.about);
  std::optional<fp8_choice_told> recipe = tell_recipe(examined.fp8, tensors, o.configured.framework);
  if (o.in_blocks && examined.blocks) recipe = tell_block_recipe(*examined.blocks, o.configured.framework);
  all.first = told.summary(best, recipe);
  say_what_was_replaced(all, examined.attempts, tensors, o);
  all.thresholds = fmt::format(
      "A finding stands out where underflow takes more than {} of the magnitude (more than {} of a tensor is "
      "trouble), where more than one step in {} overflows, where no 16-bit format or static scale suffices, or where "
      "one of the known causes of trouble is found.",
      percent(o.epsilon), percent(much_of_a_tensor), steps_for_a_skip);
  if (o.row_unit != "step") say_in_units(all, o.row_unit);
  if (examined.less) all.first.left_out_from = examined.found.died_at;
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

}  // namespace ulp
