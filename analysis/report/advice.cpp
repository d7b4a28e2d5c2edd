#include <ulp/report/advice.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <optional>
#include <string_view>
#include <tuple>

#include <ulp/formats/catalog.hpp>
#include <ulp/model/policy_analysis.hpp>
#include <ulp/report/table.hpp>

namespace ulp {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

std::string percent(double share) { return fmt::format("{:.3g} %", 100 * share); }

std::string power(int k) { return fmt::format("2^{}", k); }

std::string steps_text(std::uint64_t n) { return fmt::format("{} step{}", grouped(n), n == 1 ? "" : "s"); }

double nonzero_of(const outcome_counts& c) { return static_cast<double>(c.numel - c.zero - c.nonfinite); }

// Of a mean over scales that may be 0 or infinite.
std::string log2_text(double log2) {
  return std::isfinite(log2) ? fmt::format("2^{:.1f}", log2) : log2 < 0 ? "0" : "inf";
}

// Of the nonzero values; of a range the upper end, so that nothing is promised that may not hold.
double underflow_share(const outcome_counts& c) {
  const double nonzero = nonzero_of(c);
  return nonzero == 0 ? 0 : static_cast<double>(c.underflow.high) / nonzero;
}

// What of the run can be scaled at all: the critical scales of the steps without NaN and recorded infinities.
struct window {
  std::vector<double> critical;  // ascending
  std::uint64_t hopeless = 0;    // steps that no scale keeps from overflow

