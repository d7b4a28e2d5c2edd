#include <ulp/report/advice.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <string_view>
#include <tuple>

#include <ulp/formats/catalog.hpp>
#include <ulp/model/policy_analysis.hpp>
#include <ulp/report/table.hpp>

namespace ulp {
namespace {

std::string percent(double share) { return fmt::format("{:.3g} %", 100 * share); }

std::string power(int k) { return fmt::format("2^{}", k); }

// "1 zero was", "3 zeros were".
std::string were(std::uint64_t n, std::string_view noun) { return count_text(n, noun) + (n == 1 ? " was" : " were"); }

std::string places_text(std::int64_t first, std::int64_t last) {
  return first == last ? fmt::format("step {}", first) : fmt::format("steps {} to {}", first, last);
}

std::string steps_text(std::uint64_t n) { return count_text(n, "step"); }

double nonzero_of(const outcome_counts& c) { return static_cast<double>(c.numel - c.zero - c.nonfinite); }

// Of the nonzero values.
value_range share_of(const count_range& c, double nonzero) {
  if (nonzero == 0) return {};
  return {static_cast<double>(c.low) / nonzero, static_cast<double>(c.high) / nonzero};
}
value_range underflow_of(const outcome_counts& c) { return share_of(c.underflow, nonzero_of(c)); }

std::string range_text(const value_range& share) {
  const std::string low = fmt::format("{:.3g}", 100 * share.low);
  const std::string high = fmt::format("{:.3g}", 100 * share.high);
  return low == high ? low + " %" : "[" + low + ", " + high + "] %";
}

// A scale that is safe, rounded down.
std::string safe_text(double scale) { return fmt::format("2^{:.1f}", std::floor(10 * std::log2(scale)) / 10); }

// Of the steps whose largest gradient is known and finite: from which scales on they overflow.
struct window {
  std::vector<double> critical;  // ascending; infinite where no scale overflows

  [[nodiscard]] std::uint64_t overflowing(double scale) const {
    return static_cast<std::uint64_t>(std::ranges::lower_bound(critical, scale) - critical.begin());
  }
  // The largest power of two that no step overflows at; nullopt where every scale is safe.
  [[nodiscard]] std::optional<int> largest_safe() const {
    if (critical.empty() || std::isinf(critical.front())) return std::nullopt;
    return static_cast<int>(std::floor(std::log2(critical.front())));
  }
};

window window_of(const survey& run, const format& to, const rounding& mode) {
  window w;
  for (const step_survey& s : run.steps())
    if (s.known && std::isfinite(s.max_abs)) w.critical.push_back(range_scale_of(s.max_abs, to, mode));
  std::ranges::sort(w.critical);
  return w;
}

// The smallest power of two from which on no more than epsilon underflows; nullopt where none up to 2^100 does.
std::optional<int> least_scale(const survey& run, const advice_options& o) {
  constexpr int lowest = -100;
  constexpr int highest = 100;
  const auto fine = [&](int k) {
    return underflow_of(run.outcomes(o.format, o.rounding, std::ldexp(1.0, k))).high <= o.epsilon;
  };
  if (!fine(highest)) return std::nullopt;
  int bad = lowest;
  int good = highest;
  if (fine(bad)) return bad;
  while (good - bad > 1) {
    const int middle = bad + (good - bad) / 2;
    (fine(middle) ? good : bad) = middle;
  }
  return good;
}

// Steps in a row whose gradients are not finite as recorded.
struct bad_run {
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::uint64_t steps = 0;
  bool ends_the_run = false;
  bool loss_lost = false;  // infinite or NaN where other steps logged a finite one

  // Longer than any search for a scale, or with the loss itself: no scale cures it.
  [[nodiscard]] bool is_forward() const { return loss_lost || steps >= longest_search; }

