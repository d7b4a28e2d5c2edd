#include "attempts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <variant>

#include "findings.hpp"
#include "told.hpp"

namespace ulp {
namespace {

// Whether somebody would go back to an earlier step for it; what a scaler handles, and what only stands out, is none.
bool is_grave(const cause& c) {
  constexpr std::uint64_t several = 5;  // in a row, with which it ended
  if (const auto* const batch = std::get_if<bad_batch>(&c)) return !batch->is_finite || batch->ends_the_run;
  if (const auto* const open = std::get_if<open_overflow>(&c)) return open->lost.steps >= several;
  if (const auto* const floor = std::get_if<scale_at_floor>(&c)) return floor->is_too_high;
  return std::holds_alternative<divergence>(c) || std::holds_alternative<forward_overflow>(c) ||
         std::holds_alternative<unhandled_overflow>(c) || std::holds_alternative<nan_source>(c) ||
         std::holds_alternative<collapsed_scale>(c) || std::holds_alternative<zero_gradients>(c);
}

std::int64_t last_step_of(const told& t) {
  const auto& all = t.numbers.all;
  const auto found = std::ranges::find(all, "last_step", &named_value::name);
  const auto* const step = found == all.end() ? nullptr : std::get_if<std::int64_t>(&found->value);
  return step == nullptr ? 0 : *step;
}

// The first cause of a trouble that lies in what was replaced.
std::optional<told> trouble_of(const examined_attempt& attempt, const std::vector<tensor_info>& tensors,
                               const advice_options& options) {
  const telling about{.tensors = tensors,
                      .options = options,
                      .steps = attempt.found.told_steps,
                      .all_steps = attempt.all_steps,
                      .has_tensors = false,
                      .safe_log2 = {},
                      .is_replaced = true};
  for (const cause& c : attempt.found.causes) {
    if (!is_grave(c)) continue;
    told t = tell(c, about);
    if (last_step_of(t) > attempt.from) return t;
  }
  const std::optional<loss_rise>& rise = attempt.found.rise;
  if (!rise || rise->step <= attempt.from) return std::nullopt;
  told t;
  t.happened = fmt::format("the loss rose from {} to {} from step {} on and did not come back",
                           loss_number(rise->before), loss_number(rise->after), rise->step);
  t.change = fmt::format("look at what changed by step {}", rise->step);
  t.sure = "the loss is as logged";
  return t;
}

std::string steps_of(const examined_attempt& attempt) { return places_text(attempt.from + 1, attempt.last_step); }

}  // namespace

void say_what_was_replaced(advice& all, const std::vector<examined_attempt>& attempts,
                           const std::vector<tensor_info>& tensors, const advice_options& options) {
  const examined_attempt* first = nullptr;
  std::optional<told> trouble;
  std::uint64_t more = 0;
  for (const examined_attempt& attempt : attempts) {
    std::optional<told> t = trouble_of(attempt, tensors, options);
    if (!t) continue;
    all.findings.push_back({.topic = "replaced",
                            .question = "What had gone wrong before it was done again?",
                            .conclusion = fmt::format("in {}, which were done again from step {} on: {}",
                                                      steps_of(attempt), attempt.from, t->happened),
                            .evidence = {"how sure: " + t->sure},
                            .limits = {},
                            .numbers = t->numbers.all,
                            .grade = finding_grade::notable});
    if (first != nullptr) {
      ++more;
      continue;
    }
    first = &attempt;
    trouble = std::move(t);
  }
  if (first == nullptr) return;
  advice_summary& s = all.first;
  const bool is_clear = s.cause == "healthy" || s.cause == "unknown" || s.cause == "too_short";
  const std::string restart =
      fmt::format("the run was started again from step {}, and {} of the attempt before that had gone wrong: {}{}",
                  first->from, steps_of(*first), trouble->happened,
                  more == 0 ? "" : fmt::format("; so had {} of other attempts", count_text(more, "part")));
  if (is_clear) {
    s.cause = "replaced";
    s.happened = fmt::format("{}; what replaced it: {}", restart, s.happened);
    s.change = fmt::format("{}should it come again: {}", s.change == "nothing" ? "" : s.change + "; ", trouble->change);
  } else {
    s.happened = fmt::format("{}; besides, {}", s.happened, restart);
  }
  s.sure = fmt::format("of what was replaced: {}; of the rest: {}", trouble->sure, s.sure);
  s.grade = std::min(s.grade, finding_grade::notable);
}

}  // namespace ulp
