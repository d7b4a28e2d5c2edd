#include <ulp/ask/runs/page_answer.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <ulp/ask/reading/reading.hpp>
#include <utility>

namespace ulp {

page_question page_about(const run_text& run, const scenario_text& what, const std::vector<std::string>& scalers,
                         const std::optional<configuration>& own, const std::string& epsilon) {
  const std::vector<std::string> usual{"pytorch_gradscaler"};
  page_question asked{.run = run, .policies = {}, .epsilon = epsilon, .configured = {}};
  asked.policies = under_each(what, scalers.empty() && !own ? usual : scalers, own);
  for (scenario_text& policy : asked.policies)
    if (policy.format.empty()) policy.format = "float16";
  if (own) asked.configured = own_configuration_of(own->said);
  return asked;
}

std::vector<page_reading::replayed> page_reading::replays_of(const page_question& asked) {
  run_text run = asked.run;
  run.groups.clear();  // the page tells no norms of groups
  std::vector<replayed> all;
  for (const scenario_text& text : asked.policies) {
    const scenario s = scenario_of(text, run);
    all.push_back({{.text = text, .what = s, .sum = {}, .scales = {}, .warnings = {}},
                   replayer(s),
                   trajectory_watch(s.recipe.machine())});
  }
  return all;
}

advice_options page_reading::options_of_advice() const {
  const page_replay& first = replays_.front().page;
  advice_options o = advice_options_of(first.text.format, first.text.rounding, asked_.epsilon, asked_.run);
  o.configured =
      asked_.configured.value_or(own_configuration{.framework = std::string{first.what.recipe.machine().entry().name}});
  return o;
}

page_reading::page_reading(page_question asked)
    : asked_(std::move(asked)),
      replays_(replays_of(asked_)),
      examination_(options_of_advice(), counted(), replays_.front().page.what.checked) {}

void page_reading::add_logged(const step& now) {
  logged_values& logged = logged_.at_step(now.key.step);
  logged.loss.add(now.scalars.loss);
  logged.learning_rate.add(now.scalars.learning_rate);
  logged.norm.add(now.scalars.grad_norm);
  if (now.scalars.loss_scale > 0) logged.log2_scale.add(std::log2(now.scalars.loss_scale));
  if (now.scalars.found_inf.value_or(false)) ++logged.overflowed;
  const bool tells_lost =
      !seen().steps().empty() && seen().steps().back().key == now.key && seen().steps().back().loss_is_lost;
  if (tells_lost || now.scalars.loss_is_nan) ++logged.losses_lost;
}

void page_reading::advance(replayed& one, const step& now, const std::vector<tensor_info>& tensors,
                           tensor_losses* losses) {
  scale_extremes& scales = one.page.scales.at_step(now.key.step);
  if (one.over) return;
  outcomes_.clear();
  const trajectory_row row = one.replay.advance(now, tensors, losses != nullptr ? &outcomes_ : nullptr);
  if (row.lacks_input) throw std::invalid_argument(fmt::format("{}: {}", one.page.text.scaler, row.error));
  one.page.sum.add(row);
  scales.add(row);
  one.watch.add(row);
  one.over = !row.error.empty();
  if (losses == nullptr) return;
  for (const tensor_outcome& t : outcomes_) losses->add(t);
}

void page_reading::add(const step& now, const std::vector<tensor_info>& tensors) {
  notes_.see(now, tensors);
  examination_.add(now, tensors);
  // Columns of all pictures are the same steps, with tensors or without.
  add_logged(now);
  binade_counts& binades = binades_.at_step(now.key.step);
  for (const tensor_row& t : now.tensors)
    if (seen().choice()[t.tensor].counted) binades.add(t.table, t.factor);
  tensor_losses& losses = losses_.at_step(now.key.step);
  for (replayed& r : replays_) advance(r, now, tensors, &r == &replays_.front() ? &losses : nullptr);
}

// Each once, however many policies it is true of.
std::vector<std::string> page_reading::lines(const examined_run& run, const std::vector<tensor_set>& sets) const {
  std::vector<std::string> all;
  const auto add = [&](const std::vector<std::string>& lines) {
    for (const std::string& line : lines)
      if (std::ranges::find(all, line) == all.end()) all.push_back(line);
  };
  for (const replayed& r : replays_) add(policy_notes(r.page.what, r.page.text.format));
  add(notes_.lines(run.whole.choice(), asked_.run));
  if (run.whole.as_recorded()) add({factor_note});
  add(group_notes(sets));
  return all;
}

page_answer page_reading::result(const std::vector<tensor_info>& tensors, std::optional<kept_weights> weights) {
  examined_run run = examination_.result(tensors, std::move(weights));
  std::vector<tensor_set> sets = run.options.groups.empty() ? sets_by_kind(run.shared(), tensors)
                                                            : sets_by_group(run.shared(), tensors, run.options.groups);
  std::vector<std::string> notes = lines(run, sets);
  std::vector<page_replay> replays;
  for (replayed& r : replays_) {
    r.page.warnings = r.watch.warnings();
    replays.push_back(std::move(r.page));
  }
  return {.asked = std::move(asked_),
          .examined = std::move(run),
          .replays = std::move(replays),
          .logged = std::move(logged_),
          .binades = std::move(binades_),
          .losses = std::move(losses_),
          .sets = std::move(sets),
          .notes = std::move(notes)};
}

page_answer page_over(const page_question& asked, listener& to) {
  page_reading reading(asked);
  const std::unique_ptr<source> from = open_run(asked.run, asked.run.how_to_read(), to);
  reading.take_words_of(*from);
  check_tensors_exist(asked.policies.front().check, *from);
  for_each_step(*from, reading.counted(), to, [&](const step& now) { reading.add(now, from->tensors()); });
  check_steps_counted(reading.seen().steps().size(), asked.run);
  check_tensors_counted(reading.seen().choice(), *from, asked.run);
  if (const std::unique_ptr<source> twice = open_run_again(asked.run))
    if (const std::optional<selection> less = reading.again(from->tensors()))
      for_each_step(*twice, *less, to, [&](const step& now) { reading.add_again(now, from->tensors()); });
  page_answer answer = reading.result(from->tensors(), kept_weights_of(asked.run, reading.configured()));
  answer.examined.blocks = advice_on_blocks(asked.run, std::nullopt, answer.examined);
  return answer;
}

}  // namespace ulp