 private:
  static constexpr std::uint64_t longest_search = 30;  // as trajectory_watch has it
};

std::vector<bad_run> bad_runs_of(const survey& run) {
  std::vector<bad_run> all;
  bool inside = false;
  const bool logged = std::ranges::any_of(run.steps(), [](const step_survey& s) { return std::isfinite(s.loss); });
  for (const step_survey& s : run.steps()) {
    const bool bad = s.known && !std::isfinite(s.max_abs);
    // A loss that is lost parts overflow of the forward pass from what came before.
    const bool lost = bad && logged && !std::isfinite(s.loss);
    if (bad && (!inside || all.back().loss_lost != lost)) all.push_back({.first = s.key.step, .loss_lost = lost});
    if (bad) {
      all.back().last = s.key.step;
      ++all.back().steps;
    }
    inside = bad;
  }
  if (inside) all.back().ends_the_run = true;
  return all;
}

finding what_happened(const std::vector<bad_run>& bad) {
  finding f{.question = "What happened?"};
  const auto told = [&](bool forward) {
    std::uint64_t steps = 0;
    const bad_run* first = nullptr;
    const bad_run* last = nullptr;
    for (const bad_run& b : bad) {
      if (b.is_forward() != forward) continue;
      steps += b.steps;
      first = first == nullptr ? &b : first;
      last = &b;
    }
    if (first == nullptr) return std::pair{std::int64_t{0}, std::string{}};
    const std::string where = fmt::format("{} ({})", steps_text(steps), places_text(first->first, last->last));
    return std::pair{first->first,
                     forward ? fmt::format("forward overflow in {}, which no scale cures", where)
                             : fmt::format("gradient overflow in {}, {}", where,
                                           last->ends_the_run ? "at the end without recovery"
                                                              : "after which training goes on at a lower scale")};
  };
  auto scaled = told(false);
  auto forward = told(true);
  if (scaled.second.empty() || (!forward.second.empty() && forward.first < scaled.first)) std::swap(scaled, forward);
  f.conclusion = scaled.second + (forward.second.empty() ? "" : "; then " + forward.second);
  constexpr std::size_t most = 8;
  for (std::size_t i = 0; i < std::min(bad.size(), most); ++i)
    f.evidence.push_back(places_text(bad[i].first, bad[i].last));
  if (bad.size() > most) f.evidence.push_back(fmt::format("and {}", count_text(bad.size() - most, "more such place")));
  f.limits =
      "The two are told apart by the logged loss (--scalars), which a forward overflow takes along, and by how long "
      "they last: a "
      "falling scale takes fewer than 30 steps in a row. Single bad batches look like the first.";
  return f;
}

// In the order of preference: as many fraction bits as possible.
constexpr std::array formats_to_try{"float16", "cbfloat16", "bfloat16", "float8_e4m3fn", "float8_e5m2"};
constexpr std::size_t sixteen_bits = 3;

finding which_format(const survey& run, const advice_options& o) {
  finding f{.question = "Which format holds these gradients without a loss scale?"};
  const double all = run.magnitudes();
  std::string sufficient;
  std::string perhaps;
  double nonzero = 0;
  for (std::size_t i = 0; i < formats_to_try.size(); ++i) {
    const std::string name = formats_to_try[i];
    const format to = *find_format(name);
    const outcome_counts c = run.outcomes(to, o.rounding, 1);
    nonzero = nonzero_of(c);
    const lost_mass lost = run.lost(to, o.rounding, 1);
    const std::uint64_t overflowing = window_of(run, to, o.rounding).overflowing(1);
    f.evidence.push_back(
        fmt::format("{:<14} {} of the nonzero gradients underflow, {} of the sum of magnitudes; overflow in {}", name,
                    range_text(underflow_of(c)),
                    all > 0 && std::isfinite(lost.magnitudes.high)
                        ? range_text({lost.magnitudes.low / all, lost.magnitudes.high / all})
                        : std::string{"an unknown part"},
                    steps_text(overflowing)));
    if (i >= sixteen_bits || overflowing > 0) continue;
    if (sufficient.empty() && underflow_of(c).high <= o.epsilon) sufficient = name;
    if (perhaps.empty() && underflow_of(c).low <= o.epsilon) perhaps = name;
  }
  const std::uint64_t censored = run.censored();
  if (static_cast<double>(censored) > o.epsilon * nonzero) {
    f.conclusion = fmt::format(
        "it cannot be told: {} rounded to a narrow format before {} recorded, and may have underflowed then",
        were(censored, "zero"), censored == 1 ? "it was" : "they were");
    return f;
  }
  if (sufficient.empty())
    f.conclusion = fmt::format("none of 16 bits{}: each loses more than {} of the nonzero gradients or overflows",
                               perhaps.empty() ? "" : " for certain", percent(o.epsilon));
  else
    f.conclusion = fmt::format("{}: no more than {} of the nonzero gradients underflow, and no finite step overflows",
                               sufficient, percent(o.epsilon));
  if (!perhaps.empty() && perhaps != sufficient)
    f.conclusion += fmt::format("; perhaps {}, which the input leaves open", perhaps);
  f.limits =
      "Range only: how much precision training needs is not seen in gradients, and accumulations are not looked at.";
  return f;
}

finding which_scale(const survey& run, const window& w, const advice_options& o, bool has_values) {
  finding f{.question = fmt::format("Which static loss scale suffices in {}?", o.format_name)};
  const std::optional<int> most = w.largest_safe();
  const std::string top = most ? "up to " + power(*most) + " no finite step overflows" : "no scale overflows";
  f.limits = "Of this run: later gradients may be larger. What overflows in the forward pass is not seen.";
  if (!has_values) {
    f.conclusion = top;
    f.evidence.push_back("a step log does not tell what underflows");
    return f;
  }
  const std::optional<int> least = least_scale(run, o);
  if (!least)
    f.conclusion = fmt::format("none: at every scale up to 2^100 more than {} underflow; {}", percent(o.epsilon), top);
  else if (most && *least > *most)
    f.conclusion =
        fmt::format("none: from {} on no more than {} underflow, but only {}", power(*least), percent(o.epsilon), top);
  else
    f.conclusion = fmt::format("{}: from {} on no more than {} underflow, and {}",
                               most && *least == *most ? power(*least) + " alone"
                                                       : power(*least) + " to " + (most ? power(*most) : "any"),
                               power(*least), percent(o.epsilon), top);
  std::vector<int> shown{0, 8, 16};
  if (least) shown.push_back(*least);
  if (most) shown.insert(shown.end(), {*most, *most + 1});
  std::ranges::sort(shown);
  shown.erase(std::unique(shown.begin(), shown.end()), shown.end());
  for (const int k : shown) {
    if (std::abs(k) > 100) continue;
    const double scale = std::ldexp(1.0, k);
    f.evidence.push_back(fmt::format("{:<6} {} underflow, overflow in {}", power(k),
                                     range_text(underflow_of(run.outcomes(o.format, o.rounding, scale))),
                                     steps_text(w.overflowing(scale))));
  }
  return f;
}

constexpr std::array<double, 5> trial_starts{0x1p8, 0x1p12, 0x1p16, 0x1p20, 0x1p24};
constexpr std::array<double, 7> trial_intervals{25, 50, 100, 200, 500, 1000, 2000};
constexpr double default_start = 65536;
constexpr double default_interval = 2000;

struct trial {
  double start = 0;
  double interval = 0;
  const sweep_result* result = nullptr;
};

trial trial_of(const scenario& s, const sweep_result& r) {
  trial t{.result = &r};
  for (const scaler_parameter& p : s.scaler.parameters()) {
    const double* const number = std::get_if<double>(&p.value);
    if (p.name == "init_scale") t.start = *number;
    if (p.name == "growth_interval") t.interval = *number;
  }
  return t;
}

finding which_policy(const survey& run, const std::vector<scenario>& scenarios,
                     const std::vector<sweep_result>& results) {
  constexpr double most_skipped = 0.01;
  finding f{.question = "Which start and growth interval of PyTorch's GradScaler?"};
  std::vector<trial> trials;
  for (std::size_t i = 0; i < results.size(); ++i) trials.push_back(trial_of(scenarios[i], results[i]));
  const auto line = [&](const trial& t) {
    return fmt::format("init_scale={} growth_interval={}: {} skipped{}, mean scale {}", as_power(t.start), t.interval,
                       steps_text(t.result->skipped),
                       t.result->has_counts
                           ? fmt::format(", {} underflow", range_text(share_of(t.result->underflow,
                                                                               static_cast<double>(t.result->nonzero))))
                           : "",
                       power_text(t.result->mean_log2_scale));
  };
  for (const trial& t : trials)
    if (t.start == default_start && t.interval == default_interval)
      f.evidence.push_back("PyTorch's defaults: " + line(t));
  std::erase_if(trials, [](const trial& t) { return t.result->last_scale == 0; });
  if (trials.empty()) {
    f.conclusion = "none: the scale of every trial falls to 0 in steps that no scale keeps from overflow";
    return f;
  }
  const std::uint64_t least_skipped =
      std::ranges::min(trials, {}, [](const trial& t) { return t.result->skipped; }).result->skipped;
  const std::uint64_t allowed =
      std::max(least_skipped, static_cast<std::uint64_t>(most_skipped * static_cast<double>(run.steps().size())));
  std::erase_if(trials, [&](const trial& t) { return t.result->skipped > allowed; });
  // The least underflow; of equal ones the fewest skips, and then the longest interval from the usual start.
  const auto rank = [](const trial& t) {
    return std::tuple{t.result->underflow_share(), t.result->skipped, -t.interval,
                      std::abs(std::log2(t.start / default_start))};
  };
  f.conclusion = line(std::ranges::min(trials, {}, rank));
  f.evidence.push_back(fmt::format(
      "of {} trials (starts 2^8, 2^12, ... 2^24, intervals 25 to 2000), those that skip more than {} left out",
      results.size(), steps_text(allowed)));
  f.limits =
      "Open loop: a step that is skipped here and was applied in the run would have changed the gradients after it. "
      "Rates carry over to a similar run, single steps do not.";
  return f;
}

finding which_tensors(const survey& run, const std::vector<tensor_info>& tensors, int scale_log2,
                      const advice_options& o) {
  const double scale = std::ldexp(1.0, scale_log2);
  finding f{.question =
                fmt::format("Which tensors lose most in {} at the scale {}?", o.format_name, power(scale_log2))};
  struct loss {
    std::size_t tensor;
    double share;
    outcome_counts counts;
  };
  std::vector<loss> losses;
  double lost_in_all = 0;
  for (std::size_t i = 0; i < run.tensors().size(); ++i) {
    if (!run.tensors()[i].counted || run.tensors()[i].steps == 0) continue;
    const outcome_counts c = run.tensors()[i].outcomes(o.format, o.rounding, scale);
    losses.push_back({i, underflow_of(c).high, c});
    lost_in_all += static_cast<double>(c.underflow.high);
  }
  std::ranges::sort(
      losses, [](const loss& a, const loss& b) { return std::tie(b.share, a.tensor) < std::tie(a.share, b.tensor); });
  if (losses.empty() || losses.front().share == 0) {
    f.conclusion = "none: nothing underflows";
    return f;
  }
  double named = 0;
  for (const loss& l : losses) {
    if (f.evidence.size() == o.worst || l.share == 0) break;
    named += static_cast<double>(l.counts.underflow.high);
    f.evidence.push_back(fmt::format("{:<28} {} of its nonzero gradients underflow, largest gradient 2^{:.1f}",
                                     tensors[l.tensor].name, percent(l.share),
                                     std::log2(run.tensors()[l.tensor].max_abs)));
  }
  f.conclusion = fmt::format("{} with {}; {} {} of all underflow", tensors[losses.front().tensor].name,
                             percent(losses.front().share),
                             f.evidence.size() == 1 ? "it holds" : fmt::format("the {} named hold", f.evidence.size()),
                             percent(named / lost_in_all));
  f.limits = "Shares say how many gradients are lost, not how much they would have moved the weights.";
  return f;
}

finding which_clipping(const survey& run) {
  finding f{.question = "How often would clipping by the norm trigger?"};
  std::vector<double> norms;
  for (const step_survey& s : run.steps())
    if (std::isfinite(s.norm)) norms.push_back(s.norm);
  std::ranges::sort(norms);
  const auto quantile = [&](double q) {
    return norms[static_cast<std::size_t>(q * static_cast<double>(norms.size() - 1))];
  };
  const auto triggers = [&](double bound) {
    return static_cast<double>(
               std::ranges::count_if(norms, [&](double n) { return norm_clipping{bound}.triggers(n); })) /
           static_cast<double>(norms.size());
  };
  f.conclusion = fmt::format("--clip-norm 1 in {} of the steps; in one of a hundred at {:.3g}", percent(triggers(1)),
                             quantile(0.99));
  f.evidence.push_back(fmt::format("norm in {}: median {:.3g}, 90 % below {:.3g}, 99 % below {:.3g}, largest {:.3g}",
                                   count_text(norms.size(), "finite step"), quantile(0.5), quantile(0.9),
                                   quantile(0.99), norms.back()));
  f.limits = "Norms of the gradients as recorded: training with clipping would have had others.";
  return f;
}

finding which_layers(const survey& run, const std::vector<tensor_info>& tensors, const advice_options& o) {
  finding f{.question = "Would a scale for each tensor help?"};
  std::vector<std::pair<double, std::size_t>> safe;
  for (std::size_t i = 0; i < run.tensors().size(); ++i) {
    const tensor_survey& t = run.tensors()[i];
    if (!t.checked || !(t.max_abs > 0)) continue;
    const double scale = range_scale_of(t.max_abs, o.format, o.rounding);
    if (std::isfinite(scale)) safe.emplace_back(scale, i);
  }
  if (safe.size() < 2) {
    f.conclusion = "no: there are not two tensors that a scale makes overflow";
    return f;
  }
  const auto [least, greatest] = std::ranges::minmax(safe);
  const double octaves = std::log2(greatest.first) - std::log2(least.first);
  // From the smallest number above zero to the largest.
  const double range = o.format.emax() - o.format.min_subnormal_exponent();
  f.conclusion = fmt::format("the largest safe scales of the tensors are {:.1f} octaves apart, of {} that {} spans: {}",
                             octaves, range, o.format_name,
                             octaves > range / 2   ? "yes, one scale cannot serve all"
                             : octaves > range / 4 ? "it may, for the tensors with the smallest gradients"
                                                   : "hardly, for the largest gradients one scale serves all");
  f.evidence.push_back(fmt::format("least {}: {}", safe_text(least.first), tensors[least.second].name));
  f.evidence.push_back(fmt::format("greatest {}: {}", safe_text(greatest.first), tensors[greatest.second].name));
  f.limits = "By the largest gradient over the whole run of each tensor whose overflow is checked (see --check).";
  return f;
}

finding what_scaling_cannot_help(const survey& run, const std::vector<tensor_info>& tensors, const window& w,
                                 const std::vector<bad_run>& bad, const advice_options& o) {
  finding f{.question = "What can scaling not help?"};
  constexpr double mostly_zero = 0.5;
  std::vector<std::string> parts;
  std::uint64_t forward = 0;
  for (const bad_run& b : bad) forward += b.is_forward() ? b.steps : 0;
  if (forward > 0) parts.push_back(fmt::format("forward overflow in {}: see what happened", steps_text(forward)));
  const std::uint64_t below_one = w.overflowing(1);
  if (below_one > 0 && !run.as_recorded()) {
    parts.emplace_back("overflow without any scale");
    f.evidence.push_back(
        fmt::format("overflow in {} of {} even at the scale 1: activations or losses are too large, not the scale",
                    o.format_name, steps_text(below_one)));
  }
  std::uint64_t zero_tensors = 0;
  for (std::size_t i = 0; i < run.tensors().size(); ++i) {
    const tensor_survey& t = run.tensors()[i];
    if (!t.counted || t.steps == 0 || t.censored > 0 || t.least_zero_share < mostly_zero) continue;
    if (zero_tensors++ < o.worst)
      f.evidence.push_back(
          fmt::format("{}: {} exact zeros in every step at least: a mask, dead units, or rows that no "
                      "batch used, not underflow",
                      tensors[i].name, percent(t.least_zero_share)));
  }
  if (zero_tensors > 0) parts.push_back(fmt::format("zeros of {}", count_text(zero_tensors, "tensor")));
  f.conclusion = parts.empty() ? "nothing of that kind was found" : fmt::format("{}", fmt::join(parts, "; "));
  if (run.censored() > 0)
    f.limits = fmt::format("{} rounded to a narrow format before recording: underflow until then is not known.",
                           were(run.censored(), "zero"));
  return f;
}

}  // namespace

std::vector<scenario> scaler_trials(const advice_options& options, const selection& counted,
                                    const std::optional<std::regex>& checked) {
  std::vector<scenario> all;
  for (const double start : trial_starts)
    for (const double interval : trial_intervals) {
      scenario s{
          make_scaler(*find_scaler("pytorch_gradscaler"), {{"init_scale", start}, {"growth_interval", interval}})};
      s.format = options.format;
      s.rounding = options.rounding;
      s.counted = counted;
      s.checked = checked;
      all.push_back(std::move(s));
    }
  return all;
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
  if (!bad.empty()) all.push_back(what_happened(bad));
  if (!has_values && !has_maxima) {
    if (std::ranges::any_of(run.steps(), &step_survey::known))
      all.push_back({.question = "What does the run need?",
                     .conclusion = "it holds no gradient that is finite and not zero: there is nothing to judge",
                     .evidence = {},
                     .limits = {}});
    return all;
  }
  if (run.as_recorded())
    all.push_back(
        {.question = "What do scales multiply here?",
         .conclusion = "the values as recorded, since their factor is not known",
         .evidence = {"where they were recorded under a loss scale, give --factor, or --scalars with --factor scale"},
         .limits = "What needs the true gradient is left out: formats without a scale, clipping."});
  if (has_values && !run.as_recorded()) all.push_back(which_format(run, options));
  if (has_maxima) {
    all.push_back(which_scale(run, w, options, has_values));
    all.push_back(which_policy(run, scenarios, trials));
  }
  if (has_values) {
    constexpr int usual = 16;
    all.push_back(which_tensors(run, tensors, std::min(w.largest_safe().value_or(usual), usual), options));
    if (!run.as_recorded() &&
        std::ranges::any_of(run.steps(), [](const step_survey& s) { return std::isfinite(s.norm); }))
      all.push_back(which_clipping(run));
    all.push_back(which_layers(run, tensors, options));
  }
  all.push_back(what_scaling_cannot_help(run, tensors, w, bad, options));
  return all;
}

}  // namespace ulp
