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

// The row of the family that does best.
std::size_t chosen_of(const block_advice& b) {
  const block_trial& tried = *b.tried;
  const bool second =
      b.of.rows.size() > 1 && tried.is_better(tried.index_of(*b.of.rows[1]), tried.index_of(*b.of.rows[0]));
  return second ? 1 : 0;
}

std::string of_tensors(std::size_t n, std::size_t all) { return fmt::format("{} of {}", n, count_text(all, "tensor")); }

// "saturates in step 3", "loses 0.07 % of its energy in step 5"
std::string fate_text(const judged_treatment& j, const block_format& row) {
  if (j.saturating > 0)
    return (is_finite(j) ? "saturates " : "becomes infinite or NaN ") + in_steps(j.saturating, j.saturates_first);
  if (is_open(j)) return "is not decided; " + what_to_record(&row, j.doubts);
  if (j.worst.high == 0) return "loses nothing";
  return fmt::format("loses {} of its energy{} in step {}", lost_percent(j), is_one_number(j) ? "" : ",",
                     j.step_of_high);
}

std::string left_out_text(const block_trial& tried) {
  std::uint64_t vectors = 0;
  std::uint64_t empty = 0;
  for (const tried_tensor& t : tried.tensors) {
    vectors += t.unfit ? 1 : 0;
    empty += !t.unfit && !t.has_values && t.left_out == 0 ? 1 : 0;
  }
  std::vector<std::string> parts;
  if (vectors > 0) parts.push_back(count_text(vectors, "vector") + ", which no product reads");
  if (tried.left_out() > 0)
    parts.push_back(count_text(tried.left_out(), "step") + " of a tensor with infinities or NaN");
  if (empty > 0) parts.push_back(count_text(empty, "tensor") + " without a value other than zero");
  return parts.empty() ? "" : fmt::format("left out: {}", fmt::join(parts, "; "));
}

// Of the tensors that are judged in one row, in the order in which they did, the worst first.
struct judged_row {
  const block_format& row;
  std::size_t at;
  std::vector<const tried_tensor*> tensors;
  std::size_t failed;  // saturate or are drowned
  std::size_t open;
  std::size_t held;

  [[nodiscard]] const judged_treatment& worst() const { return tensors.front()->of[at]; }
  // For certain.
  [[nodiscard]] std::size_t losing(double share) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(tensors, [&](const tried_tensor* t) { return t->of[at].worst.low > share; }));
  }
};

judged_row judged_in(const block_trial& tried, const block_format& row) {
  const std::size_t at = tried.index_of(row);
  judged_row made{.row = row,
                  .at = at,
                  .tensors = tried.judged(),
                  .failed = tried.count(at, trial_verdict::saturates) + tried.count(at, trial_verdict::drowned),
                  .open = tried.count(at, trial_verdict::not_decided),
                  .held = tried.count(at, trial_verdict::held)};
  std::ranges::stable_sort(
      made.tensors, [&](const tried_tensor* x, const tried_tensor* y) { return did_worse(x->of[at], y->of[at]); });
  return made;
}

std::string held_text(const block_trial& tried, const judged_row& r, const std::string& with) {
  const std::size_t n = r.tensors.size();
  const std::string& name = tried.info[r.tensors.front()->tensor].name;
  const std::string step = tried.left_out() > 0 ? "in any finite step" : "in any step";
  if (r.failed > 0)
    return fmt::format("{}{}: {} {}", r.failed == n ? "no" : "not in " + of_tensors(r.failed, n), with, name,
                       fate_text(r.worst(), r.row));
  if (r.open > 0) return fmt::format("not decided: the input does not tell of {}", of_tensors(r.open, n));
  const std::string none = n == 1 ? name + " does not lose" : fmt::format("none of {} tensors loses", n);
  const std::string saturates = n == 1 ? "does not saturate" : "none saturates";
  if (r.held == n)
    return fmt::format("yes{}: {} more than {} of its energy {}, and {}", with, none, percent(usual_lost_share), step,
                       saturates);
  const std::size_t certain = r.losing(usual_lost_share);
  const std::size_t rest = n - r.held;
  const std::string verb = certain < rest ? "may lose" : rest == 1 ? "loses" : "lose";
  return fmt::format("{}{}: {} a third of its energy {}, and {}; {} {} more than {}{} ({}, in step {}{})",
                     certain == 0  ? "nothing fails"
                     : r.held == 0 ? "not without loss"
                                   : "mostly",
                     with, none, step, saturates, n == 1 ? "it" : std::to_string(rest), verb, percent(usual_lost_share),
                     n == 1 ? "" : ", " + name + " most", lost_percent(r.worst()), r.worst().step_of_high,
                     is_one_number(r.worst()) ? "" : "; " + what_to_record(&r.row, r.worst().doubts));
}

