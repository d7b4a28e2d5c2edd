#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include <ulp/report/tables/estimates.hpp>

#include "findings.hpp"

namespace ulp {
namespace {

constexpr double default_start = 65536;
constexpr double default_interval = 2000;

struct trial {
  double start = 0;
  double interval = 0;
  const sweep_result* result = nullptr;
};

trial trial_of(const scenario& s, const sweep_result& r) {
  trial t{.result = &r};
  for (const scaler_parameter& p : s.recipe.machine().parameters()) {
    const double* const number = std::get_if<double>(&p.value);
    if (p.name == "init_scale") t.start = *number;
    if (p.name == "growth_interval") t.interval = *number;
  }
  return t;
}

// Of the nonzero values.
value_range underflow_of(const sweep_result& r) {
  const auto nonzero = static_cast<double>(r.nonzero);
  if (nonzero == 0) return {};
  return {static_cast<double>(r.underflow.low) / nonzero, static_cast<double>(r.underflow.high) / nonzero};
}

// "1 step", "~1 [0, 22] steps".
std::string skipped_steps_text(const sweep_result& r) {
  const std::string text = skipped_text(r.skipped, r.uncertain, r.bounds);
  return text + (text == "1" ? " step" : " steps");
}

named_values numbers_of(const trial& t) {
  return {{{"init_scale", t.start},
           {"growth_interval", t.interval},
           {"skipped", integer(t.result->skipped)},
           {"skipped_low", value_if(t.result->bounds.known, integer(t.result->bounds.skipped.low))},
           {"skipped_high", value_if(t.result->bounds.known, integer(t.result->bounds.skipped.high))},
           {"decided", t.result->uncertain == 0},
           {"underflow_share", t.result->has_counts ? underflow_of(*t.result) : unknown_share},
           {"mean_log2_scale", t.result->mean_log2_scale}}};
}

// What would decide which steps a trial skips.
std::string why_not_decided(const survey& run, const std::vector<tensor_info>& tensors) {
  std::string why;
  if (std::ranges::any_of(run.steps(), [](const step_survey& s) { return s.lost > 0 || s.found_inf.value_or(false); }))
    why =
        " What overflowed in the run is taken not to overflow at smaller scales; [low, high] is what may have been. "
        "Gradients that were recorded in float32 would decide it.";
  std::vector<std::string> sums;
  for (std::size_t i = 0; i < run.tensors().size(); ++i)
    if (run.tensors()[i].checked && run.tensors()[i].is_sum) sums.push_back(tensors[i].name);
  if (!sums.empty())
    why += fmt::format(
        " Of {} the sum of several uses was recorded: one of them may overflow where the sum does not, or the other way round.",
        fmt::join(sums, ", "));
  return why;
}

}  // namespace

finding which_policy(const survey& run, const std::vector<tensor_info>& tensors, const std::vector<scenario>& scenarios,
                     const std::vector<sweep_result>& results, std::optional<best_trial>& best_of) {
  constexpr double most_skipped = 0.01;
  finding f{.topic = "growth", .question = "Which start and growth interval of PyTorch's GradScaler?"};
  if (run.steps().size() < steps_for_rates) {
    f.conclusion = fmt::format("not answered: {} cannot tell; it takes some {} at least",
                               steps_text(run.steps().size()), steps_for_rates);
    return f;
  }
  std::vector<trial> trials;
  for (std::size_t i = 0; i < results.size(); ++i) trials.push_back(trial_of(scenarios[i], results[i]));
  const auto line = [&](const trial& t) {
    return fmt::format("init_scale={} growth_interval={}: {} skipped{}, mean scale {}", as_power(t.start), t.interval,
                       skipped_steps_text(*t.result),
                       t.result->has_counts ? fmt::format(", {} underflow", range_text(underflow_of(*t.result))) : "",
                       power_text(t.result->mean_log2_scale));
  };
  for (const trial& t : trials) {
    if (t.start != default_start || t.interval != default_interval) continue;
    f.evidence.push_back("PyTorch's defaults: " + line(t));
    f.numbers.push_back({"defaults", numbers_of(t)});
  }
  f.numbers.push_back({"best", {}});
  std::erase_if(trials, [](const trial& t) { return t.result->last_scale == 0; });
  if (trials.empty()) {
    f.conclusion = "none: in every trial the scale falls to 0 because some steps overflow at every scale";
    f.grade = finding_grade::trouble;
    return f;
  }
  const std::uint64_t least_skipped =
      std::ranges::min(trials, {}, [](const trial& t) { return t.result->skipped; }).result->skipped;
  const std::uint64_t allowed =
      std::max(least_skipped, static_cast<std::uint64_t>(most_skipped * static_cast<double>(run.steps().size())));
  std::erase_if(trials, [&](const trial& t) { return t.result->skipped > allowed; });
  // As a sweep ranks them; of those that lose as good as nothing more than the best, the one nearest to the defaults.
  constexpr double as_good = 1e-4;
  const auto lost = [&](const trial& t) { return t.result->lost_share(run.steps().size()); };
  const double least = lost(std::ranges::min(trials, {}, lost));
  const auto rank = [&](const trial& t) {
    return std::tuple{lost(t) > least + as_good, std::abs(std::log2(t.start / default_start)),
                      std::abs(std::log2(t.interval / default_interval)), lost(t)};
  };
  const trial best = std::ranges::min(trials, {}, rank);
  best_of = {best.start, best.interval, line(best), best.result->uncertain == 0};
  if (skips_often(best.result->skipped, run.steps().size())) f.grade = finding_grade::notable;
  f.conclusion = (best.result->uncertain == 0 ? "" : "not decided by this recording; by estimate ") + line(best);
  f.numbers.back().value = numbers_of(best);
  f.evidence.push_back(fmt::format(
      "of {} trials (starts 2^8, 2^12, ... 2^24, intervals 25 to 2000), those that skip more than {} omitted",
      results.size(), steps_text(allowed)));
  f.limits =
      "Open loop: if this replay skips a step that the run applied, later gradients would have been different. Rates "
      "carry over to a similar run; single steps do not.";
  if (best.interval > static_cast<double>(run.steps().size()))
    f.limits +=
        fmt::format(" An interval of {} steps is longer than this run, in which the scale never grew.", best.interval);
  if (best.result->uncertain > 0) f.limits += why_not_decided(run, tensors);
  return f;
}

}  // namespace ulp
