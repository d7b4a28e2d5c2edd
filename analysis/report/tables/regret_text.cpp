#include <ulp/report/tables/regret_text.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <ulp/ask/questions/typed_values.hpp>
#include <ulp/formats/names.hpp>
#include <ulp/report/tables/table.hpp>
#include <utility>

namespace ulp {
namespace {

// Below a millionth of a step it is nothing.
std::string cost_text(double cost) {
  constexpr double least = 1e-6;
  return cost < least  ? "0"
         : cost < 1000 ? fmt::format("{:.4g}", cost)
                       : grouped(static_cast<std::uint64_t>(std::llround(cost)));
}

std::string estimate_text(double cost, const value_range& bounds) {
  if (std::isnan(bounds.low)) return "~" + cost_text(cost);
  if (bounds.exact()) return cost_text(cost);
  const std::string ends = ends_text(cost_text(bounds.low), cost_text(bounds.high));
  return ends == cost_text(cost) ? ends : fmt::format("~{} {}", cost_text(cost), ends);
}

std::string scales_text(const best_trajectory& best) {
  const std::string least = as_power(std::ldexp(1.0, best.least));
  if (best.least == best.greatest) return "scale " + least;
  return fmt::format("scales {} to {} in {}", least, as_power(std::ldexp(1.0, best.greatest)),
                     count_text(best.moves, "move"));
}

}  // namespace

std::string regret_text(const sweep_result& r) {
  return r.regret ? estimate_text(r.regret->regret(), r.regret->regret_bounds()) : "";
}

std::string free_regret_text(const sweep_result& r) {
  return r.regret ? estimate_text(r.regret->free_regret(), r.regret->free_regret_bounds()) : "";
}

std::vector<std::string> best_lines(const std::vector<swept_policy>& policies) {
  std::vector<std::string> lines;
  for (const swept_policy& p : policies) {
    if (!p.result.regret) continue;
    const best_trajectory& best = p.result.regret->free;
    std::string line = fmt::format("best of all in hindsight, {} {}: cost {} ({} skipped, {} for lost magnitude), {}",
                                   p.text.format, p.text.rounding.text(value_format_named(p.text.format)),
                                   estimate_text(best.cost, p.result.regret->free_cost), grouped(best.skipped),
                                   cost_text(best.of_magnitude), scales_text(best));
    if (std::ranges::find(lines, line) == lines.end()) lines.push_back(std::move(line));
  }
  std::ranges::sort(lines);
  return lines;
}

std::string lost_to_all_text(const std::vector<std::int64_t>& steps, bool any_applied) {
  if (steps.empty()) return "";
  constexpr std::size_t shown = 10;
  std::vector<std::string> runs;
  for (std::size_t i = 0; i < steps.size() && runs.size() < shown;) {
    std::size_t end = i + 1;
    while (end < steps.size() && steps[end] == steps[end - 1] + 1) ++end;
    runs.push_back(end - i < 3 ? fmt::format("{}", steps[i]) : fmt::format("{} to {}", steps[i], steps[end - 1]));
    i = end - i < 3 ? i + 1 : end;
    if (i < steps.size() && runs.size() == shown) runs.push_back(fmt::format("... {}", steps.back()));
  }
  const bool one = steps.size() == 1;
  return fmt::format("{} {} skipped by every row{}: {} gradients are not finite as recorded ({} {})",
                     count_text(steps.size(), "step"), one ? "is" : "are",
                     any_applied ? ", or applied with infinities or NaN" : "", one ? "its" : "their",
                     one ? "step" : "steps", fmt::join(runs, ", "));
}

}  // namespace ulp
