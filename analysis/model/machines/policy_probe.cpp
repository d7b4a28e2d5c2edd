#include <ulp/model/machines/policy_probe.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace ulp {
namespace {

// In a good step, for policies that follow the largest gradient.
constexpr double tiny_gradient = 1e-30;

// Good steps, as many as `steps`; the greatest scale and the step that it was reached in.
struct climb {
  double greatest = 0;
  std::uint64_t reached = 0;
  bool grew = false;  // in some step
  bool raised = false;
};
climb climb_of(scaler s, std::uint64_t steps) {
  constexpr std::size_t block = 1000;
  static const std::vector<double> tiny(block, tiny_gradient);
  std::array<double, block> scales{};
  climb result{.greatest = s.scale()};
  double before = s.scale();
  for (std::uint64_t done = 0; done < steps; done += block) {
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(block, steps - done));
    const step_series good{.found_inf = {},
                           .max_abs = std::span<const double>{tiny}.first(n),
                           .threshold = std::numeric_limits<double>::infinity()};
    const series_totals totals = s.run(good, std::span<double>{scales}.first(n));
    for (std::size_t i = 0; i < n && i < totals.steps; ++i) {
      result.grew = result.grew || scales[i] > before;
      before = scales[i];
      if (!(scales[i] > result.greatest)) continue;
      result.greatest = scales[i];
      result.reached = done + i + 1;
    }
    if (!totals.error.empty()) {
      result.raised = true;
      break;
    }
  }
  return result;
}

// The same after overflows have lowered the scale once; nullopt where they do not.
std::optional<climb> climb_after_fall(scaler s, std::uint64_t steps) {
  constexpr int most_tolerated = 200;
  const double before = s.scale();
  for (int i = 0; i < most_tolerated && !(s.scale() < before); ++i)
    if (!s.update({.found_inf = true}).error.empty()) return std::nullopt;
  if (!(s.scale() < before)) return std::nullopt;
  return climb_of(std::move(s), steps);
}

}  // namespace

double floor_of(scaler s) {
  constexpr int most_changes = 4000;   // from the largest to the smallest double there are 2098 halvings
  constexpr int most_tolerated = 200;  // overflows in a row that change nothing
  // The start may be at the floor.
  constexpr int most_good = 10'000;
  const double start = s.scale();
  for (int i = 0; i < most_good && s.scale() <= start; ++i)
    if (!s.update({.max_abs = tiny_gradient}).error.empty()) return 0;

  const double highest = s.scale();
  int unchanged = 0;
  for (int i = 0; i < most_changes && unchanged < most_tolerated; ++i) {
    const double before = s.scale();
    if (!s.update({.found_inf = true}).error.empty()) return 0;
    unchanged = s.scale() == before ? unchanged + 1 : 0;
  }
  return s.scale() < highest ? s.scale() : 0;
}

std::optional<double> ceiling_of(const scaler& s) {
  constexpr std::uint64_t patience = 1'000'000;
  const std::optional<climb> up = climb_after_fall(s, patience);
  if (!up || up->raised || up->reached > patience / 2) return std::nullopt;
  return std::max(up->greatest, s.scale());
}

std::optional<std::int64_t> doubling_period(scaler s) {
  constexpr std::int64_t patience = 1'000'000;
  const double start = s.scale();
  if (!(start > 0) || !std::isfinite(start)) return std::nullopt;
  // Three times: a window that follows the scale looks constant for two.
  for (const double fallen : {start / 2, start / 4, start / 8})
    if (!s.update({.found_inf = true}).error.empty() || s.scale() != fallen) return std::nullopt;
  std::array<std::int64_t, 3> periods{};
  for (std::int64_t& period : periods) {
    const double before = s.scale();
    while (s.scale() == before && period < patience) {
      if (!s.update({.max_abs = tiny_gradient}).error.empty()) return std::nullopt;
      ++period;
    }
    if (s.scale() != 2 * before) return std::nullopt;
  }
  return periods[0] == periods[1] && periods[1] == periods[2] ? std::optional{periods[0]} : std::nullopt;
}

bool grows_back_within(scaler s, std::uint64_t steps) {
  const std::optional<climb> up = climb_after_fall(std::move(s), steps);
  return !up || up->raised || up->grew;
}

burst_recovery recovery_after(scaler s, std::uint64_t overflows, std::uint64_t most_steps, const scaler_input& good) {
  burst_recovery result{.scale_before = s.scale(), .scale_after = s.scale(), .least_scale = s.scale()};
  const auto step = [&](const scaler_input& input) {
    result.error = s.update(input).error;
    result.least_scale = std::min(result.least_scale, s.scale());
    return result.error.empty();
  };
  scaler_input bad = good;
  bad.found_inf = true;
  for (std::uint64_t i = 0; i < overflows; ++i)
    if (!step(bad)) return result;
  result.scale_after = s.scale();
  // MXNet falls one step late; a policy that has not fallen by then tolerates the burst.
  constexpr std::uint64_t latest_fall = 2;
  for (std::uint64_t i = 0; i < most_steps; ++i) {
    if (result.least_scale == result.scale_before && i == latest_fall) break;
    if (!step(good)) return result;
    if (result.least_scale < result.scale_before && s.scale() >= result.scale_before) {
      result.steps = i + 1;
      return result;
    }
  }
  if (result.least_scale == result.scale_before) result.steps = 0;
  return result;
}

}  // namespace ulp