finding would_it_have_held(const block_advice& b) {
  finding f{.topic = "block_format", .question = fmt::format("Would {} have held?", b.of.name)};
  const block_trial& tried = *b.tried;
  const judged_row r = judged_in(tried, *b.of.rows[chosen_of(b)]);
  const std::string with = b.of.by_rule.empty() ? "" : fmt::format(", with {} elements", element_text(r.row));
  f.conclusion = r.tensors.empty() ? "not answered: the input has no matrix with a finite value other than zero"
                                   : held_text(tried, r, with);
  for (const tried_tensor* t : std::span(r.tensors).first(std::min(r.tensors.size(), most_named)))
    f.evidence.push_back(fmt::format("{}: {}", tried.info[t->tensor].name, fate_text(t->of[r.at], r.row)));
  if (r.held < r.tensors.size() || r.tensors.empty()) f.grade = finding_grade::notable;
  if (r.held < r.tensors.size()) f.tensor = tried.info[r.tensors.front()->tensor].name;
  if (const std::string left_out = left_out_text(tried); !left_out.empty()) f.evidence.push_back(left_out);
  if (tried.may_have_vectors())
    f.evidence.emplace_back(
        "the shape of some tensors is not recorded: vectors among them are judged as matrices of one row");
  f.numbers = {{"format", b.of.name},
               {"row", std::string{r.row.name}},
               {"tensors", integer(r.tensors.size())},
               {"held", integer(r.held)},
               {"drowned", integer(tried.count(r.at, trial_verdict::drowned))},
               {"saturating", integer(tried.count(r.at, trial_verdict::saturates))},
               {"not_decided", integer(r.open)},
               {"left_out_steps", integer(tried.left_out())}};
  f.limits = fmt::format(
      "Energy is the sum of squares; {} is what ulp plan lets a tensor lose. Each tensor by itself, in blocks along its "
      "last axis, as {} has them. What training makes of it these values do not show: in closed loops a loss of 0.5 % "
      "was not told apart from float32, one of 1 % to 4 % trained worse (docs/trust.md).",
      percent(usual_lost_share), r.row.name);
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
    const auto better = [&](std::size_t n, const std::string& name) {
      return n == p.of ? name : fmt::format("{} in {} of {}", name, n, p.of);
    };
    verdicts.push_back(fmt::format("{}: {}", k.noun,
                                   p.first + p.second == 0 ? "not told apart"
                                   : p.second == 0         ? better(p.first, names[0])
                                   : p.first == 0
                                       ? better(p.second, names[1])
                                       : fmt::format("{}, {}", better(p.first, names[0]), better(p.second, names[1]))));
    judged_treatment worst[2];
    for (const tried_tensor* t : tried.judged())
      for (std::size_t e = 0; e < 2 && is_of_kind(tried.info[t->tensor]); ++e)
        if (did_worse(t->of[at[e]], worst[e]) || worst[e].steps == 0) worst[e] = t->of[at[e]];
    f.evidence.push_back(fmt::format("{}: of {} {} for certain {} less in {}, {} in {}; the worst loses {} and {}",
                                     k.noun, count_text(p.of, "tensor"), p.first, p.first == 1 ? "loses" : "lose",
                                     names[0], p.second, names[1], lost_percent(worst[0]), lost_percent(worst[1])));
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
  bool saturates = false;
  bool is_finite = true;  // no value becomes infinite or NaN,
  bool is_known = true;   // as far as is known
  [[nodiscard]] bool is_safe() const { return counts && !saturates && is_finite && is_known; }
};

rule_sum sum_of(const block_trial& tried, const block_format& row) {
  const std::size_t at = tried.index_of(row);
  rule_sum sum{.name = scale_rule_of(row), .counts = tried.counts(at)};
  for (const tried_tensor* t : tried.judged()) {
    const judged_treatment& j = t->of[at];
    sum.worst = std::max(sum.worst, j.worst.high);
    sum.saturates = sum.saturates || j.saturating > 0;
    sum.is_finite = sum.is_finite && (j.saturating == 0 || is_finite(j));
    // Of numbers so large that they may become infinite tables bound nothing, whatever the rule.
    sum.is_known = sum.is_known && (is_finite(j) || j.saturating > 0 || j.doubts.needs_values);
  }
  if (!sum.counts) return sum;
  sum.saturates = sum.saturates || sum.counts->overflow.high > 0;
  sum.is_finite = sum.is_finite && sum.counts->lost.high == 0;
  return sum;
}

