#include <ulp/report/advice.hpp>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <ulp/report/typed_values.hpp>

#include "findings.hpp"

namespace ulp {

advice_options advice_options_of(const std::string& format, const rounding_text& rounding, const std::string& epsilon,
                                 const run_text& run) {
  advice_options o{.format_name = format, .format = value_format_named(format), .typed = rounding};
  o.rounding = rounding.value(o.format);
  if (o.rounding.direction == direction::stochastic)
    throw std::invalid_argument(
        "--rounding: advice and reports need a deterministic rounding; for stochastic rounding see ulp outcomes");
  o.epsilon = positive_number(epsilon, "--epsilon");
  if (!(o.epsilon < 1)) throw std::invalid_argument("--epsilon: a share below 1, such as 0.001 for 0.1 %");
  o.groups = run.named_groups();
  return o;
}

std::vector<finding> advice_of(const survey& run, const std::vector<tensor_info>& tensors,
                               const std::vector<scenario>& scenarios, const std::vector<sweep_result>& trials,
                               const advice_options& options) {
  std::vector<finding> all;
  const bool has_values =
      std::ranges::any_of(run.tensors(), [](const tensor_survey& t) { return t.counted && t.max_abs > 0; });
  const window w = window_of(run, options.format, options.rounding);
  // Some step has a gradient above 0.
  const bool has_maxima =
      std::ranges::any_of(run.steps(), [](const step_survey& s) { return std::isfinite(s.max_abs) && s.max_abs > 0; });
  const std::vector<bad_run> bad = bad_runs_of(run);
  const bool loss_is_logged =
      std::ranges::any_of(run.steps(), [](const step_survey& s) { return !std::isnan(s.loss); });
  if (!bad.empty()) all.push_back(what_happened(bad, loss_is_logged));
  if (!has_values && !has_maxima) {
    if (auto shown = what_log_shows(run))
      all.push_back(std::move(*shown));
    else if (std::ranges::any_of(run.steps(), &step_survey::known))
      all.push_back({.topic = "nothing",
                     .question = "What does the run need?",
                     .conclusion = "it holds no finite nonzero gradient, so there is nothing to judge",
                     .evidence = {},
                     .limits = {},
                     .numbers = {}});
    return all;
  }
  if (run.as_recorded())
    all.push_back(
        {.topic = "recorded_values",
         .question = "What do scales multiply here?",
         .conclusion = "the values as recorded, since their factor is not known",
         .evidence = {"if they were recorded under a loss scale, give --factor, or --scalars with --factor scale"},
         .limits = "Findings that need the true gradient are omitted: formats without a scale, clipping.",
         .numbers = {}});
  if (has_values && !run.as_recorded()) all.push_back(which_format(run, options));
  if (has_maxima) {
    all.push_back(which_scale(run, w, options, has_values));
    all.push_back(which_policy(run, scenarios, trials));
  }
  if (has_values) {
    constexpr int usual = 16;
    const int scale_log2 = std::min(w.largest_safe().value_or(usual), usual);
    std::vector<compared_sets> sets{{sets_by_tensor(run, tensors), "tensor"}};
    if (!options.groups.empty()) sets.push_back({sets_by_group(run, tensors, options.groups), "group"});
    for (const compared_sets& of : sets) all.push_back(which_lose_most(run, of, scale_log2, options));
    if (!run.as_recorded() &&
        std::ranges::any_of(run.steps(), [](const step_survey& s) { return std::isfinite(s.norm); }))
      all.push_back(which_clipping(run));
    for (const compared_sets& of : sets) all.push_back(which_need_own_scale(run, of, options));
  }
  all.push_back(what_scaling_cannot_help(run, tensors, w, bad, options));
  return all;
}

}  // namespace ulp
