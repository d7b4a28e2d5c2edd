#include <ulp/report/page/page.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <ulp/ask/questions/command_text.hpp>
#include <ulp/ask/questions/typed_values.hpp>
#include <ulp/report/findings/weights_finding.hpp>
#include <ulp/report/tables/format_matrix.hpp>
#include <ulp/report/tables/usual_formats.hpp>
#include <utility>
#include <variant>

namespace ulp {
namespace {

constexpr std::size_t inputs_shown = 3;

// "a.npz", "a.npz and 199 more files".
std::string input_text(const std::vector<std::string>& inputs) {
  return inputs.front() + (inputs.size() > 1 ? " and " + count_text(inputs.size() - 1, "more file") : "");
}

std::string set_parameters_of(const scaler& of) {
  std::string text;
  for (const scaler_parameter& p : of.parameters())
    if (!std::holds_alternative<std::monostate>(p.value))
      text += (text.empty() ? "" : " ") + p.name + "=" + to_string(p.value);
  return text;
}

}  // namespace

std::vector<page_maker::replayed> page_maker::replays_of(const page_question& asked) {
  run_text run = asked.run;
  run.groups.clear();  // the page tells no norms of groups
  std::vector<replayed> all;
  for (const scenario_text& text : asked.policies) {
    const scenario s = scenario_of(text, run);
    all.push_back({text, s, replayer(s), trajectory_watch(s.recipe.machine()), {}});
    all.back().page.name = s.recipe.machine().entry().name;
    all.back().page.parameters = set_parameters_of(s.recipe.machine());
  }
  return all;
}

advice_options page_maker::options_of_advice() const {
  const scenario_text& first = replays_.front().text;
  advice_options o = advice_options_of(first.format, first.rounding, asked_.epsilon, asked_.run);
  o.configured = asked_.configured.value_or(own_configuration{.framework = replays_.front().page.name});
  return o;
}

page_maker::page_maker(page_question asked)
    : asked_(std::move(asked)),
      replays_(replays_of(asked_)),
      advice_(options_of_advice(), counted(), replays_.front().what.checked) {
  const replayed& first = replays_.front();
  page_.input = input_text(asked_.run.inputs);
  page_.format_name = first.text.format;
  page_.format = first.what.recipe.usual().format;
  page_.rounding = first.what.recipe.usual().rounding;
  if (first.what.clip_norm) page_.clip_norm = first.what.clip_norm->max_norm;
}

void page_maker::add(const step& now, const std::vector<tensor_info>& tensors) {
  notes_.see(now, tensors);
  advice_.add(now, tensors);
  // Columns of all pictures are the same steps, with tensors or without.
  logged_values& logged = page_.logged.at_step(now.key.step);
  logged.loss.add(now.scalars.loss);
  logged.learning_rate.add(now.scalars.learning_rate);
  logged.norm.add(now.scalars.grad_norm);
  if (now.scalars.loss_scale > 0) logged.log2_scale.add(std::log2(now.scalars.loss_scale));
  if (now.scalars.found_inf.value_or(false)) ++logged.overflowed;
  const bool tells_lost =
      !seen().steps().empty() && seen().steps().back().key == now.key && seen().steps().back().loss_is_lost;
  if (tells_lost || now.scalars.loss_is_nan) ++logged.losses_lost;
  binade_counts& binades = page_.binades.at_step(now.key.step);
  for (const tensor_row& t : now.tensors)
    if (seen().choice()[t.tensor].counted) binades.add(t.table, t.factor);
  tensor_losses& losses = page_.losses.at_step(now.key.step);
  for (replayed& r : replays_) {
    if (r.over) {
      r.page.scales.at_step(now.key.step);
      continue;
    }
    outcomes_.clear();
    const bool is_first = &r == &replays_.front();
    const trajectory_row row = r.replay.advance(now, tensors, is_first ? &outcomes_ : nullptr);
    if (row.lacks_input) throw std::invalid_argument(fmt::format("{}: {}", r.text.scaler, row.error));
    r.page.sum.add(row);
    r.page.scales.at_step(now.key.step).add(row);
    r.watch.add(row);
    r.over = !row.error.empty();
    if (!is_first) continue;
    for (const tensor_outcome& t : outcomes_) losses.add(t);
  }
}

report_page page_maker::page(const std::vector<tensor_info>& tensors) {
  const advice_options& how = advice_.options();
  page_.tensors = tensors;
  page_.steps = seen().steps().size();
  advice given = advice_.result(tensors, weights_finding(asked_.run, how.configured));
  page_.first = std::move(given.first);
  page_.findings = std::move(given.findings);
  const bool by_group = !how.groups.empty();
  const std::vector<tensor_set> sets =
      by_group ? sets_by_group(advice_.judged(), tensors, how.groups) : sets_by_kind(advice_.judged(), tensors);
  page_.matrix = set_format_matrix(advice_.judged(), sets, by_group ? "group" : "kind", replays_.front().text.rounding);
  // Each once, however many policies it is true of.
  const auto add_notes = [&](std::vector<std::string> lines) {
    for (std::string& line : lines)
      if (std::ranges::find(page_.notes, line) == page_.notes.end()) page_.notes.push_back(std::move(line));
  };
  for (const replayed& r : replays_) add_notes(policy_notes(r.what, r.text.format));
  add_notes(notes_.lines(seen().choice()));
  if (seen().as_recorded()) add_notes({factor_note});
  add_notes(group_notes(sets));
  add_commands(page_);
  for (replayed& r : replays_) {
    r.page.warnings = r.watch.warnings();
    page_.replays.push_back(std::move(r.page));
  }
  return std::move(page_);
}

void page_maker::add_commands(report_page& to) const {
  run_text run = asked_.run;
  run.groups.clear();
  const auto add = [&](const char* command, const std::string& options) {
    const auto text = [&](std::size_t inputs) {
      return fmt::format("ulp {} {}{}", command, command_words(run, inputs), options);
    };
    const std::size_t all = run.inputs.size();
    to.commands.push_back({text(all), all > inputs_shown ? text(inputs_shown) : ""});
  };
  for (const replayed& r : replays_) add("replay", arguments_of(r.text));
  const scenario_text& first = replays_.front().text;
  const std::string rounded = arguments_of(first.rounding);
  const std::string grouping = group_words(asked_.run);
  if (!to.findings.empty())
    add("advise", option_text("--format", first.format) + option_text("--epsilon", asked_.epsilon) + rounded +
                      (first.check.empty() ? "" : option_text("--check", first.check)) + grouping);
  if (!to.matrix.rows.empty())
    add("outcomes", fmt::format(" --format {} --by {}{}{}", fmt::join(usual_formats(format_room::few), ","),
                                grouping.empty() ? "kind" : "group", grouping, rounded));
}

}  // namespace ulp