value_range share_of(const count_range& n, const block_outcomes& counts) {
  const auto all = static_cast<double>(std::max<std::uint64_t>(1, counts.nonzero()));
  return {static_cast<double>(n.low) / all, static_cast<double>(n.high) / all};
}

// "floor saturates 3.4 % of the values, even 2.2 %; rceil makes some infinite or NaN"
std::string unsafe_text(const std::vector<rule_sum>& sums) {
  std::vector<std::string> saturating;
  std::vector<std::string> lost;
  for (const rule_sum& s : sums) {
    if (!s.is_finite || (!s.is_known && !s.saturates))
      lost.push_back(fmt::format("{} {} some infinite or NaN", s.name, s.is_finite ? "may make" : "makes"));
    if (s.is_finite && s.saturates)
      saturating.push_back(fmt::format("{}{} {}{}", s.name, saturating.empty() ? " saturates" : "",
                                       percent_text(share_of(s.counts->overflow, *s.counts)),
                                       saturating.empty() ? " of the values" : ""));
  }
  if (!saturating.empty()) lost.insert(lost.begin(), fmt::format("{}", fmt::join(saturating, ", ")));
  return fmt::format("{}", fmt::join(lost, "; "));
}

finding which_rule(const block_advice& b) {
  finding f{.topic = "block_scale_rule", .question = "Which rule for the scales?"};
  const block_trial& tried = *b.tried;
  std::vector<rule_sum> sums;
  for (const block_format* row : b.of.by_rule[chosen_of(b)]) sums.push_back(sum_of(tried, *row));
  // What is not known of one rule is not known of those that tables do not bound.
  const bool is_known = std::ranges::all_of(sums, &rule_sum::is_known);
  for (rule_sum& s : sums) s.is_known = is_known;
  f.limits =
      "As torchao has them: floor is OCP MX 1.0, rceil what TransformerEngine and the hardware's conversion do. What "
      "saturates becomes the largest number; it is the largest of its block, and loses up to an eighth.";
  if (!std::ranges::all_of(sums, [](const rule_sum& s) { return s.counts.has_value(); })) {
    f.conclusion =
        tried.from_values
            ? "not decided: not every tensor could be counted"
            : "not decided: the recording has no tables of these blocks along the last axis; record with --blocks " +
                  std::to_string(b.of.rows.front()->block.columns);
    return f;
  }
  named_values numbers;
  for (const rule_sum& s : sums) {
    const value_range saturated = share_of(s.counts->overflow, *s.counts);
    const value_range zeros = share_of(s.counts->underflow, *s.counts);
    const bool has_energy = std::isfinite(s.worst);
    f.evidence.push_back(fmt::format("{}: {} of the nonzero values saturate, {} become zero{}{}", s.name,
                                     percent_text(saturated), percent_text(zeros),
                                     has_energy ? fmt::format("; the worst tensor loses {}", percent(s.worst)) : "",
                                     s.is_finite ? "" : "; some become infinite or NaN"));
    numbers.all.push_back({std::string{s.name}, named_values{{{"saturating_share", saturated},
                                                              {"underflow_share", zeros},
                                                              {"worst_lost_share", value_if(has_energy, s.worst)}}}});
  }
  f.numbers = {{"element", element_text(*b.of.rows[chosen_of(b)])}, {"rules", std::move(numbers)}};
  if (!tried.from_values) f.limits += " What floor and even lose of the energy only the values tell: give the dumps.";
  const auto safe = static_cast<std::size_t>(std::ranges::count_if(sums, &rule_sum::is_safe));
  const auto least = std::ranges::min_element(sums, {}, [](const rule_sum& s) {
    return s.is_safe() ? s.counts->underflow.high : std::numeric_limits<std::uint64_t>::max();
  });
  f.conclusion = safe == 0 ? "none is safe: " + unsafe_text(sums)
                 : safe == sums.size()
                     ? "any: nothing saturates"
                     : fmt::format("{}: nothing saturates{}; {}", least->name,
                                   safe > 1 ? ", and the fewest values become zero" : "", unsafe_text(sums));
  return f;
}

// How many times its error a tensor is, in norm.
double ratio_of(double share) { return 1 / std::sqrt(share); }

