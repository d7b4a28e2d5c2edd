#include <ulp/ask/runs/outcome_answer.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <ulp/ask/questions/number_text.hpp>
#include <ulp/ask/questions/typed_values.hpp>
#include <ulp/ask/reading/lost_end.hpp>
#include <ulp/ask/reading/reading.hpp>
#include <ulp/ask/reading/repeated_steps.hpp>
#include <ulp/ask/reading/run_notes.hpp>
#include <ulp/io/source/source.hpp>
#include <ulp/model/outcomes/row_outcomes.hpp>
#include <ulp/model/recipe/scaling.hpp>
#include <ulp/model/replay/recording_doubts.hpp>

#include "outcome_keys.hpp"

namespace ulp {
namespace {

std::vector<outcome_case> questions_of(const outcome_question& o) {
  std::vector<outcome_case> all;
  for (const std::string& name : o.formats)
    for (const std::string& scale : o.scales)
      all.push_back({treatment_of(name, o.rounding), positive_number(scale, "--scale")});
  return all;
}

void add(outcome_totals& to, const tensor_row& row, const outcome_case& q, double factor, bool is_scaled) {
  const multiplier by{.scale = is_scaled ? q.scale : 1, .factor = factor};
  to.counts += outcomes_of(row, q.how, by);
  to.lost += lost_to_underflow(row, q.how, by);
  to.noise += noise_of(row, q.how, by);
  if (q.is_drawn()) to.expected += expected_outcomes_of(row, q.how, by);
}

void add(counted_outcomes& to, const tensor_row& row, const tensor_info& info, const step_key& key, bool as_recorded) {
  const bool known = !as_recorded && !std::isnan(row.factor);
  // What is no gradient has no loss scale, whatever is asked; --as-recorded multiplies everything.
  const bool is_scaled = as_recorded || ulp::is_scaled(info);
  (!is_scaled ? to.unit.unscaled : known ? to.unit.true_gradient : to.unit.recorded) = true;
  outcome_group& sums = to.groups[outcome_key_of(to, row, info, key)];
  sums.mixed_kinds = !sums.steps.empty() && (sums.mixed_kinds || sums.kind != info.kind);
  sums.kind = info.kind;
  sums.steps.insert(key.step);
  sums.of.resize(to.questions.size());
  const double factor = known ? row.factor : 1;
  // float16 loses gradients that the other types of dumps hold.
  if (row.type == dtype::float16 || !info.through.empty()) sums.censored += row.table.zeros;
  const value_range magnitudes = magnitudes_bounds(row.table);
  sums.magnitudes += {magnitudes.low / factor, magnitudes.high / factor};
  sums.squares += squares_sum(row.table).value / factor / factor;
  for (std::size_t q = 0; q < to.questions.size(); ++q) add(sums.of[q], row, to.questions[q], factor, is_scaled);
}

}  // namespace

bool counted_outcomes::is_by(const char* what) const { return std::ranges::find(by, what) != by.end(); }

bool counted_outcomes::one_rounding() const {
  return std::ranges::all_of(questions,
                             [&](const outcome_case& q) { return q.how.rounding == questions.front().how.rounding; });
}

outcome_answer outcomes_over(const outcome_question& o, listener& to,
                             const std::function<void(const counted_outcomes&)>& look) {
  outcome_answer answer;
  counted_outcomes& all = answer.counted;
  all = {.by = o.by,
         .questions = questions_of(o),
         .many_formats = o.formats.size() > 1,
         .many_scales = o.scales.size() > 1,
         .named = o.run.named_groups()};
  const selection selected = o.run.selected();
  check_named_groups(all);
  if (look) look(all);
  source_options how = o.run.how_to_read();
  how.with_errors = true;  // dumps are read again anyway
  const std::unique_ptr<source> from = open_run(o.run, how, to);

  std::uint64_t steps = 0;
  repeated_steps repeated;
  recording_doubts doubts;
  lost_end end;
  for_each_step(*from, selected, to, [&](const step& now) {
    ++steps;
    repeated.see(now.key, now.scalars);
    doubts.see(now, from->tensors());
    end.see(now);
    for (const tensor_row& row : now.tensors)
      if (const tensor_info& info = from->tensors()[row.tensor]; selected.takes(info))
        add(all, row, info, now.key, o.as_recorded);
  });
  check_steps_counted(steps, o.run);
  if (all.groups.empty())
    throw std::invalid_argument(
        o.run.inputs.front() + ": has no values of the selected tensors" +
        (from->tensors().empty() ? " (a step log has none)" : near_tensors(o.run.tensor, *from)));

  for (const std::string& line : repeated.lines(o.run)) to.note(line);
  for (const std::string& line : doubts.lines()) to.note(line);
  for (const std::string& line : end.lines()) to.note(line);
  for (const std::string& line : group_notes(all.named, from->tensors(), selected)) to.note(line);
  std::uint64_t censored = 0;
  for (const auto& [key, counts] : all.groups) censored += counts.censored;
  if (censored > 0)
    to.note(fmt::format(
        "{} zeros may have underflowed before recording: their values had already been rounded to a narrow format",
        grouped(censored)));
  answer.tensors = from->tensors();
  return answer;
}

}  // namespace ulp
