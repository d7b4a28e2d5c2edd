#include "findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ulp/model/policy_analysis.hpp>

namespace ulp {

std::string percent(double share) { return fmt::format("{:.3g} %", 100 * share); }

std::string power(int k) { return fmt::format("2^{}", k); }

std::string were(std::uint64_t n, std::string_view noun) { return count_text(n, noun) + (n == 1 ? " was" : " were"); }

std::string places_text(std::int64_t first, std::int64_t last) {
  return first == last ? fmt::format("step {}", first) : fmt::format("steps {} to {}", first, last);
}

std::string steps_text(std::uint64_t n) { return count_text(n, "step"); }

std::string range_text(const value_range& share) {
  return ends_text(fmt::format("{:.3g}", 100 * share.low), fmt::format("{:.3g}", 100 * share.high)) + " %";
}

table_value integer(const std::optional<int>& n) { return n ? table_value{std::int64_t{*n}} : table_value{}; }

std::uint64_t window::overflowing(double scale) const {
  return static_cast<std::uint64_t>(std::ranges::lower_bound(critical, scale) - critical.begin());
}

std::optional<int> window::largest_safe() const {
  if (critical.empty() || std::isinf(critical.front())) return std::nullopt;
  return std::ilogb(critical.front());  // log2 may round up to the next power
}

window window_of(const survey& run, const format& to, const rounding& mode) {
  window w;
  for (const step_survey& s : run.steps())
    if (s.known && std::isfinite(s.max_abs)) w.critical.push_back(range_scale_of(s.max_abs, to, mode));
  std::ranges::sort(w.critical);
  return w;
}

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

}  // namespace ulp
