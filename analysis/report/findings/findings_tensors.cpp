#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <ulp/model/machines/policy_analysis.hpp>

#include "findings.hpp"

namespace ulp {
namespace {

// A scale that is safe, rounded down.
double safe_log2(double scale) { return std::floor(10 * std::log2(scale)) / 10; }

double largest_of(const survey& run, const tensor_set& set, bool checked_only) {
  double largest = 0;
  for (const std::size_t i : set.tensors)
    if (run.tensors()[i].checked || !checked_only) largest = std::max(largest, run.tensors()[i].max_abs);
  return largest;
}

finding_grade grade_of(const value_range& lost, const advice_options& o) {
  return lost.low >= much_of_a_tensor ? finding_grade::trouble
         : lost.high > o.epsilon      ? finding_grade::notable
                                      : finding_grade::fine;
}

// Zeros that were there before are no underflow, and are not hidden by "nothing".
std::string nothing_text(const survey& run) {
  std::uint64_t zeros = 0;
  for (const tensor_survey& t : run.tensors())
    if (t.counted) zeros += t.zeros;
  return zeros == 0
             ? "none: nothing underflows"
             : fmt::format("none: of what is not zero nothing underflows ({} recorded as zero)", were(zeros, "value"));
}

// "tensors", "groups": the noun where all of them are meant.
std::string all_text(const compared_sets& of) { return fmt::format("{}s", of.noun); }

}  // namespace

std::optional<finding> which_overflow_first(const survey& run, const std::vector<tensor_info>& tensors,
                                            const advice_options& o) {
  std::vector<std::size_t> lost;
  std::uint64_t steps = 0;  // that some tensor is first in
  for (std::size_t i = 0; i < run.tensors().size(); ++i) {
    if (run.tensors()[i].lost_steps > 0) lost.push_back(i);
    steps += run.tensors()[i].lost_first;
  }
  if (lost.empty()) return std::nullopt;
  const auto of = [&](std::size_t i) -> const tensor_survey& { return run.tensors()[i]; };
  std::ranges::stable_sort(lost, std::greater{}, [&](std::size_t i) {
    return std::pair{of(i).lost_first, of(i).lost_steps};
  });
  const std::size_t first = lost.front();
  finding f{.topic = "first_overflow", .question = "Which tensors overflow first?"};
  f.conclusion = fmt::format("{}: first in {} of {} overflows, and infinite or NaN in {}, from step {} on",
                             tensors[first].name, grouped(of(first).lost_first), grouped(steps),
                             grouped(of(first).lost_steps), of(first).first_lost_step);
  named_values shown;
  for (const std::size_t i : std::span(lost).first(std::min(lost.size(), o.worst))) {
    f.evidence.push_back(fmt::format("{}  first in {}, lost in {}, from step {} on", tensors[i].name,
                                     grouped(of(i).lost_first), grouped(of(i).lost_steps), of(i).first_lost_step));
    shown.all.push_back({tensors[i].name, named_values{{{"first_in", integer(of(i).lost_first)},
                                                        {"lost_steps", integer(of(i).lost_steps)},
                                                        {"first_step", of(i).first_lost_step}}}});
  }
  f.tensor = tensors[first].name;
  f.step = of(first).first_lost_step;
  f.numbers = {{"overflows", integer(steps)}, {"tensors", shown}};
  f.limits =
      "First is the infinite tensor that backward reaches first (of recorded activations, forward): it is where the overflow "
      "was first seen, not always where it arose.";
  return f;
}

finding which_lose_most(const survey& run, const compared_sets& of, int scale_log2, const advice_options& o) {
  const double scale = std::ldexp(1.0, scale_log2);
  finding f{.topic = "worst_" + all_text(of),
            .question = fmt::format("Which {} lose most in {} at the scale {}?", all_text(of), o.format_name,
                                    power(scale_log2))};
  f.numbers = {{"scale_log2", std::int64_t{scale_log2}}, {all_text(of), named_values{}}};
  struct loser {
    const tensor_set* set;
    value_range magnitude;
  };
  std::vector<loser> losers;
  for (const tensor_set& set : of.sets) losers.push_back({&set, magnitude_loss_of(run, set, o.how, scale)});
  // Of equal ones the first.
  std::ranges::sort(losers, {}, [](const loser& l) { return std::pair{-l.magnitude.high, l.set}; });
  losers.resize(std::min(losers.size(), o.worst));
  std::erase_if(losers, [](const loser& l) { return l.magnitude.high == 0; });
  if (losers.empty()) {
    f.conclusion =
        run.censored() == 0 ? nothing_text(run) : "none: nothing more underflows than had before it was recorded";
    return f;
  }
  std::size_t longest = 0;
  for (const loser& l : losers) longest = std::max(longest, l.set->name.size());
  named_values worst;
  for (const loser& l : losers) {
    const range_loss loss = loss_of(run, *l.set, o.how, scale);
    const double largest = largest_of(run, *l.set, false);
    f.evidence.push_back(fmt::format("{:<{}}  {}, largest gradient 2^{:.1f}", l.set->name, longest, loss_text(loss),
                                     std::log2(largest)));
    named_values numbers = numbers_of(loss);
    numbers.all.push_back({"max_abs", largest});
    worst.all.push_back({l.set->name, numbers});
    f.bars.push_back({l.set->name, l.magnitude, magnitude_text(l.magnitude), grade_of(l.magnitude, o)});
  }
  f.grade = f.bars.front().grade;
  if (of.sets[0].tensors.size() == 1) f.tensor = losers.front().set->name;
  f.numbers.back().value = worst;
  f.conclusion = fmt::format("{} loses {}", losers.front().set->name, magnitude_text(losers.front().magnitude)) +
                 (losers.size() == 1 ? "" : ", the others listed less");
  f.limits = "Shares of each tensor's own magnitude, summed over the run." + left_out_text(o);
  return f;
}

std::vector<tensor_set> sets_that_matter(const survey& run, const std::vector<tensor_info>& tensors) {
  // What is tiny beside the others moves no weight: the gradient of a key's bias in attention is rounding noise.
  constexpr double tiny = 0x1p-20;
  const auto mean_of = [&](const tensor_set& set) {
    return run.magnitudes(set).high / static_cast<double>(run.tensors()[set.tensors.front()].numel);
  };
  std::vector<tensor_set> sets = sets_by_tensor(run, tensors);
  std::erase_if(sets, [&](const tensor_set& set) {
    return tensors[set.tensors.front()].kind == tensor_kind::activation_grad ||
           run.tensors()[set.tensors.front()].numel == 0;
  });
  double largest_mean = 0;
  for (const tensor_set& set : sets) largest_mean = std::max(largest_mean, mean_of(set));
  std::erase_if(sets, [&](const tensor_set& set) { return mean_of(set) < tiny * largest_mean; });
  return sets;
}

finding which_need_own_scale(const survey& run, const compared_sets& of, const window& w, const advice_options& o) {
  finding f{.topic = fmt::format("{}_scales", of.noun),
            .question = fmt::format("Would a scale for each {} help?", of.noun)};
  std::vector<std::pair<double, const tensor_set*>> safe;
  for (const tensor_set& set : of.sets) {
    const double largest = largest_of(run, set, true);
    if (!(largest > 0)) continue;
    const double scale = range_scale_of(largest, o.how);
    if (std::isfinite(scale)) safe.emplace_back(scale, &set);
  }
  if (safe.size() < 2) {
    f.conclusion = of.sets.size() < 2 ? fmt::format("no: there is only one {}", of.noun)
                                      : fmt::format("no: fewer than two {} overflow at any scale", all_text(of));
    return f;
  }
  const auto by_scale = [](const auto& s) { return s.first; };
  const auto [least, greatest] = std::ranges::minmax(safe, {}, by_scale);
  const double binades = std::log2(greatest.first) - std::log2(least.first);
  // From the smallest number above zero to the largest.
  const double range = o.how.format.emax() - o.how.format.min_quantum_exponent();
  constexpr double little = 1e-3;
  // What overflowed tells more of a step than the largest of its finite gradients.
  const std::optional<int> most = w.largest_usual_safe();
  const double common = std::min(std::exp2(std::floor(std::log2(least.first))), std::ldexp(1.0, most.value_or(1000)));
  const bool one_serves = std::ranges::all_of(
      of.sets, [&](const tensor_set& set) { return magnitude_loss_of(run, set, o.how, common).high <= little; });
  f.conclusion = fmt::format(
      "{}; the largest safe scales of the {} are {:.1f} binades apart, of {} that {} spans",
      one_serves ? fmt::format("no: {} serves all, and none loses more than 0.1 % of its magnitude", as_power(common))
      : binades > range / 2 ? "yes: one scale cannot serve all"
      : binades > range / 4 ? fmt::format("it may, for the {} with the smallest gradients", all_text(of))
                            : "hardly: one scale serves the largest gradients of all",
      all_text(of), binades, range, o.format_name);
  if (!one_serves && binades > range / 4) f.grade = finding_grade::notable;
  f.numbers = {{"octaves_apart", binades}, {"octaves_of_format", range}};
  for (const auto& [word, of_it] : {std::pair{"least", least}, {"greatest", greatest}}) {
    const double log2 = safe_log2(of_it.first);
    f.evidence.push_back(fmt::format("{} 2^{:.1f}: {}", word, log2, of_it.second->name));
    f.numbers.push_back({word, named_values{{{"name", of_it.second->name}, {"scale_log2", log2}}}});
  }
  named_values each;
  for (const auto& [scale, set] : safe)
    each.all.push_back({set->name, named_values{{{"scale_log2", safe_log2(scale)}}}});
  f.numbers.push_back({fmt::format("{}s", of.noun), std::move(each)});
  f.limits =
      fmt::format(
          "By the largest finite gradient over the whole run of each {}{} whose overflow is checked (see --check).",
          of.noun == "tensor" ? "" : "tensor of a ", of.noun) +
      left_out_text(o);
  return f;
}

}  // namespace ulp
