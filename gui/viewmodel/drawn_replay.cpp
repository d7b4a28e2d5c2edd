#include "drawn_replay.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <stdexcept>

#include <ulp/ask/progress/listener.hpp>
#include <ulp/ask/reading/run_notes.hpp>
#include <ulp/ask/runs/replay_answer.hpp>
#include <ulp/model/machines/fitted_scaler.hpp>
#include <ulp/model/machines/policy_probe.hpp>
#include <ulp/report/tables/trajectory_table.hpp>

namespace ulp::gui {
namespace {

replay_question question_of(const loaded_run& run, const scenario_text& spec) {
  return {.run = run.text, .what = spec, .own = {}, .look = first_look::no};  // it was looked at when it was opened
}

void add_series(drawn_replay& to, listener& hears) {
  work drawing(hears, "series", 6);
  const auto extremes_of = [&](double of(const replay_step&)) {
    drawing.advance();
    return series_extremes(to.steps.size(), [&](std::size_t i) { return of(to.steps[i]); });
  };
  to.scales_used = extremes_of(used_scale);
  to.scales = extremes_of(log2_scale);
  to.critical = extremes_of(log2_critical);
  to.clip_measures = extremes_of(log2_clip_measure);
  to.scale_is_open =
      std::ranges::any_of(to.steps, [](const replay_step& s) { return s.may_have_used.low < s.may_have_used.high; });
  if (!to.scale_is_open) return;
  to.least_scales = extremes_of(log2_least);
  to.greatest_scales = extremes_of(log2_greatest);
}

void add_clipping(drawn_replay& to, const scenario& s) {
  std::vector<double> measures;
  for (const replay_step& one : to.steps) {
    measures.push_back(one.clip_measure);
    if (std::isinf(one.clip_measure)) to.unbounded.push_back(one.step);
    if (one.clipped) to.clipped.push_back(one.step);
  }
  to.rates = clip_rates(s.clip_value ? clip_rates::compares::value : clip_rates::compares::norm, measures);
}

void add_limits(drawn_replay& to, const scaler& by) {
  to.per_layer = by.scope() == machine_scope::tensor;
  if (!to.per_layer) {
    to.floor = floor_of(by);
    to.ceiling = ceiling_of(by);
  }
  for (const replay_step& one : to.steps) {
    if (one.skipped) to.skipped.push_back(one.step);
    if (to.floor > 0 && one.scale_used <= to.floor) ++to.at_floor;
    if (to.ceiling && one.scale_used >= *to.ceiling) ++to.at_ceiling;
  }
}

}  // namespace

double log2_or_gap(double x) { return x > 0 && std::isfinite(x) ? std::log2(x) : not_known; }

double scale_at(std::int64_t step, std::optional<int> tried, const drawn_replay* replay) {
  if (tried) return std::ldexp(1.0, *tried);
  if (replay == nullptr || replay->steps.empty()) return 1;
  const auto after = std::ranges::upper_bound(replay->steps, step, {}, &replay_step::step);
  return after == replay->steps.begin() ? replay->steps.front().scale_used : std::prev(after)->scale_used;
}

namespace {

// Empty where they are not known in a row.
std::vector<scaled_step> logged_scales(const loaded_run& run) {
  std::vector<scaled_step> all;
  const pictured_step* before = nullptr;
  for (const pictured_step& s : run.picture.steps()) {
    const bool follows = before == nullptr || s.key.step == before->key.step + 1;
    if (!follows || std::isnan(s.scalars.loss_scale)) return {};
    std::optional<bool> overflowed = s.scalars.found_inf;
    if (!overflowed && s.scalars.applied) overflowed = !*s.scalars.applied;
    if (!overflowed && s.known && !std::isfinite(s.max_abs)) overflowed = true;
    all.push_back({s.scalars.loss_scale, overflowed});
    before = &s;
  }
  return all;
}

}  // namespace

scenario_text with_own_scaler(scenario_text chosen, const loaded_run& run) {
  if (!chosen.scaler.empty()) return chosen;
  const scenario_text usual = usual_scenario();
  chosen.scaler = usual.scaler;
  if (chosen.format.empty()) chosen.format = usual.format;
  const std::vector<scaled_step> scales = logged_scales(run);
  if (scales.empty()) return chosen;
  if (const std::optional<fitted_scaler> own = fit_scaler(scales)) {
    chosen.scaler = own->name;
    for (const auto& [name, value] : own->parameters) set_parameter(chosen, name, to_string(value));
  } else if (const double first = scales.front().scale; first > 0 && std::isfinite(first)) {
    set_parameter(chosen, "init_scale", to_string(parameter_value{first}));
  }
  return chosen;
}

scenario_text usual_scenario() { return {.scaler = "pytorch_gradscaler", .format = "float16"}; }

std::shared_ptr<const drawn_replay> replay_run(const loaded_run& run, const scenario_text& spec, listener& to) {
  if (run.amaxes_only)
    throw std::invalid_argument("Amaxes alone are known, which tell a loss scaler nothing: Tensor scales shows them.");
  const replay_question asked = question_of(run, spec);
  const scenario s = scenario_of(spec, run.text);
  const auto drawn = std::make_shared<drawn_replay>();
  if (run.picture.steps().empty()) {  // as a note of the run says; one that is being recorded may have some soon
    add_limits(*drawn, s.recipe.machine());
    return drawn;
  }
  drawn->steps.reserve(run.picture.steps().size());
  work parts(to, "", 2);
  kept_lines lines(to);
  const replayed_run all = replay_over(asked, s, lines, {.of_rows = [&](const trajectory_row& row) {
                                         drawn->steps.push_back(drawn_of(row));
                                         if (row.clamped)
                                           (drawn->clamped ? *drawn->clamped : drawn->clamped.emplace()) +=
                                               *row.clamped;
                                       }});
  drawn->summary = all.sum();
  drawn->notes = without(lines.notes(), run.notes);
  drawn->warnings = without(lines.warnings(), run.warnings);
  drawn->lines = lines_of(all, asked, s);
  drawn->told_nothing = all.told_nothing();
  drawn->checked = rule_text(all.choice());
  parts.advance();
  add_series(*drawn, to);
  add_clipping(*drawn, s);
  add_limits(*drawn, s.recipe.machine());
  return drawn;
}

table replayed_table(const loaded_run& run, const scenario_text& spec, listener& to) {
  const scenario s = scenario_of(spec, run.text);
  if (run.picture.steps().empty()) return trajectory_table({}, s, {});
  std::vector<trajectory_row> rows;
  const replayed_run all =
      replay_over(question_of(run, spec), s, to, {.of_rows = [&](const trajectory_row& row) { rows.push_back(row); }});
  return trajectory_table(rows, s, all.sum());
}

}  // namespace ulp::gui
