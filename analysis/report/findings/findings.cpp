#include "findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ulp/formats/catalog.hpp>
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
  const auto finite = std::ranges::lower_bound(critical, scale) - critical.begin();
  return static_cast<std::uint64_t>(finite + (std::ranges::upper_bound(lost_at, scale) - lost_at.begin()));
}

std::uint64_t window::undecided(double scale) const {
  return open + static_cast<std::uint64_t>(lost_at.end() - std::ranges::upper_bound(lost_at, scale));
}

std::optional<int> window::largest_safe() const {
  if (critical.empty() || std::isinf(critical.front())) return std::nullopt;
  return std::ilogb(critical.front());  // log2 may round up to the next power
}

window window_of(const survey& run, const format& to, const rounding& mode) {
  window w;
  for (const step_survey& s : run.steps()) {
    if (!s.known && !s.found_inf.value_or(false)) continue;
    const bool has_scale = s.loss_scale > 0 && std::isfinite(s.loss_scale);
    // What nobody rounded, so far as is known, was rounded to float16 if the loss was scaled.
    const bool own = s.rounded_to ? *s.rounded_to == to : has_scale && s.loss_scale != 1 && to == float16;
    const bool lost = s.known && !std::isfinite(s.max_abs);
    if (lost || (s.found_inf.value_or(false) && has_scale)) {
      if (!own || (!s.loss_is_lost && !has_scale))
        ++w.open;
      else
        w.lost_at.push_back(s.loss_is_lost ? 0 : s.loss_scale);
    } else if (s.known) {
      const double largest_safe = range_scale_of(s.max_abs, to, mode);
      // Finite there: a sum may be so beyond the limit of its parts.
      const bool is_finite = own && has_scale && (s.rounded_to || s.found_inf);
      w.critical.push_back(is_finite ? std::max(largest_safe, s.loss_scale) : largest_safe);
    }
  }
  std::ranges::sort(w.critical);
  std::ranges::sort(w.lost_at);
  return w;
}

std::string overflow_text(const window& w, double scale) {
  const std::uint64_t open = w.undecided(scale);
  return steps_text(w.overflowing(scale)) + (open == 0 ? "" : fmt::format(" ({} not decided)", grouped(open)));
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
