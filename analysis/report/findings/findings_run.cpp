#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

#include <ulp/report/pictures/clip_rates.hpp>

#include "findings.hpp"

namespace ulp {

finding what_scaling_cannot_help(const survey& run, const std::vector<tensor_info>& tensors, const window& w,
                                 const advice_options& o) {
  finding f{.topic = "not_helped", .question = "What can scaling not fix?"};
  constexpr double mostly_zero = 0.5;
  std::vector<std::string> parts;
  // The gradients of a loss that is infinite or NaN are so in every format.
  std::vector<step_survey> others;
  std::ranges::copy_if(run.steps(), std::back_inserter(others),
                       [](const step_survey& s) { return !s.loss_is_lost || std::isfinite(s.max_abs); });
  const std::uint64_t of_losses = run.steps().size() - others.size();
  const std::uint64_t below_one = window_of(others, o.how).overflowing(1);
  if (of_losses > 0) {
    parts.emplace_back("losses that are infinite or NaN");
    f.evidence.push_back(fmt::format("the loss itself is infinite or NaN in {}: no scale of the gradients reaches it",
                                     steps_text(of_losses)));
  }
  if (below_one > 0 && !run.as_recorded()) {
    parts.emplace_back("overflow without any scale");
    f.evidence.push_back(
        fmt::format("overflow in {} of {} even at the scale 1: activations or losses are too large, not the scale",
                    o.format_name, steps_text(below_one)));
  }
  std::uint64_t zero_tensors = 0;
  for (std::size_t i = 0; i < run.tensors().size(); ++i) {
    const tensor_survey& t = run.tensors()[i];
    // Where others had been rounded, those that are zero throughout may have been as well.
    const bool may_be_rounded = t.censored > 0 || (t.max_abs == 0 && run.censored() > 0);
    if (!t.counted || t.steps == 0 || may_be_rounded || t.least_zero_share < mostly_zero) continue;
    if (zero_tensors++ < o.worst)
      f.evidence.push_back(
          fmt::format("{}: at least {} exact zeros in every step: a mask, dead units, or rows that no "
                      "batch used, not underflow",
                      tensors[i].name, percent(t.least_zero_share)));
  }
  if (zero_tensors > 0) parts.push_back(fmt::format("zeros of {}", count_text(zero_tensors, "tensor")));
  if (!parts.empty()) f.grade = finding_grade::notable;
  f.conclusion = parts.empty() ? "nothing of that kind was found" : fmt::format("{}", fmt::join(parts, "; "));
  f.numbers = {{"overflow_steps_at_1", run.as_recorded() ? table_value{} : integer(w.overflowing(1))},
               {"mostly_zero_tensors", integer(zero_tensors)},
               {"censored_zeros", integer(run.censored())}};
  if (run.censored() > 0)
    f.limits = fmt::format("{} rounded to a narrow format before recording; earlier underflow is unknown.",
                           were(run.censored(), "zero"));
  return f;
}

finding which_clipping(const survey& run, const advice_options& o) {
  finding f{.topic = "clipping", .question = "How often would clipping by the norm trigger?"};
  std::vector<double> norms;
  for (const step_survey& s : run.steps()) norms.push_back(s.norm);
  // As a replay marks what is modelled.
  const char* const about = std::ranges::all_of(run.steps(), &step_survey::norm_is_exact) ? "" : "~";
  const clip_rates rates(clip_rates::compares::norm, norms);
  const double largest = rates.finite() == 0 ? not_known : rates.quantile(1);
  if (rates.finite() < steps_for_rates) {
    f.conclusion = fmt::format("not answered: {} cannot tell; the largest norm is {}{:.3g}",
                               count_text(rates.finite(), "finite step"), about, largest);
    f.numbers = {{"norms", integer(rates.finite())}, {"largest", largest}};
    return f;
  }
  f.conclusion =
      fmt::format("--clip-norm 1 would trigger in {}{} of the finite steps, --clip-norm {}{:.4g} in at most 1 %", about,
                  percent(rates.rate(1)), about, rates.bound_for(0.01));
  f.evidence.push_back(
      fmt::format("norm in {0}: median {1}{2:.3g}, 90 % up to {1}{3:.3g}, 99 % up to {1}{4:.3g}, largest {1}{5:.3g}",
                  count_text(rates.finite(), "finite step"), about, rates.quantile(0.5), rates.quantile(0.9),
                  rates.quantile(0.99), largest));
  f.numbers = {{"trigger_rate_at_1", rates.rate(1)}, {"norms", integer(rates.finite())},
               {"median", rates.quantile(0.5)},      {"p90", rates.quantile(0.9)},
               {"p99", rates.quantile(0.99)},        {"largest", largest}};
  f.limits = "These are norms of the gradients as recorded; training with clipping would have had different ones." +
             left_out_text(o);
  if (*about != 0) f.limits += " Those marked ~ are estimated from cells: record with sums for exact ones.";
  return f;
}

}  // namespace ulp
