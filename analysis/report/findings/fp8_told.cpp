#include <ulp/report/findings/fp8_told.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "findings.hpp"

namespace ulp {
namespace {

// A tensor that saturates in more of its steps does so beyond its start.
constexpr double beyond_start = 0.1;
// So much of the nonzero values is worth a look.
constexpr double many_vanish = 0.01;
constexpr std::size_t shown_tensors = 5;

struct told_run {
  const fp8_answer& answer;
  std::string recipe;
  fp8_tensor_summary all;

  [[nodiscard]] const std::string& name(std::uint32_t tensor) const { return answer.tensors[tensor].name; }
  [[nodiscard]] const fp8_tensor_summary& sum(std::uint32_t tensor) const { return answer.by.summaries().at(tensor); }
  // Those of which `of` is above 0, the most first.
  [[nodiscard]] std::vector<std::uint32_t> most_first(
      const std::function<double(const fp8_tensor_summary&)>& of) const {
    std::vector<std::uint32_t> some;
    for (const auto& [tensor, sum] : answer.by.summaries())
      if (of(sum) > 0) some.push_back(tensor);
    std::ranges::stable_sort(some, std::ranges::greater{}, [&](std::uint32_t t) { return of(sum(t)); });
    return some;
  }
  // "2 of 3 tensors", "all 3 tensors"
  [[nodiscard]] std::string among_tensors(std::size_t n) const {
    const std::string all = count_text(answer.by.summaries().size(), "tensor");
    return n == answer.by.summaries().size() ? (n == 1 ? "the one tensor" : "all " + all)
                                             : fmt::format("{} of {}", grouped(n), all);
  }
};

double share_of_steps(std::uint64_t n, const fp8_tensor_summary& of) {
  return of.steps == 0 ? 0 : static_cast<double>(n) / static_cast<double>(of.steps);
}

std::string steps_among(std::uint64_t n, const fp8_tensor_summary& of) {
  return fmt::format("{} of {} ({} %)", grouped(n), steps_text(of.steps), percent_number(share_of_steps(n, of)));
}

std::string percent_of_steps(std::uint64_t n, const fp8_tensor_summary& of) {
  return fmt::format("{} % of its steps", percent_number(share_of_steps(n, of)));
}

// A line for each of the first tensors.
void add_bar(finding& to, const std::string& name, std::uint64_t n, const fp8_tensor_summary& of) {
  const double share = share_of_steps(n, of);
  to.bars.push_back({name,
                     {share, share},
                     fmt::format("{} % of steps", percent_number(share)),
                     share > beyond_start ? finding_grade::notable : finding_grade::fine});
}

finding what_saturates(const told_run& run) {
  finding f{.topic = "fp8_saturation", .question = fmt::format("What saturates under {}?", run.recipe)};
  const auto count = [](const fp8_tensor_summary& s) { return share_of_steps(s.saturating, s); };
  const std::vector<std::uint32_t> some = run.most_first(count);
  f.numbers = {{"tensors", integer(some.size())},
               {"saturating_steps", integer(run.all.saturating)},
               {"tensor_steps", integer(run.all.steps)}};
  f.limits = "Open loop: what saturates would have changed the steps after it.";
  if (some.empty()) {
    f.conclusion = "nothing saturates";
    return f;
  }
  const fp8_tensor_summary& worst = run.sum(some.front());
  f.tensor = run.name(some.front());
  f.step = worst.first_saturating;
  f.conclusion =
      fmt::format("{} {}, {} most, in {}", run.among_tensors(some.size()), some.size() == 1 ? "saturates" : "saturate",
                  f.tensor, percent_of_steps(worst.saturating, worst));
  f.grade = count(worst) > beyond_start ? finding_grade::trouble : finding_grade::notable;
  for (std::size_t i = 0; i < std::min(some.size(), shown_tensors); ++i) {
    const fp8_tensor_summary& s = run.sum(some[i]);
    add_bar(f, run.name(some[i]), s.saturating, s);
    f.evidence.push_back(fmt::format(
        "{}  in {}, from step {} on{}", run.name(some[i]), steps_among(s.saturating, s), *s.first_saturating,
        run.answer.is_of_amaxes
            ? ""
            : fmt::format(", {} of its nonzero values", percent_text(share_of_nonzero(s.counts, s.counts.overflow)))));
  }
  return f;
}

finding which_are_stale(const told_run& run) {
  finding f{.topic = "fp8_stale",
            .question = fmt::format("Which scales are off by more than a binade under {}?", run.recipe)};
  const auto count = [](const fp8_tensor_summary& s) { return share_of_steps(s.stale, s); };
  const std::vector<std::uint32_t> some = run.most_first(count);
  f.numbers = {{"tensors", integer(some.size())},
               {"stale_steps", integer(run.all.stale)},
               {"tensor_steps", integer(run.all.steps)}};
  f.limits =
      "Against the scale that would take the step's largest magnitude to the format's largest number. Too high a scale "
      "saturates; too low a one leaves range unused, as a margin and a long history mean to.";
  if (some.empty()) {
    f.conclusion = "no scale is off by more than a binade";
    return f;
  }
  const fp8_tensor_summary& worst = run.sum(some.front());
  f.tensor = run.name(some.front());
  f.step = worst.first_stale;
  f.conclusion = fmt::format("the scales of {} are off by more than a binade, that of {} most, in {}",
                             run.among_tensors(some.size()), f.tensor, percent_of_steps(worst.stale, worst));
  f.grade = finding_grade::notable;
  for (std::size_t i = 0; i < std::min(some.size(), shown_tensors); ++i) {
    const fp8_tensor_summary& s = run.sum(some[i]);
    add_bar(f, run.name(some[i]), s.stale, s);
    std::vector<std::string> ways;
    if (s.most_binades_above > 1) ways.push_back(fmt::format("{:.1f} binades too high", s.most_binades_above));
    if (s.most_binades_below > 1) ways.push_back(fmt::format("{:.1f} binades too low", s.most_binades_below));
    f.evidence.push_back(fmt::format("{}  in {}, from step {} on, by up to {}", run.name(some[i]),
                                     steps_among(s.stale, s), *s.first_stale, fmt::join(ways, " and ")));
  }
  return f;
}

bool is_no_scale(double x) { return !(x > 0) || std::isinf(x); }

// "3 infinite amaxes", "an infinite amax and 2 NaN amaxes"
std::string not_finite_text(const fp8_tensor_summary& of) {
  const auto some = [](std::uint64_t n, std::string_view what) {
    return n == 1 ? fmt::format("one {} amax", what) : fmt::format("{} {} amaxes", grouped(n), what);
  };
  std::vector<std::string> parts;
  if (of.infinite > 0) parts.push_back(some(of.infinite, "infinite"));
  if (of.nan > 0) parts.push_back(some(of.nan, "NaN"));
  return fmt::format("{}", fmt::join(parts, " and "));
}

finding what_amaxes_did(const told_run& run, const fp8_scaler_entry& policy) {
  finding f{.topic = "fp8_amax",
            .question = fmt::format("What did amaxes do that are not finite, under {}?", run.recipe),
            .grade = finding_grade::notable};
  const auto hit =
      run.most_first([](const fp8_tensor_summary& s) { return static_cast<double>(s.infinite + s.nan + s.held); });
  const auto spoilt = std::ranges::count_if(hit, [&](std::uint32_t t) { return is_no_scale(run.sum(t).last_scale); });
  const auto keeping = std::ranges::count_if(hit, [&](std::uint32_t t) { return run.sum(t).held > 0; });
  f.tensor = run.name(hit.front());
  f.step = run.sum(hit.front()).first_not_finite;
  f.conclusion = fmt::format("{}, first at step {}, kept ", not_finite_text(run.all), *run.all.first_not_finite);
  f.conclusion += run.all.held == 0 ? "no scale"
                                    : fmt::format("the scale of {} for up to {} in a row",
                                                  run.among_tensors(static_cast<std::size_t>(keeping)),
                                                  steps_text(run.all.longest_held));
  if (spoilt > 0) {
    f.conclusion += fmt::format("; at the end the scale of {} is no number to multiply by",
                                run.among_tensors(static_cast<std::size_t>(spoilt)));
    f.grade = finding_grade::trouble;
  }
  for (std::size_t i = 0; i < std::min(hit.size(), shown_tensors); ++i) {
    const fp8_tensor_summary& s = run.sum(hit[i]);
    f.evidence.push_back(fmt::format("{}  {} from step {} on, scale kept in {}, up to {} in a row", run.name(hit[i]),
                                     not_finite_text(s), s.first_not_finite.value_or(0), steps_among(s.held, s),
                                     steps_text(s.longest_held)));
  }
  f.limits = fmt::format("{}: {}", policy.name, policy.nonfinite);
  f.numbers = {{"infinite_steps", integer(run.all.infinite)},
               {"nan_steps", integer(run.all.nan)},
               {"held_steps", integer(run.all.held)},
               {"longest_held", integer(run.all.longest_held)}};
  return f;
}

finding what_underflows(const told_run& run) {
  finding f{.topic = "fp8_underflow", .question = fmt::format("What underflows under {}?", run.recipe)};
  const auto share = [](const fp8_tensor_summary& s) { return underflow_share(s.counts).high; };
  const std::vector<std::uint32_t> some = run.most_first(share);
  const value_range all = underflow_share(run.all.counts);
  f.numbers = {{"underflow_share", all}, {"tensors", integer(some.size())}};
  if (some.empty()) {
    f.conclusion = "nothing underflows";
    return f;
  }
  f.tensor = run.name(some.front());
  f.conclusion = fmt::format("{} of the nonzero values become zero; {} loses most, {} of its own", percent_text(all),
                             f.tensor, percent_text(underflow_share(run.sum(some.front()).counts)));
  f.grade = share(run.sum(some.front())) > many_vanish ? finding_grade::notable : finding_grade::fine;
  for (std::size_t i = 0; i < std::min(some.size(), shown_tensors); ++i) {
    const value_range of = underflow_share(run.sum(some[i]).counts);
    f.bars.push_back({run.name(some[i]), of, percent_text(of),
                      of.high > many_vanish ? finding_grade::notable : finding_grade::fine});
    f.evidence.push_back(fmt::format("{}  {} of its nonzero values", run.name(some[i]), percent_text(of)));
  }
  f.limits = "Counts of values: small values may carry little of the magnitude.";
  return f;
}

// A float32 number as short as it is told from its neighbours.
std::string float32_text(double x) { return fmt::format("{}", static_cast<float>(x)); }

finding is_it_the_run(const told_run& run, const live_comparison& live) {
  finding f{.topic = "fp8_live",
            .question = fmt::format("Are the scales of {} those that the run itself had?", run.recipe),
            .numbers = {{"live_tensor_steps", integer(live.tensor_steps)},
                        {"live_equal_tensor_steps", integer(live.equal_tensor_steps)}}};
  f.limits =
      "The recipe and its parameters are those that were asked for: the recording does not say what the run used.";
  if (live.tensor_steps == 0) {
    f.conclusion = "not known: no step has both an amax and a scale of the run";
    f.grade = finding_grade::notable;
  } else if (live.equal_tensor_steps == live.tensor_steps) {
    f.conclusion = fmt::format("the run's own scales are these, in all {} of a tensor", steps_text(live.tensor_steps));
  } else {
    const live_comparison::difference& first = *live.first;
    f.tensor = run.name(first.tensor);
    f.step = first.step;
    f.grade = finding_grade::trouble;
    f.conclusion = fmt::format(
        "the run's own scales are these in {} of {} of a tensor; the first other one at step {}, {}: the run had {}, the replay {}",
        grouped(live.equal_tensor_steps), steps_text(live.tensor_steps), first.step, f.tensor, float32_text(first.live),
        float32_text(first.replayed));
    f.evidence.push_back("other parameters than the run's, or what set a scale beside its policy, makes them differ");
  }
  return f;
}

}  // namespace

fp8_told tell_recipe_run(const fp8_answer& answer, const fp8_question& asked) {
  told_run run{.answer = answer, .recipe = asked.recipe.empty() ? asked.scaler : asked.recipe, .all = {}};
  for (const auto& [tensor, sum] : answer.by.summaries()) run.all += sum;
  fp8_told told{.under = name_of(asked), .happened = {}, .findings = {}};
  told.findings = {what_saturates(run), which_are_stale(run)};
  if (run.all.infinite + run.all.nan > 0) told.findings.push_back(what_amaxes_did(run, policy_of(asked)));
  if (answer.live) told.findings.push_back(is_it_the_run(run, *answer.live));
  std::vector<std::string> happened;
  for (const finding& f : told.findings) happened.push_back(f.conclusion);
  told.happened = fmt::format("{}", fmt::join(happened, "; "));
  if (!answer.is_of_amaxes) told.findings.push_back(what_underflows(run));
  for (const finding& f : told.findings) told.grade = std::min(told.grade, f.grade);
  return told;
}

}  // namespace ulp
