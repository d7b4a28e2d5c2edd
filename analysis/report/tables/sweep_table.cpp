#include <ulp/report/tables/sweep_table.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <ulp/ask/questions/typed_values.hpp>
#include <ulp/report/tables/estimates.hpp>
#include <ulp/report/tables/regret_text.hpp>
#include <utility>

namespace ulp {
namespace {

// "0.02", "[0.01, 0.03]": percent.
std::string underflow_text(const sweep_result& r) {
  const auto text = [&](std::uint64_t n) {
    return r.nonzero == 0 ? "0" : fmt::format("{:.4g}", 100 * static_cast<double>(n) / static_cast<double>(r.nonzero));
  };
  return ends_text(text(r.underflow.low), text(r.underflow.high));
}

struct ranked_policy {
  std::int64_t rank;
  const swept_policy& of;
};

}  // namespace

table sweep_table(const std::vector<swept_policy>& policies, std::uint64_t steps) {
  using row = ranked_policy;
  constexpr auto right = alignment::right;
  const bool any_raised = std::ranges::any_of(
      policies, [](const swept_policy& p) { return !p.result.error.empty() || p.result.poisoned > 0; });
  const auto of_result = [](auto part) { return [=](const row& r) { return table_value{part(r.of.result)}; }; };
  const auto counted = [](auto part) {
    return [=](const row& r) { return value_if(r.of.result.has_counts, part(r.of.result)); };
  };
  const auto of_bounds = [](auto part) {
    return [=](const row& r) { return value_if(r.of.result.bounds.known, part(r.of.result.bounds)); };
  };
  using result = sweep_result;
  const auto of_regret = [](auto part) {
    return [=](const row& r) { return r.of.result.regret ? table_value{part(*r.of.result.regret)} : table_value{}; };
  };
  // Of the best with the same start and moves, and of the free one.
  const auto of_best = [=](auto part) { return of_regret([=](const policy_regret& p) { return part(p.best); }); };
  const auto of_free = [=](auto part) { return of_regret([=](const policy_regret& p) { return part(p.free); }); };
  using best = best_trajectory;
  const auto skipped = [](const best& b) { return integer(b.skipped); };
  const auto magnitude_cost = [](const best& b) { return b.of_magnitude; };
  const auto least = [](const best& b) { return std::ldexp(1.0, b.least); };
  const auto greatest = [](const best& b) { return std::ldexp(1.0, b.greatest); };
  const std::vector<column<row>> columns = {
      {"rank", "rank", &row::rank},
      {"pareto", "", [](const row& r) { return r.of.on_front; }},
      {"", "best", [](const row& r) { return std::string{r.of.on_front ? "*" : ""}; }},
      {"scaler", "scaler", [](const row& r) { return r.of.text.scaler; }},
      {"parameters", "set",
       [](const row& r) { return value_if(!r.of.text.parameters.empty(), parameters_text(r.of.text)); }},
      {"format", "format", [](const row& r) { return r.of.text.format; }},
      {"rounding", "rounding",
       [](const row& r) { return r.of.text.rounding.text(value_format_named(r.of.text.format)); }},
      {"steps", "", of_result([](const result& r) { return integer(r.steps); })},
      {"skipped", "", of_result([](const result& r) { return integer(r.skipped); })},
      {"skipped_low", "", of_bounds([](const bounds_of_run& b) { return integer(b.skipped.low); })},
      {"skipped_high", "", of_bounds([](const bounds_of_run& b) { return integer(b.skipped.high); })},
      {"uncertain_steps", "", of_result([](const result& r) { return integer(r.uncertain); })},
      {"",
       "skipped",
       of_result([](const sweep_result& r) { return skipped_text(r.skipped, r.uncertain, r.bounds); }),
       {},
       right},
      {"lost", "", of_result([=](const result& r) { return integer(r.lost_steps(steps)); })},
      {"", "lost", of_result([=](const result& r) { return value_if(any_raised, exactly(r.lost_steps(steps))); })},
      {"underflow", "underflow", counted([](const result& r) { return r.underflow; }), range_keys::both},
      {"nonzero", "", counted([](const result& r) { return exactly(r.nonzero); }), range_keys::where_open},
      {"underflow_share_high", "", counted([](const result& r) { return r.underflow_share(); })},
      {"", "% of nonzero", counted(underflow_text), {}, right},
      {"mean_log2_scale", "", of_result([](const result& r) { return r.mean_log2_scale; })},
      {"",
       "mean scale",
       of_result(
           [](const result& r) { return value_if(!std::isnan(r.mean_log2_scale), power_text(r.mean_log2_scale)); }),
       {},
       right},
      {"last_scale", "", of_result([](const result& r) { return r.last_scale; })},
      {"", "last scale", of_result([](const result& r) { return as_power(r.last_scale); }), {}, right},
      {"cost", "", of_regret([](const policy_regret& p) { return p.cost; })},
      {"magnitude_cost", "", of_regret([](const policy_regret& p) { return p.of_magnitude; })},
      {"regret", "", of_regret([](const policy_regret& p) { return p.regret(); })},
      {"regret_low", "", of_regret([](const policy_regret& p) { return p.regret_bounds().low; })},
      {"regret_high", "", of_regret([](const policy_regret& p) { return p.regret_bounds().high; })},
      {"", "regret", of_result([](const result& r) { return regret_text(r); }), {}, right},
      {"up_log2", "", of_regret([](const policy_regret& p) { return std::int64_t{p.moves.up}; })},
      {"down_log2", "", of_regret([](const policy_regret& p) { return std::int64_t{p.moves.down}; })},
      {"best_skipped", "", of_best(skipped)},
      {"best_magnitude_cost", "", of_best(magnitude_cost)},
      {"best_least_scale", "", of_best(least)},
      {"best_greatest_scale", "", of_best(greatest)},
      {"free_regret", "", of_regret([](const policy_regret& p) { return p.free_regret(); })},
      {"free_regret_low", "", of_regret([](const policy_regret& p) { return p.free_regret_bounds().low; })},
      {"free_regret_high", "", of_regret([](const policy_regret& p) { return p.free_regret_bounds().high; })},
      {"", "free regret", of_result([](const result& r) { return free_regret_text(r); }), {}, right},
      {"free_best_skipped", "", of_free(skipped)},
      {"free_best_magnitude_cost", "", of_free(magnitude_cost)},
      {"free_best_least_scale", "", of_free(least)},
      {"free_best_greatest_scale", "", of_free(greatest)},
      {"why_no_regret", "why no regret",
       of_result([](const result& r) { return value_if(!r.why_no_regret.empty(), r.why_no_regret); })},
      {"error", "", of_result([](const result& r) { return value_if(!r.error.empty(), r.error); })},
      {"", "raised", of_result([](const result& r) {
         return value_if(!r.error.empty(), fmt::format("after {} steps", grouped(r.steps - 1)));
       })},
  };
  std::vector<row> rows;
  for (const swept_policy& p : policies) rows.push_back({static_cast<std::int64_t>(rows.size()) + 1, p});
  return table_of(columns, rows);
}

void hindsight_table(const sweep_answer& answer, const std::function<void(const table&)>& part) {
  constexpr std::size_t in_a_part = 4096;
  table rows;
  rows.columns = {{"step", ""}, {"format", ""}, {"rounding", ""}, {"scale", ""}};
  std::set<std::pair<std::string, std::string>> written;
  for (std::size_t i = 0; i < answer.grid.size(); ++i) {
    const std::string rounding = answer.grid[i].rounding.text(value_format_named(answer.grid[i].format));
    if (written.contains({answer.grid[i].format, rounding})) continue;
    const std::optional<best_trajectory> best = answer.all->free_best(i);
    if (!best) continue;
    written.emplace(answer.grid[i].format, rounding);
    for (std::size_t t = 0; t < best->exponents.size(); ++t) {
      rows.rows.push_back(
          {answer.all->step_number(t), answer.grid[i].format, rounding, std::ldexp(1.0, best->exponents[t])});
      if (rows.rows.size() < in_a_part) continue;
      part(rows);
      rows.rows.clear();
    }
  }
  part(rows);
}

}  // namespace ulp
