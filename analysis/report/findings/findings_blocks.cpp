// What advice says of formats whose blocks share a scale.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <ulp/ask/questions/number_text.hpp>
#include <ulp/ask/runs/block_trial.hpp>
#include <ulp/model/outcomes/outcome.hpp>
#include <ulp/model/recipe/scaling.hpp>

#include "findings.hpp"
#include "tables/judged_text.hpp"

namespace ulp {
namespace {

constexpr std::size_t most_named = 5;

// "E4M3"
std::string element_text(const block_format& row) {
  const std::string_view name = row.element.name;
  std::string text;
  for (std::size_t i = name.find("_e") + 1; i < name.size() && text.size() < 4; ++i)
    text += static_cast<char>(std::toupper(static_cast<unsigned char>(name[i])));
  return text;
}

bool is_open(const judged_treatment& j) { return verdict_of(j) == trial_verdict::not_decided; }

// Of each of two elements the tensors that lose less for certain.
struct preference {
  std::size_t first = 0;
  std::size_t second = 0;
  std::size_t of = 0;
};

template <typename Takes>
preference preferred(const block_trial& tried, std::size_t first, std::size_t second, Takes takes) {
  preference p;
  for (const tried_tensor* t : tried.judged()) {
    if (!takes(tried.info[t->tensor])) continue;
    ++p.of;
    if (t->of[first].share() < t->of[second].worst.low) ++p.first;
    if (t->of[second].share() < t->of[first].worst.low) ++p.second;
  }
  return p;
}

// The row of the family that fewer tensors would rather have otherwise.
std::size_t chosen_of(const block_advice& b) {
  if (b.of.rows.size() < 2) return 0;
  const preference p = preferred(*b.tried, b.tried->index_of(*b.of.rows[0]), b.tried->index_of(*b.of.rows[1]),
                                 [](const tensor_info&) { return true; });
  return p.second > p.first ? 1 : 0;
}

std::string left_out_text(const block_trial& tried) {
  std::uint64_t vectors = 0;
  std::uint64_t not_finite = 0;
  std::uint64_t empty = 0;
  for (const tried_tensor& t : tried.tensors) {
    vectors += t.unfit ? 1 : 0;
    not_finite += t.unfit ? 0 : t.left_out;
    empty += !t.unfit && !t.has_values ? 1 : 0;
  }
  std::vector<std::string> parts;
  if (vectors > 0) parts.push_back(count_text(vectors, "vector") + ", which no product reads");
  if (not_finite > 0) parts.push_back(count_text(not_finite, "step") + " of a tensor with infinities or NaN");
  if (empty > 0) parts.push_back(count_text(empty, "tensor") + " without a finite value other than zero");
  return parts.empty() ? "" : fmt::format("left out: {}", fmt::join(parts, "; "));
}

finding would_it_have_held(const block_advice& b) {
  finding f{.topic = "block_format", .question = fmt::format("Would {} have held?", b.of.name)};
  const block_trial& tried = *b.tried;
  const block_format& row = *b.of.rows[chosen_of(b)];
  const std::size_t at = tried.index_of(row);
  std::vector<const tried_tensor*> tensors = tried.judged();
  std::ranges::stable_sort(
      tensors, [&](const tried_tensor* x, const tried_tensor* y) { return did_worse(x->of[at], y->of[at]); });
  const std::size_t saturating = tried.count(at, trial_verdict::saturates);
  const std::size_t drowned = tried.count(at, trial_verdict::drowned);
  const std::size_t open = tried.count(at, trial_verdict::not_decided);
  const std::size_t held = tried.count(at, trial_verdict::held);
  // For certain, where neither a third nor saturation is.
  const auto more = static_cast<std::size_t>(
      std::ranges::count_if(tensors, [&](const tried_tensor* t) { return t->of[at].worst.low > usual_lost_share; }));
  const std::string with = b.of.by_rule.empty() ? "" : fmt::format(", with {} elements", element_text(row));
  const std::string of_all = count_text(tensors.size(), "tensor");
  if (tensors.empty()) {
    f.conclusion = "not answered: the input has no matrix with a finite value other than zero";
  } else {
    const tried_tensor& worst = *tensors.front();
    const judged_treatment& j = worst.of[at];
    const std::string& name = tried.info[worst.tensor].name;
    if (saturating + drowned > 0)
      f.conclusion = fmt::format(
          "not in {} of {}{}: {} {}", saturating + drowned, of_all, with, name,
          j.saturating > 0 ? "saturates " + in_steps(j.saturating, j.saturates_first)
                           : fmt::format("loses {} of its energy in step {}", lost_percent(j), j.step_of_high));
    else if (open > 0)
      f.conclusion = fmt::format("not decided: the input does not tell of {} of {}", open, of_all);
    else if (held == tensors.size())
      f.conclusion = fmt::format("yes{}: of {} none loses more than {} of its energy in any step, and none saturates",
                                 with, of_all, percent(usual_lost_share));
    else
      f.conclusion = fmt::format(
          "{}{}: of {} none loses a third of its energy in any step, and none saturates; {} {} more than {}, {} most "
          "({}, in step {}{})",
          more == 0   ? "nothing fails"
          : held == 0 ? "in part"
                      : "mostly",
          with, of_all, tensors.size() - held, more == tensors.size() - held ? "lose" : "may lose",
          percent(usual_lost_share), name, lost_percent(j), j.step_of_high,
          is_one_number(j) ? "" : "; " + what_to_record(&row, j.doubts));
    for (const tried_tensor* t : std::span(tensors).first(std::min(tensors.size(), most_named))) {
      const judged_treatment& of = t->of[at];
      f.evidence.push_back(fmt::format(
          "{}: {}{}", tried.info[t->tensor].name,
          of.saturating > 0 ? "saturates " + in_steps(of.saturating, of.saturates_first)
                            : fmt::format("loses {}{}", lost_percent(of),
                                          of.worst.high > 0 ? fmt::format(", in step {}", of.step_of_high) : ""),
          is_open(of) ? "; " + what_to_record(&row, of.doubts) : ""));
    }
    if (saturating + drowned + open > 0 || held < tensors.size()) {
      f.grade = finding_grade::notable;
      f.tensor = name;
    }
  }
  if (const std::string left_out = left_out_text(tried); !left_out.empty()) f.evidence.push_back(left_out);
  f.numbers = {{"format", b.of.name},         {"row", std::string{row.name}}, {"tensors", integer(tensors.size())},
               {"held", integer(held)},       {"drowned", integer(drowned)},  {"saturating", integer(saturating)},
               {"not_decided", integer(open)}};
  f.limits = fmt::format(
      "Energy is the sum of squares; {} is what ulp plan lets a tensor lose. Each tensor by itself, in blocks along its "
      "last axis, as {} has them. What training makes of it these values do not show: in closed loops a loss of 0.5 % "
      "was not told apart from float32, one of 1 % to 4 % trained worse (docs/trust.md).",
      percent(usual_lost_share), row.name);
  return f;
}

finding which_elements(const block_advice& b) {
  const block_trial& tried = *b.tried;
  const std::string names[] = {element_text(*b.of.rows[0]), element_text(*b.of.rows[1])};
  finding f{.topic = "block_elements", .question = fmt::format("{} or {} elements?", names[0], names[1])};
  const std::size_t at[] = {tried.index_of(*b.of.rows[0]), tried.index_of(*b.of.rows[1])};
  std::vector<std::string> verdicts;
  named_values numbers;
  for (const kind_line& k : kind_lines) {
    const auto is_of_kind = [&](const tensor_info& t) { return t.kind == k.kind; };
    const preference p = preferred(tried, at[0], at[1], is_of_kind);
    if (p.of == 0) continue;
    verdicts.push_back(fmt::format("{}: {}", k.noun,
                                   p.first + p.second == 0 ? "not told apart"
                                   : p.second == 0         ? names[0]
                                   : p.first == 0
                                       ? names[1]
                                       : fmt::format("{} in {}, {} in {}", names[0], p.first, names[1], p.second)));
    judged_treatment worst[2];
    for (const tried_tensor* t : tried.judged())
      for (std::size_t e = 0; e < 2 && is_of_kind(tried.info[t->tensor]); ++e)
        if (did_worse(t->of[at[e]], worst[e]) || worst[e].steps == 0) worst[e] = t->of[at[e]];
    f.evidence.push_back(fmt::format("{}: of {}, {} lose less in {}, {} in {}; the worst loses {} and {}", k.noun,
                                     count_text(p.of, "tensor"), p.first, names[0], p.second, names[1],
                                     lost_percent(worst[0]), lost_percent(worst[1])));
    numbers.all.push_back({std::string{to_string(k.kind)}, named_values{{{"tensors", integer(p.of)},
                                                                         {"better_in_first", integer(p.first)},
                                                                         {"better_in_second", integer(p.second)}}}});
  }
  f.conclusion = verdicts.empty() ? "not answered" : fmt::format("{}", fmt::join(verdicts, "; "));
  f.numbers = {{"first", names[0]}, {"second", names[1]}, {"kinds", std::move(numbers)}};
  f.limits =
      "By the share of its energy that each tensor loses in its worst step, where the ranges of both lie apart. A block has its "
      "own scale, so the wider exponent seldom pays for the bit of fraction that it costs.";
  return f;
}

// Over all tensors that can be judged.
struct rule_sum {
  std::string_view name;
  std::optional<block_outcomes> counts;  // none where something was not counted
  double worst = 0;                      // share lost; infinite where it is not known
  [[nodiscard]] bool saturates_nothing() const { return counts && counts->overflow.high == 0; }
};

rule_sum sum_of(const block_trial& tried, const block_format& row) {
  const std::size_t at = tried.index_of(row);
  rule_sum sum{.name = scale_rule_of(row), .counts = tried.counts(at)};
  for (const tried_tensor* t : tried.judged()) sum.worst = std::max(sum.worst, t->of[at].worst.high);
  return sum;
}

value_range share_of(const count_range& n, const block_outcomes& counts) {
  const auto all = static_cast<double>(std::max<std::uint64_t>(1, counts.nonzero()));
  return {static_cast<double>(n.low) / all, static_cast<double>(n.high) / all};
}

finding which_rule(const block_advice& b) {
  finding f{.topic = "block_scale_rule", .question = "Which rule for the scales?"};
  const block_trial& tried = *b.tried;
  std::vector<rule_sum> sums;
  for (const block_format* row : b.of.by_rule[chosen_of(b)]) sums.push_back(sum_of(tried, *row));
  std::vector<std::string_view> safe;
  std::vector<std::string> others;
  named_values numbers;
  bool is_counted = true;
  const bool has_energies = std::ranges::all_of(sums, [](const rule_sum& s) { return std::isfinite(s.worst); });
  for (const rule_sum& s : sums) {
    if (!s.counts) {
      is_counted = false;
      continue;
    }
    const value_range saturated = share_of(s.counts->overflow, *s.counts);
    const value_range zeros = share_of(s.counts->underflow, *s.counts);
    if (s.saturates_nothing()) safe.push_back(s.name);
    if (!s.saturates_nothing()) others.push_back(fmt::format("{} {}", s.name, percent_text(saturated)));
    f.evidence.push_back(fmt::format("{}: {} of the nonzero values saturate, {} become zero{}", s.name,
                                     percent_text(saturated), percent_text(zeros),
                                     has_energies ? fmt::format("; the worst tensor loses {}", percent(s.worst)) : ""));
    numbers.all.push_back({std::string{s.name}, named_values{{{"saturating_share", saturated},
                                                              {"underflow_share", zeros},
                                                              {"worst_lost_share", value_if(has_energies, s.worst)}}}});
  }
  f.numbers = {{"element", element_text(*b.of.rows[chosen_of(b)])}, {"rules", std::move(numbers)}};
  f.limits =
      "As torchao has them: floor is OCP MX 1.0, rceil what TransformerEngine and the hardware's conversion do. Values that "
      "saturate become the largest number: the largest of their block, which lose up to an eighth." +
      std::string{has_energies ? "" : " What each rule loses of the energy only the values tell: give the dumps."};
  if (!is_counted) {
    f.conclusion = fmt::format(
        "not decided: {}", tried.from_values ? "not every tensor could be counted"
                                             : "the recording has no tables of these blocks; record with --blocks 32");
    f.evidence.clear();
    f.numbers = {};
    return f;
  }
  const auto least = std::ranges::min_element(sums, {}, [](const rule_sum& s) {
    return s.saturates_nothing() ? s.counts->underflow.high : std::numeric_limits<std::uint64_t>::max();
  });
  if (safe.empty())
    f.conclusion = "each makes some values saturate";
  else if (others.empty())
    f.conclusion = fmt::format("any: nothing saturates under {}", fmt::join(safe, ", "));
  else
    f.conclusion =
        fmt::format("{}: nothing saturates{}; with {} of the values do", least->name,
                    safe.size() > 1 ? ", and no other that does not makes fewer zero" : "", fmt::join(others, ", "));
  return f;
}

// How many times its error a tensor is, in norm.
double ratio_of(double share) { return 1 / std::sqrt(share); }

std::optional<finding> does_noise_drown(const block_advice& b) {
  const block_trial& tried = *b.tried;
  const block_format& row = *b.of.rows[chosen_of(b)];
  const std::size_t at = tried.index_of(row);
  std::vector<const tried_tensor*> gradients = tried.judged();
  std::erase_if(gradients, [&](const tried_tensor* t) { return !is_scaled(tried.info[t->tensor]); });
  if (gradients.empty()) return std::nullopt;
  finding f{.topic = "block_noise", .question = "Does rounding drown the gradients?"};
  const auto worst = std::ranges::min_element(
      gradients, [&](const tried_tensor* x, const tried_tensor* y) { return did_worse(x->of[at], y->of[at]); });
  const judged_treatment& j = (*worst)->of[at];
  const std::string& name = tried.info[(*worst)->tensor].name;
  const std::size_t drowned = static_cast<std::size_t>(
      std::ranges::count_if(gradients, [&](const tried_tensor* t) { return t->of[at].worst.low > drowning_share; }));
  const std::size_t open = static_cast<std::size_t>(
      std::ranges::count_if(gradients, [&](const tried_tensor* t) { return is_open(t->of[at]); }));
  if (drowned > 0)
    f.conclusion = fmt::format("{} of {}: {} is at most {:.2g} times its rounding error in step {}", drowned,
                               count_text(gradients.size(), "gradient"), name, ratio_of(j.worst.low), j.step_of_low);
  else if (open > 0)
    f.conclusion = fmt::format("not decided for {} of {}", open, count_text(gradients.size(), "gradient"));
  else if (j.worst.high == 0)
    f.conclusion = "no: nothing is lost";
  else
    f.conclusion = fmt::format("no: {} is the nearest to it, {}{:.3g} times its rounding error in step {}", name,
                               is_one_number(j) ? "" : "at least ", ratio_of(j.worst.high), j.step_of_high);
  if (drowned + open > 0) {
    f.grade = finding_grade::notable;
    f.tensor = name;
  }
  f.numbers = {{"gradients", integer(gradients.size())},
               {"drowned", integer(drowned)},
               {"not_decided", integer(open)},
               {"tensor", name},
               {"least_ratio", value_if(std::isfinite(j.worst.high) && j.worst.high > 0, ratio_of(j.worst.high))}};
  f.limits =
      "In norms. Below about the square root of 3, a third of the energy, training gains little from going on: measured for "
      "whole gradients in 4 bits (Chmiel et al., arXiv 2505.19115), taken here for each tensor. Where every tensor is above "
      "it, the whole gradient is. Rounding that is drawn at random has more noise than rounding to the nearest, which is "
      "counted here.";
  return f;
}

}  // namespace

std::vector<finding> which_blocks(const block_advice& b) {
  if (!b.tried)
    return {{.topic = "block_format",
             .question = fmt::format("Would {} have held?", b.of.name),
             .conclusion = "not answered: the input has no values of tensors, or cannot be read twice",
             .grade = finding_grade::notable}};
  std::vector<finding> all{would_it_have_held(b)};
  if (b.tried->judged().empty()) return all;
  if (b.of.rows.size() == 2) all.push_back(which_elements(b));
  if (!b.of.by_rule.empty()) all.push_back(which_rule(b));
  if (std::optional<finding> noise = does_noise_drown(b)) all.push_back(std::move(*noise));
  return all;
}

std::optional<fp8_choice_told> tell_block_recipe(const block_advice& b, std::string_view framework) {
  if (!b.tried) return std::nullopt;
  const std::vector<const tried_tensor*> tensors = b.tried->judged();
  if (tensors.empty()) return std::nullopt;
  const block_format& row = *b.of.rows[chosen_of(b)];
  const std::size_t at = b.tried->index_of(row);
  const std::size_t fails = b.tried->count(at, trial_verdict::saturates) + b.tried->count(at, trial_verdict::drowned);
  const std::size_t open = b.tried->count(at, trial_verdict::not_decided);
  fp8_choice_told told{.change = "no loss scale, each block has its own scale", .lines = {}};
  if (fails > 0)
    told.change = fmt::format("keep {} of {} in 16 bits, which it does not hold (ulp plan names a treatment for each)",
                              fails, count_text(tensors.size(), "tensor"));
  else if (open > 0)
    told.change = fmt::format("the input does not decide it for {} of {}; see below what to record", open,
                              count_text(tensors.size(), "tensor"));
  else if (!b.of.by_rule.empty())
    told.change += fmt::format(", {} elements", element_text(row));
  // TransformerEngine has MXFP8 with E4M3 in all tensors only.
  const bool is_te = row.block == block_extent{1, 32} && row.element.name == "float8_e4m3fn";
  if (fails + open == 0 && is_te)
    told.lines = {framework == "Megatron-LM" ? "--fp8-format e4m3 --fp8-recipe mxfp8"
                                             : "MXFP8BlockScaling(fp8_format=Format.E4M3)  # TransformerEngine"};
  return told;
}

}  // namespace ulp
