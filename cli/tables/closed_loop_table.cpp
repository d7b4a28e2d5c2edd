#include "closed_loop_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include <ulp/formats/names.hpp>

namespace ulp::cli {
namespace {

struct loop_row {
  std::uint64_t seed;
  const char* loop;
  const loop_outcome& of;
};

table_value step_if(const std::optional<std::int64_t>& step) { return step ? table_value{*step} : table_value{}; }

std::string spread_text(const mean_and_deviation& s) {
  return std::isnan(s.deviation) ? fmt::format("{:.3g}", s.mean) : fmt::format("{:.3g} ± {:.2g}", s.mean, s.deviation);
}

std::string policy_text(const scaler& policy) {
  std::string text{policy.entry().name};
  for (const auto& p : policy.parameters())
    if (!std::holds_alternative<std::monostate>(p.value)) text += " " + p.name + "=" + to_string(p.value);
  return text;
}

summary_line self_replay_line(const finished_loops& all) {
  const auto steps = static_cast<std::uint64_t>(all.options.steps);
  const auto differs =
      std::ranges::find_if(all.seeds, [](const closed_loop_result& r) { return r.first_difference.has_value(); });
  const bool identical = differs == all.seeds.end();
  return {"self-replay",
          identical ? "identical in every step of " + count_text(all.seeds.size(), "training")
                    : fmt::format("differs from the training in step {} (seed {}; {} of {} are identical)",
                                  *differs->first_difference, differs->seed,
                                  grouped(static_cast<std::uint64_t>(differs->identical)), count_text(steps, "step")),
          {{"self_replay_identical", identical},
           {"first_different_step", identical ? table_value{} : step_if(differs->first_difference)}}};
}

}  // namespace

bool is_identical(std::span<const closed_loop_result> seeds) {
  return std::ranges::none_of(seeds, [](const closed_loop_result& r) { return r.first_difference.has_value(); });
}

table loops_table(std::span<const closed_loop_result> seeds) {
  std::vector<loop_row> rows;
  for (const closed_loop_result& r : seeds) {
    rows.push_back({r.seed, "closed", r.closed});
    rows.push_back({r.seed, "open", r.open});
  }
  const auto share = [](const loop_row& r) { return table_value{r.of.underflow_share()}; };
  const std::vector<column<loop_row>> columns = {
      {"seed", "seed", [](const loop_row& r) { return integer(r.seed); }},
      {"loop", "loop", [](const loop_row& r) { return std::string{r.loop}; }},
      {"steps", "", [](const loop_row& r) { return integer(r.of.sum.steps); }},
      {"skipped", "skipped", [](const loop_row& r) { return integer(r.of.sum.skipped); }},
      {"first_skipped_step", "first skip", [](const loop_row& r) { return step_if(r.of.sum.first_skip); }},
      {"mean_log2_scale", "", [](const loop_row& r) { return r.of.sum.mean_log2_scale(); }},
      {"", "mean scale", [](const loop_row& r) { return power_text(r.of.sum.mean_log2_scale()); }, range_keys::none,
       alignment::right},
      {"last_scale", "", [](const loop_row& r) { return r.of.sum.last_scale; }},
      {"", "last scale", [](const loop_row& r) { return as_power(r.of.sum.last_scale); }, range_keys::none,
       alignment::right},
      {"nonzero", "", [](const loop_row& r) { return integer(r.of.nonzero); }},
      {"underflow", "underflow", [](const loop_row& r) { return table_value{r.of.underflow}; }, range_keys::both},
      {"underflow_share", "", share, range_keys::both},
      {"", "of nonzero", [](const loop_row& r) { return percent_text(r.of.underflow_share()); }, range_keys::none,
       alignment::right},
      {"last_loss", "last loss", [](const loop_row& r) { return r.of.loss; }},
      {"error", "error", [](const loop_row& r) { return value_if(!r.of.sum.error.empty(), r.of.sum.error); }},
  };
  return table_of(columns, rows);
}

summary summary_of(const finished_loops& all) {
  const closed_loop_options& o = all.options;
  const skip_agreement a = agreement_of(all.seeds);
  const std::string rounding = to_string(o.policy.recipe.usual().rounding);
  named_values parameters;
  for (const auto& p : o.policy.recipe.machine().parameters())
    parameters.all.push_back({p.name, std::visit([](const auto& v) { return table_value{v}; }, p.value)});
  const bool several = all.seeds.size() > 1;
  return {
      {"trained",
       fmt::format("{}, {}, {}", all.model, count_text(all.parameters, "parameter"),
                   count_text(static_cast<std::uint64_t>(o.steps), "step")),
       {{"model", all.model}, {"parameters", integer(all.parameters)}, {"steps", o.steps}}},
      {"format", fmt::format("{}, {}", all.format, rounding), {{"format", all.format}, {"rounding", rounding}}},
      {"scaler",
       policy_text(o.policy.recipe.machine()),
       {{"scaler", std::string{o.policy.recipe.machine().entry().name}}, {"scaler_parameters", std::move(parameters)}}},
      self_replay_line(all),
      {"skips",
       fmt::format("closed {}, open {}{}", spread_text(a.closed), spread_text(a.open),
                   several ? fmt::format(": mean and standard deviation of {} seeds", all.seeds.size()) : ""),
       {{"closed_skipped_mean", a.closed.mean},
        {"closed_skipped_sd", a.closed.deviation},
        {"open_skipped_mean", a.open.mean},
        {"open_skipped_sd", a.open.deviation}}},
      {"open loop",
       fmt::format("agrees in {} of {}: at most {} {} apart (seed {}); {:.3g} allowed, {}", a.agreeing,
                   count_text(all.seeds.size(), "seed"), a.greatest_difference,
                   a.greatest_difference == 1 ? "skip" : "skips", a.seed_of_greatest, a.allowed,
                   several ? "the larger of 2 and 3 standard deviations of the closed loop"
                           : "as one seed has no standard deviation"),
       {{"open_loop_agrees", a.holds()},
        {"agreeing_seeds", integer(a.agreeing)},
        {"greatest_difference", a.greatest_difference},
        {"seed_of_greatest_difference", integer(a.seed_of_greatest)},
        {"allowed_difference", a.allowed}}},
  };
}

}  // namespace ulp::cli
