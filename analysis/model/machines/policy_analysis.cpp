#include <ulp/model/machines/policy_analysis.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include <ulp/formats/codec.hpp>
#include <ulp/model/machines/policy_probe.hpp>
#include <ulp/model/outcomes/outcome.hpp>

namespace ulp {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// The smallest double scale at which max_abs reaches the threshold.
double smallest_reaching(const threshold& t, double max_abs) {
  const auto reached = [&](double scale) { return reaches(t, {.scale = scale, .factor = 1}, max_abs); };
  double scale = double_from(t.at) / max_abs;  // within a few units in the last place, or out of range
  if (scale == 0) scale = std::numeric_limits<double>::denorm_min();
  if (std::isinf(scale)) return infinity;
  while (!reached(scale)) {
    scale = std::nextafter(scale, infinity);
    if (std::isinf(scale)) return infinity;
  }
  for (double below = std::nextafter(scale, 0.0); below > 0 && reached(below); below = std::nextafter(below, 0.0))
    scale = below;
  return scale;
}

}  // namespace

std::vector<scale_state> overflow_shares(std::span<const double> critical_scales, double unit, int least_log2,
                                         int greatest_log2) {
  std::vector<scale_state> states;
  const auto steps = static_cast<double>(std::max<std::size_t>(critical_scales.size(), 1));
  for (int k = least_log2; k <= greatest_log2; ++k) {
    const double scale = std::ldexp(unit, k);
    const auto overflowing = std::ranges::count_if(critical_scales, [&](double c) { return !(scale <= c); });
    states.push_back({.scale = scale, .overflow_probability = static_cast<double>(overflowing) / steps});
  }
  return states;
}

// The chain seen at the moments when it grows or overflows: from state j it grows with q_j = (1 - P_j)^N, so in balance
// pi_j q_j = pi_(j+1) (1 - q_(j+1)). Each visit lasts E[T_j] = (1 - q_j) / P_j steps, and 1 - q_j of them end in a
// skip.
markov_prediction predict_markov(std::span<const scale_state> states, std::int64_t growth_steps) {
  const auto n = static_cast<double>(growth_steps);
  const auto log_q = [&](const scale_state& s) { return n * std::log1p(-s.overflow_probability); };
  // Logarithms: from one state to the next the weights may differ by hundreds of powers of ten.
  std::vector<double> log_weight(states.size(), 0);
  for (std::size_t j = 1; j < states.size(); ++j) {
    const double falls = -std::expm1(log_q(states[j]));
    log_weight[j] = log_weight[j - 1] + log_q(states[j - 1]) - std::log(falls);
    if (falls == 0) {  // never comes down again: what lies below is left for good
      std::fill(log_weight.begin(), log_weight.begin() + static_cast<std::ptrdiff_t>(j), -infinity);
      log_weight[j] = 0;
    }
  }
  const double top = states.empty() ? 0 : *std::max_element(log_weight.begin(), log_weight.end());

  markov_prediction result;
  double steps = 0;
  double skips = 0;
  for (std::size_t j = 0; j < states.size(); ++j) {
    const double weight = std::exp(log_weight[j] - top);
    const double p = states[j].overflow_probability;
    const double falls = -std::expm1(log_q(states[j]));
    const double time = weight * (p == 0 ? n : falls / p);
    steps += time;
    skips += weight * falls;
    result.mean_log2_scale += time * std::log2(states[j].scale);
    result.time_share.push_back(time);
  }
  if (steps == 0) return result;
  for (double& share : result.time_share) share /= steps;
  result.skip_rate = skips / steps;
  result.mean_log2_scale /= steps;
  return result;
}

std::optional<markov_prediction> predict_markov(const scaler& start, std::span<const double> critical_scales) {
  const auto period = doubling_period(start);
  if (!period) return std::nullopt;
  std::vector<double> known;
  double least = infinity;
  double greatest = 0;
  for (const double c : critical_scales) {
    if (!(c > 0)) continue;
    known.push_back(c);
    least = std::min(least, c);
    if (std::isfinite(c)) greatest = std::max(greatest, c);
  }
  if (greatest == 0) return std::nullopt;
  const double unit = start.scale();
  const auto binades_to = [&](double scale) {
    return static_cast<int>(std::floor(std::log2(scale) - std::log2(unit)));
  };
  // One binade of room: below the least critical scale nothing overflows, above the greatest nearly everything.
  int first = binades_to(least) - 1;
  int last = binades_to(greatest) + 2;
  if (const double floor = floor_of(start); floor > 0) first = std::max(first, binades_to(floor));
  if (const auto ceiling = ceiling_of(start); ceiling && std::isfinite(*ceiling))
    last = std::min(last, binades_to(*ceiling));
  first = std::min(first, last);
  return predict_markov(overflow_shares(known, unit, first, last), *period);
}

critical_scale critical_scale_of(double max_abs, const treatment& how) {
  if (how.rounding.direction == direction::stochastic && overflow_is_infinite(how, false)) {
    if (!std::isfinite(max_abs)) return {};
    if (!(max_abs > 0)) return {.largest_safe = infinity, .smallest_overflowing = infinity};
    const auto [may, must] = drawn_overflow_of(how.format);
    return {.largest_safe = std::nextafter(smallest_reaching(may, max_abs), 0.0),
            .smallest_overflowing = smallest_reaching(must, max_abs)};
  }
  // The sign is not known: the one that overflows first.
  double smallest = infinity;
  for (const bool negative : {false, true}) {
    if (!overflow_is_infinite(how, negative)) continue;
    if (!std::isfinite(max_abs)) return {};
    if (max_abs > 0) smallest = std::min(smallest, smallest_reaching(thresholds_of(how, negative).overflow, max_abs));
  }
  return {.largest_safe = std::isinf(smallest) ? infinity : std::nextafter(smallest, 0.0),
          .smallest_overflowing = smallest};
}

double range_scale_of(double max_abs, const treatment& how) {
  if (!std::isfinite(max_abs)) return 0;
  if (!(max_abs > 0)) return infinity;
  double smallest = infinity;
  for (const bool negative : {false, true})
    smallest = std::min(smallest, smallest_reaching(thresholds_of(undrawn(how), negative).overflow, max_abs));
  return std::isinf(smallest) ? infinity : std::nextafter(smallest, 0.0);
}

std::vector<std::string> parameter_notes(const scaler& s) {
  std::vector<std::string> notes;
  if (!s.entry().name.starts_with("cerebras")) return notes;
  const bool on_gpu = s.entry().name == "cerebras_gpu";
  for (const scaler_parameter& p : s.parameters()) {
    const double* const number = std::get_if<double>(&p.value);
    if (number == nullptr) continue;
    if (*number == 2e15)
      notes.push_back(p.name +
                      "=2e15: the documentation means 2^15 = 32768; the literal is taken as it stands, stored as "
                      "the float32 1999999973982208, " +
                      (s.scale() < *number / 2 ? "then clamped to the largest scale"
                                               : "where nearly every 16-bit gradient overflows"));
    if (*number == 2e-14)
      notes.push_back(p.name +
                      "=2e-14: the documentation means 2^-14 = 6.103515625e-05, which is 3 billion times as much");
    if (on_gpu && (p.name == "min_loss_scale" || p.name == "max_loss_scale"))
      notes.push_back(p.name + " is ignored on GPUs: torch.amp.GradScaler has neither floor nor ceiling");
    if (p.name == "multiplier" && *number != 2)
      notes.emplace_back("multiplier is not used: the original warns and takes 2");
  }
  return notes;
}

}  // namespace ulp
