#include <ulp/ask/answers/policy_grid.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <tuple>
#include <ulp/ask/questions/typed_values.hpp>
#include <ulp/io/inputs/open.hpp>
#include <utility>

namespace ulp {
namespace {

// A parameter and the values it takes in turn.
struct axis {
  std::string name;
  std::vector<std::string> values;
};

axis axis_of(const std::string& text) {
  const auto [name, values] = key_and_value(text, "--set");
  axis a{name, {}};
  for (std::size_t at = 0; at <= values.size();) {
    const std::size_t comma = std::min(values.find(',', at), values.size());
    a.values.push_back(values.substr(at, comma - at));
    if (a.values.back().empty()) throw std::invalid_argument(fmt::format("--set: '{}' has an empty value", text));
    at = comma + 1;
  }
  return a;
}

// The last parameter runs fastest.
std::vector<scenario_text> combinations_of(const scenario_text& policy) {
  std::vector<scenario_text> all{policy};
  all.front().parameters.clear();
  for (const std::string& text : policy.parameters) {
    const axis a = axis_of(text);
    std::vector<scenario_text> more;
    for (const scenario_text& so_far : all)
      for (const std::string& value : a.values) {
        more.push_back(so_far);
        more.back().parameters.push_back(a.name + "=" + value);
      }
    all = std::move(more);
  }
  return all;
}

// What it may have lost at most: where nothing bounds that, more than any that is bounded.
std::uint64_t most_lost(const sweep_result& r, std::uint64_t steps) {
  if (r.uncertain == 0) return r.lost_steps(steps);
  if (!r.bounds.known) return std::numeric_limits<std::uint64_t>::max();
  return r.bounds.skipped.high + r.bounds.poisoned.high;
}

}  // namespace

std::vector<scenario_text> grid_of(const grid_text& grid) {
  std::vector<std::string> scalers = grid.scalers;
  if (scalers.empty() && !grid.own) scalers = {grid.base.scaler};
  std::vector<scenario_text> all;
  for (const scenario_text& policy : under_each(grid.base, scalers, grid.own)) {
    const auto formats = grid.formats.empty() ? std::vector{policy.format} : grid.formats;
    const auto roundings = grid.roundings.empty() ? std::vector{policy.rounding.direction} : grid.roundings;
    for (const scenario_text& combination : combinations_of(policy))
      for (const std::string& format : formats)
        for (const std::string& direction : roundings) {
          all.push_back(combination);
          all.back().format = format;
          all.back().rounding.direction = direction;
        }
  }
  return all;
}

std::vector<scenario> scenarios_of(const std::vector<scenario_text>& grid, const run_text& run) {
  std::vector<scenario> all;
  for (const scenario_text& text : grid) all.push_back(scenario_of(text, run));
  return all;
}

std::vector<swept_policy> ranked(const std::vector<scenario_text>& grid, const std::vector<sweep_result>& results,
                                 std::uint64_t steps) {
  const std::vector<bool> front = pareto_front(results, steps);
  std::vector<swept_policy> all;
  for (std::size_t i = 0; i < grid.size(); ++i) all.push_back({grid[i], results[i], front[i]});
  std::ranges::stable_sort(all, {}, [&](const swept_policy& p) {
    return std::tuple{!p.on_front, p.result.lost_steps(steps), p.result.underflow_share(), most_lost(p.result, steps)};
  });
  return all;
}

std::string parameters_text(const scenario_text& text) { return fmt::format("{}", fmt::join(text.parameters, " ")); }

}  // namespace ulp
