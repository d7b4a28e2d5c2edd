#include <ulp/report/tables/sweep_map.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <ulp/ask/questions/typed_values.hpp>
#include <ulp/report/tables/estimates.hpp>
#include <ulp/report/tables/regret_text.hpp>
#include <ulp/report/tables/table.hpp>
#include <utility>

namespace ulp {
namespace {

constexpr value_range unknown{not_known, not_known};

// Numbers by size, before what is none.
double rank_of(const std::string& value) {
  try {
    return positive_number(value, "");
  } catch (const std::invalid_argument&) {
    return value == "0" ? 0 : std::numeric_limits<double>::infinity();
  }
}

std::vector<swept_axis> axes_of(const std::vector<swept_policy>& policies) {
  std::vector<swept_axis> axes;
  for (const swept_policy& p : policies)
    for (const std::string& parameter : p.text.parameters) {
      const auto [name, value] = key_and_value(parameter, "");
      auto at = std::ranges::find(axes, name, &swept_axis::name);
      if (at == axes.end()) at = axes.insert(at, {name, {}});
      if (std::ranges::find(at->values, value) == at->values.end()) at->values.push_back(value);
    }
  std::erase_if(axes, [](const swept_axis& a) { return a.values.size() < 2; });
  for (swept_axis& a : axes) std::ranges::stable_sort(a.values, {}, rank_of);
  return axes;
}

std::size_t place_of(const swept_axis& axis, const scenario_text& text) {
  const auto at = std::ranges::find(axis.values, parameter_of(text, axis.name).value_or(""));
  return static_cast<std::size_t>(at - axis.values.begin());
}

}  // namespace

sweep_map map_of(const std::vector<swept_policy>& policies) {
  std::vector<swept_axis> axes = axes_of(policies);
  if (axes.empty()) return {};
  if (axes.size() > 1 && axes[1].values.size() > axes[0].values.size()) std::swap(axes[0], axes[1]);
  sweep_map map{.x = axes[0], .y = axes.size() > 1 ? axes[1] : swept_axis{"", {""}}};
  map.cells.resize(map.x.values.size() * map.y.values.size());
  for (std::size_t i = 0; i < policies.size(); ++i) {
    const std::size_t x = place_of(map.x, policies[i].text);
    const std::size_t y = place_of(map.y, policies[i].text);
    if (x == map.x.values.size() || y == map.y.values.size()) continue;
    std::optional<std::size_t>& cell = map.cells[y * map.x.values.size() + x];
    if (!cell) cell = i;
  }
  return map;
}

value_range metric_of(const sweep_result& r, sweep_metric metric) {
  const auto in_bounds = [](double estimate, const value_range& bounds) {
    return std::isnan(bounds.low) ? value_range{estimate, estimate} : bounds;
  };
  switch (metric) {
    case sweep_metric::regret: return r.regret ? in_bounds(r.regret->regret(), r.regret->regret_bounds()) : unknown;
    case sweep_metric::free_regret:
      return r.regret ? in_bounds(r.regret->free_regret(), r.regret->free_regret_bounds()) : unknown;
    case sweep_metric::skipped: {
      const auto skipped = static_cast<double>(r.skipped);
      if (r.uncertain == 0 || !r.bounds.known) return {skipped, skipped};
      return {static_cast<double>(r.bounds.skipped.low), static_cast<double>(r.bounds.skipped.high)};
    }
    case sweep_metric::underflow: {
      if (!r.has_counts) return unknown;
      const double all = std::max(1.0, static_cast<double>(r.nonzero));
      return {static_cast<double>(r.underflow.low) / all, static_cast<double>(r.underflow.high) / all};
    }
    case sweep_metric::lost_magnitude:
      return r.regret ? value_range{r.regret->of_magnitude, r.regret->of_magnitude} : unknown;
  }
  return unknown;
}

double estimate_of(const sweep_result& r, sweep_metric metric) {
  switch (metric) {
    case sweep_metric::regret: return r.regret ? r.regret->regret() : not_known;
    case sweep_metric::free_regret: return r.regret ? r.regret->free_regret() : not_known;
    case sweep_metric::skipped: return static_cast<double>(r.skipped);
    case sweep_metric::underflow:
    case sweep_metric::lost_magnitude: return metric_of(r, metric).high;
  }
  return not_known;
}

std::string metric_text(const sweep_result& r, sweep_metric metric) {
  const value_range value = metric_of(r, metric);
  if (std::isnan(value.low)) return "";
  switch (metric) {
    case sweep_metric::regret: return regret_text(r);
    case sweep_metric::free_regret: return free_regret_text(r);
    case sweep_metric::skipped: return skipped_text(r.skipped, r.uncertain, r.bounds);
    case sweep_metric::underflow: return percent_text(value);
    case sweep_metric::lost_magnitude: return fmt::format("{:.3g}", value.low);
  }
  return "";
}

}  // namespace ulp