  [[nodiscard]] std::uint64_t overflowing(double scale) const {
    const auto first_safe = std::ranges::lower_bound(critical, scale);
    return static_cast<std::uint64_t>(first_safe - critical.begin());
  }
  // The largest power of two that no step overflows at; nullopt where every scale is safe.
  [[nodiscard]] std::optional<int> largest_safe() const {
    if (critical.empty() || std::isinf(critical.front())) return std::nullopt;
    return static_cast<int>(std::floor(std::log2(critical.front())));
  }
};

window window_of(const survey& run, const format& to, const rounding& mode) {
  window w;
  for (const double c : run.critical_scales(to, mode)) {
    if (c > 0) w.critical.push_back(c);
    if (c == 0) ++w.hopeless;
  }
  std::ranges::sort(w.critical);
  return w;
}

// The smallest power of two from which on no more than epsilon underflows; nullopt where none up to 2^100 does.
std::optional<int> least_scale(const survey& run, const advice_options& o) {
  constexpr int lowest = -100;
  constexpr int highest = 100;
  const auto fine = [&](int k) {
    return underflow_share(run.outcomes(o.format, o.rounding, std::ldexp(1.0, k))) <= o.epsilon;
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
  bool loss_infinite = false;
};

std::vector<bad_run> bad_runs_of(const survey& run) {
  std::vector<bad_run> all;
  bool inside = false;
  for (const step_survey& s : run.steps()) {
    const bool bad = s.known && !std::isfinite(s.max_abs);
    if (bad && !inside) all.push_back({.first = s.key.step});
    if (bad) {
      all.back().last = s.key.step;
      ++all.back().steps;
      all.back().loss_infinite = all.back().loss_infinite || std::isinf(s.loss);
    }
    inside = bad;
  }
  if (inside) all.back().ends_the_run = true;
  return all;
}

// A lower scale cures overflow of scaled gradients within a step or two; what stays is in the forward pass.
finding what_happened(const survey& run, const std::vector<bad_run>& bad) {
  constexpr std::uint64_t longest_cured = 4;
  finding f{.question = "What happened?"};
  const auto is_cured = [](const bad_run& b) {
    return b.steps <= longest_cured && !b.loss_infinite && !(b.ends_the_run && b.steps > 1);
  };
  const auto last_cured = std::ranges::find_if_not(bad, is_cured);
  std::vector<std::string> story;
  if (last_cured != bad.begin()) {
    std::uint64_t cured = 0;
    for (auto b = bad.begin(); b != last_cured; ++b) cured += b->steps;
    const bad_run& first = bad.front();
    const bad_run& last = *std::prev(last_cured);
    story.push_back(fmt::format("gradient overflow in {} (step {}{}), after which training went on at a lower scale",
                                steps_text(cured), first.first,
                                first.first == last.last ? "" : fmt::format(" to {}", last.last)));
  }
  if (last_cured != bad.end()) {
    std::uint64_t lost = 0;
    for (auto b = last_cured; b != bad.end(); ++b) lost += b->steps;
    const auto rest =
        std::ranges::count_if(run.steps(), [&](const step_survey& s) { return s.key.step >= last_cured->first; });
    story.push_back(
        fmt::format("forward overflow from step {} on, which no scale cures: {} of the {} from there are not finite{}",
                    last_cured->first, grouped(lost), steps_text(static_cast<std::uint64_t>(rest)),
                    bad.back().ends_the_run ? ", to the end of the run" : ""));
  }
  f.conclusion = fmt::format("{}", fmt::join(story, "; then "));
  std::size_t listed = 0;
  for (const bad_run& b : bad) {
    if (++listed > 8) break;
    f.evidence.push_back(b.steps == 1 ? fmt::format("step {} is not finite", b.first)
                                      : fmt::format("steps {} to {} are not finite", b.first, b.last));
  }
  if (bad.size() > f.evidence.size())
    f.evidence.push_back(fmt::format("and {} more such places", bad.size() - f.evidence.size()));
  f.limits =
      fmt::format("The two are told apart by how long they last: a falling scale takes no more than {} steps in a row.",
                  longest_cured);
  return f;
}

// In the order of preference: as many fraction bits as possible.
constexpr std::array formats_to_try{"float16", "cbfloat16", "bfloat16", "float8_e4m3fn", "float8_e5m2"};
constexpr std::size_t sixteen_bits = 3;

finding which_format(const survey& run, const advice_options& o) {
  finding f{.question = "Which format holds these gradients without a loss scale?"};
  const double all = run.magnitudes();
  std::string sufficient;
  for (std::size_t i = 0; i < formats_to_try.size(); ++i) {
    const std::string name = formats_to_try[i];
    const format to = *find_format(name);
    const outcome_counts c = run.outcomes(to, o.rounding, 1);
    const lost_mass lost = run.lost(to, o.rounding, 1);
    const std::uint64_t overflowing = window_of(run, to, o.rounding).overflowing(1);
    f.evidence.push_back(
        fmt::format("{:<14} {} of the nonzero gradients underflow, {} of the sum of magnitudes; overflow in {}", name,
                    percent(underflow_share(c)),
                    all > 0 && std::isfinite(lost.magnitudes.high) ? percent(lost.magnitudes.high / all)
                                                                   : std::string{"an unknown part"},
                    steps_text(overflowing)));
    if (i < sixteen_bits && sufficient.empty() && underflow_share(c) <= o.epsilon && overflowing == 0)
      sufficient = name;
  }
  f.conclusion = sufficient.empty()
                     ? fmt::format("none of 16 bits: each loses more than {} of the nonzero gradients or overflows",
                                   percent(o.epsilon))
                     : fmt::format("{}: no more than {} of the nonzero gradients underflow, and no step overflows",
                                   sufficient, percent(o.epsilon));
  f.limits =
      "Range only: how much precision training needs is not seen in gradients, and accumulations are not looked at.";
  return f;
}

finding which_scale(const survey& run, const window& w, const advice_options& o) {
  finding f{.question = fmt::format("Which static loss scale suffices in {}?", o.format_name)};
  const std::optional<int> most = w.largest_safe();
  const std::string top = most ? "up to " + power(*most) + " no step overflows" : "no scale overflows";
  f.limits = "Of this run: later gradients may be larger. What overflows in the forward pass is not seen.";
  if (run.tensors().empty()) {
    f.conclusion = top;
    f.evidence.push_back("a step log does not tell what underflows");
    return f;
  }
  const std::optional<int> least = least_scale(run, o);
  if (!least)
    f.conclusion = fmt::format("none: at every scale more than {} underflow", percent(o.epsilon));
  else if (most && *least > *most)
    f.conclusion =
        fmt::format("none: from {} on no more than {} underflow, but only {}", power(*least), percent(o.epsilon), top);
  else
    f.conclusion = fmt::format("{} to {}: from {} on no more than {} underflow, and {}", power(*least),
                               most ? power(*most) : "any", power(*least), percent(o.epsilon), top);
  const auto line = [&](int k) {
    f.evidence.push_back(fmt::format("{:<6} {} underflow, overflow in {}", power(k),
                                     percent(underflow_share(run.outcomes(o.format, o.rounding, std::ldexp(1.0, k)))),
                                     steps_text(w.overflowing(std::ldexp(1.0, k)))));
  };
  std::vector<int> shown{0, 8, 16};
  if (least) shown.push_back(*least);
  if (most) shown.insert(shown.end(), {*most, *most + 1});
  std::ranges::sort(shown);
  shown.erase(std::unique(shown.begin(), shown.end()), shown.end());
  for (const int k : shown)
    if (k > -100 && k < 100) line(k);
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
  const trial best = std::ranges::min(trials, {}, rank);
  const auto line = [&](const trial& t) {
    return fmt::format("init_scale={} growth_interval={}: {} skipped{}, mean scale {}", as_power(t.start), t.interval,
                       steps_text(t.result->skipped),
                       t.result->has_counts ? fmt::format(", {} underflow", percent(t.result->underflow_share())) : "",
                       log2_text(t.result->mean_log2_scale));
  };
  f.conclusion = line(best);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const trial t = trial_of(scenarios[i], results[i]);
    if (t.start == default_start && t.interval == default_interval)
      f.evidence.push_back("PyTorch's defaults: " + line(t));
  }
  f.evidence.push_back(fmt::format("of {} trials, those with more than {} skipped left out", grouped(results.size()),
                                   percent(static_cast<double>(allowed) / static_cast<double>(run.steps().size()))));
  f.limits =
      "Open loop: a step that is skipped here and was applied in the run would have changed the gradients after it. "
      "Rates "
      "carry over to a similar run, single steps do not.";
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
    losses.push_back({i, underflow_share(c), c});
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
  f.conclusion = fmt::format("{} with {}; the {} named hold {} of all underflow", tensors[losses.front().tensor].name,
                             percent(losses.front().share), f.evidence.size(), percent(named / lost_in_all));
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
  f.evidence.push_back(
      fmt::format("norm in {} finite steps: median {:.3g}, 90 % below {:.3g}, 99 % below {:.3g}, largest {:.3g}",
                  grouped(norms.size()), quantile(0.5), quantile(0.9), quantile(0.99), norms.back()));
  f.limits = "Norms of the gradients as recorded: training with clipping would have had others.";
  return f;
}

finding which_layers(const survey& run, const std::vector<tensor_info>& tensors, const advice_options& o) {
  finding f{.question = "Would a scale for each tensor help?"};
  double least = infinity;
  double greatest = 0;
  std::size_t least_tensor = 0;
  std::size_t greatest_tensor = 0;
  for (std::size_t i = 0; i < run.tensors().size(); ++i) {
    const tensor_survey& t = run.tensors()[i];
    if (!t.checked || !(t.max_abs > 0)) continue;
    const double c = critical_scale_of(t.max_abs, o.format, o.rounding).largest_safe;
    if (c < least) least_tensor = i;
    if (c > greatest) greatest_tensor = i;
    least = std::min(least, c);
    greatest = std::max(greatest, c);
  }
  if (!(greatest > 0) || std::isinf(greatest)) {
    f.conclusion = "no: no scale overflows";
    return f;
  }
  const double octaves = std::log2(greatest) - std::log2(least);
  // From the smallest number above zero to the largest.
  const double range = o.format.emax() - o.format.min_subnormal_exponent();
  f.conclusion = fmt::format("the largest safe scales of the tensors are {:.1f} octaves apart, of {} that {} spans: {}",
                             octaves, range, o.format_name,
                             octaves > range / 2   ? "yes, one scale cannot serve all"
                             : octaves > range / 4 ? "it may, for the tensors with the smallest gradients"
                                                   : "hardly, one scale serves all");
  f.evidence.push_back(fmt::format("least 2^{:.1f}: {}", std::log2(least), tensors[least_tensor].name));
  f.evidence.push_back(fmt::format("greatest 2^{:.1f}: {}", std::log2(greatest), tensors[greatest_tensor].name));
  f.limits = "By the largest gradient of each tensor over the whole run.";
  return f;
}

finding what_scaling_cannot_help(const survey& run, const std::vector<tensor_info>& tensors, const window& w,
                                 const advice_options& o) {
  finding f{.question = "What can scaling not help?"};
  constexpr double mostly_zero = 0.5;
  std::optional<std::int64_t> first_nonfinite;
  std::uint64_t infinite = 0;
  for (const step_survey& s : run.steps()) {
    if (!s.known || std::isfinite(s.max_abs)) continue;
    if (!first_nonfinite) first_nonfinite = s.key.step;
    infinite += std::isinf(s.max_abs) ? 1 : 0;
  }
  if (first_nonfinite)
    f.evidence.push_back(
        fmt::format("{} hold NaN and {} others infinities as recorded, first step {}: look at the forward "
                    "pass and at the batch there",
                    steps_text(w.hopeless - std::min(w.hopeless, infinite)), grouped(infinite), *first_nonfinite));
  const std::uint64_t below_one = w.overflowing(1);
  if (below_one > 0)
    f.evidence.push_back(
        fmt::format("overflow in {} of {} even at the scale 1: activations or losses are too large, not the scale",
                    o.format_name, steps_text(below_one)));
  std::uint64_t listed = 0;
  std::uint64_t zero_tensors = 0;
  for (std::size_t i = 0; i < run.tensors().size(); ++i) {
    const tensor_survey& t = run.tensors()[i];
    if (!t.counted || t.steps == 0 || t.least_zero_share < mostly_zero) continue;
    ++zero_tensors;
    if (listed++ < o.worst)
      f.evidence.push_back(
          fmt::format("{}: {} exact zeros in every step at least: a mask, dead units, or rows that no batch "
                      "used, not underflow",
                      tensors[i].name, percent(t.least_zero_share)));
  }
  std::vector<std::string> parts;
  if (first_nonfinite) parts.push_back("NaN or infinity in the run itself");
  if (below_one > 0) parts.push_back("overflow without any scale");
  if (zero_tensors > 0)
    parts.push_back(fmt::format("zeros of {} tensor{}", zero_tensors, zero_tensors == 1 ? "" : "s"));
  f.conclusion = parts.empty() ? "nothing of that kind was found" : fmt::format("{}", fmt::join(parts, "; "));
  f.limits = "Zeros are told from underflow only where values were not rounded before they were recorded.";
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
      std::ranges::any_of(run.tensors(), [](const tensor_survey& t) { return t.counted && t.steps > 0; });
  const window w = window_of(run, options.format, options.rounding);
  const bool maxima_known = !w.critical.empty() || w.hopeless > 0;
  if (const std::vector<bad_run> bad = bad_runs_of(run); !bad.empty()) all.push_back(what_happened(run, bad));
  if (has_values) all.push_back(which_format(run, options));
  if (maxima_known) {
    all.push_back(which_scale(run, w, options));
    all.push_back(which_policy(run, scenarios, trials));
  }
  if (has_values) {
    constexpr int usual = 16;
    const int scale = std::min(w.largest_safe().value_or(usual), usual);
    all.push_back(which_tensors(run, tensors, scale, options));
    if (std::ranges::any_of(run.steps(), [](const step_survey& s) { return std::isfinite(s.norm); }))
      all.push_back(which_clipping(run));
    all.push_back(which_layers(run, tensors, options));
  }
  if (maxima_known) all.push_back(what_scaling_cannot_help(run, tensors, w, options));
  return all;
}

}  // namespace ulp