std::optional<finding> does_noise_drown(const block_advice& b) {
  const block_trial& tried = *b.tried;
  judged_row r = judged_in(tried, *b.of.rows[chosen_of(b)]);
  std::erase_if(r.tensors, [&](const tried_tensor* t) { return !is_scaled(tried.info[t->tensor]); });
  if (r.tensors.empty()) return std::nullopt;
  finding f{.topic = "block_noise", .question = "Does rounding drown the gradients?"};
  const auto is_lost = [&](const tried_tensor* t) { return t->of[r.at].saturating > 0 && !is_finite(t->of[r.at]); };
  const auto lost = static_cast<std::size_t>(std::ranges::count_if(r.tensors, is_lost));
  const std::size_t drowned = r.losing(drowning_share);
  const auto open = static_cast<std::size_t>(
      std::ranges::count_if(r.tensors, [&](const tried_tensor* t) { return is_open(t->of[r.at]); }));
  const auto worst = std::ranges::max_element(r.tensors, {}, [&](const tried_tensor* t) {
    const judged_treatment& j = t->of[r.at];
    return std::pair{j.worst.low > drowning_share ? j.worst.low : 0.0, is_finite(j) ? j.worst.high : 0.0};
  });
  const judged_treatment& j = (*worst)->of[r.at];
  const std::string& name = tried.info[(*worst)->tensor].name;
  const std::string all = count_text(r.tensors.size(), "gradient");
  if (drowned > 0)
    f.conclusion = fmt::format("{} of {}: in step {} {} is at most {:.2g} times as large as its rounding error",
                               drowned, all, j.step_of_low, name, ratio_of(j.worst.low));
  else if (lost > 0)
    f.conclusion = fmt::format("not answered for {} of {}, which become infinite or NaN", lost, all);
  else if (open > 0)
    f.conclusion = fmt::format("not decided for {} of {}", open, all);
  else if (j.worst.high == 0)
    f.conclusion = "no: nothing is lost";
  else
    f.conclusion = fmt::format("no: {} comes nearest to it, {}{:.3g} times as large as its rounding error in step {}",
                               name, is_one_number(j) ? "" : "at least ", ratio_of(j.worst.high), j.step_of_high);
  if (drowned + lost + open > 0) f.grade = finding_grade::notable;
  if (drowned > 0) f.tensor = name;
  f.numbers = {{"gradients", integer(r.tensors.size())},
               {"drowned", integer(drowned)},
               {"not_decided", integer(open + lost)},
               {"tensor", name},
               {"least_ratio", value_if(is_finite(j) && j.worst.high > 0, ratio_of(j.worst.high))}};
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
             .conclusion =
                 "not answered: there are no values of tensors before the run was lost, or the input cannot be "
                 "read twice",
             .grade = finding_grade::notable}};
  std::vector<finding> all{would_it_have_held(b)};
  if (b.tried->judged().empty()) return all;
  if (b.of.rows.size() == 2) all.push_back(which_elements(b));
  if (!b.of.by_rule.empty()) all.push_back(which_rule(b));
  if (std::optional<finding> noise = does_noise_drown(b)) all.push_back(std::move(*noise));
  return all;
}

std::optional<fp8_choice_told> tell_block_recipe(const block_advice& b, std::string_view framework) {
  if (!b.tried || b.tried->judged().empty()) return std::nullopt;
  // What closed loops trained worse with.
  constexpr double noticed = 0.01;
  const judged_row r = judged_in(*b.tried, *b.of.rows[chosen_of(b)]);
  const std::size_t n = r.tensors.size();
  constexpr std::string_view plan = "ulp plan names a treatment for each";
  if (r.failed > 0)
    return fp8_choice_told{
        .change = fmt::format("{} {} more bits: {}", of_tensors(r.failed, n), r.failed == 1 ? "needs" : "need", plan),
        .lines = {}};
  if (r.open > 0)
    return fp8_choice_told{.change = fmt::format("{} {} not decided; what would decide it is below",
                                                 of_tensors(r.open, n), r.open == 1 ? "is" : "are"),
                           .lines = {}};
  if (const std::size_t k = r.losing(noticed); k > 0)
    return fp8_choice_told{.change = fmt::format("{} {} more than {}, with which closed loops trained worse: {}",
                                                 of_tensors(k, n), k == 1 ? "loses" : "lose", percent(noticed), plan),
                           .lines = {}};
  fp8_choice_told told{.change =
                           fmt::format("no loss scale, each block has its own{}",
                                       b.of.by_rule.empty() ? "" : fmt::format("; {} elements", element_text(r.row))),
                       .lines = {}};
  // TransformerEngine has MXFP8 with E4M3 in all tensors.
  if (r.row.block == block_extent{1, 32} && r.row.element.name == "float8_e4m3fn")
    told.lines = {framework == "Megatron-LM" ? "--fp8-format e4m3 --fp8-recipe mxfp8"
                                             : "MXFP8BlockScaling(fp8_format=Format.E4M3)  # TransformerEngine"};
  return told;
}

}  // namespace ulp
