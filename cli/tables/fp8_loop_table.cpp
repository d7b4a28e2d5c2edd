#include "fp8_loop_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

namespace ulp::cli {
namespace {

struct kind_row {
  tensor_kind kind;
  fp8_kind_outcome of;  // over the seeds; distances ascending
};

std::vector<kind_row> rows_of(std::span<const fp8_loop_result> seeds) {
  std::map<tensor_kind, fp8_kind_outcome> all;
  for (const fp8_loop_result& r : seeds)
    for (const auto& [kind, of] : r.kinds) all[kind] += of;
  std::vector<kind_row> rows;
  for (auto& [kind, of] : all) {
    std::ranges::sort(of.binades_apart);
    rows.push_back({kind, std::move(of)});
  }
  return rows;
}

// Of ascending values; the upper one of two in the middle.
double median(const std::vector<double>& values) { return values.empty() ? not_known : values[values.size() / 2]; }
double largest(const std::vector<double>& values) { return values.empty() ? not_known : values.back(); }

std::string binades_text(double x) { return std::isnan(x) ? "-" : fmt::format("{:.2g}", x); }

std::string loss_text(const mean_and_deviation& s) {
  return std::isnan(s.deviation) ? fmt::format("{:.4f}", s.mean) : fmt::format("{:.4f} ± {:.2g}", s.mean, s.deviation);
}

mean_and_deviation over(std::span<const fp8_loop_result> seeds, double (*value)(const fp8_loop_result&)) {
  std::vector<double> all;
  for (const fp8_loop_result& r : seeds) all.push_back(value(r));
  return spread_of(all);
}

summary_line self_replay_line(std::span<const fp8_loop_result> seeds) {
  std::uint64_t replayed = 0;
  std::uint64_t identical = 0;
  std::uint64_t exact = 0;
  for (const fp8_loop_result& r : seeds) {
    replayed += r.replayed;
    identical += r.identical;
    exact += r.exact;
  }
  const double share = static_cast<double>(exact) / static_cast<double>(replayed);
  const auto differs = std::ranges::find_if(seeds, [](const fp8_loop_result& r) { return !!r.first_difference; });
  const bool is_whole = differs == seeds.end();
  std::string text = fmt::format("identical in {} of {} of tensors", grouped(identical), count_text(replayed, "step"));
  text += is_whole ? fmt::format(": scales bit for bit, counts in their ranges; in {} these are exact",
                                 percent_text({share, share}))
                   : fmt::format("; first it differs in step {} of {} (seed {})", differs->first_difference->step,
                                 differs->first_difference->tensor, differs->seed);
  return {"self-replay",
          std::move(text),
          {{"self_replay_identical", is_whole},
           {"replayed_tensor_steps", integer(replayed)},
           {"identical_tensor_steps", integer(identical)},
           {"exact_share", share},
           {"first_different_step", is_whole ? table_value{} : table_value{differs->first_difference->step}},
           {"first_different_tensor", is_whole ? table_value{} : table_value{differs->first_difference->tensor}}}};
}

summary_line policy_line(const fp8_recipe& recipe) {
  const fp8_scaler& policy = recipe.forward.start;
  std::string text = recipe.name + ": " + std::string{policy.entry().name};
  named_values values;
  for (const scaler_parameter& p : policy.parameters()) {
    values.all.push_back({p.name, std::visit([](const auto& v) { return table_value{v}; }, p.value)});
    if (!std::holds_alternative<std::monostate>(p.value)) text += " " + p.name + "=" + to_string(p.value);
  }
  return {"recipe",
          std::move(text),
          {{"recipe", recipe.name},
           {"policy", std::string{policy.entry().name}},
           {"policy_parameters", std::move(values)}}};
}

}  // namespace

bool is_identical(std::span<const fp8_loop_result> seeds) {
  return std::ranges::all_of(seeds, [](const fp8_loop_result& r) { return r.identical == r.replayed; });
}

table kinds_table(std::span<const fp8_loop_result> seeds) {
  using side = fp8_loop_side fp8_kind_outcome::*;
  constexpr auto right = alignment::right;
  const auto share_text = [](side s) {
    return [s](const kind_row& r) { return percent_text((r.of.*s).underflow_share()); };
  };
  const auto saturating = [](side s) { return [s](const kind_row& r) { return exactly((r.of.*s).saturating); }; };
  const auto nonzero = [](side s) { return [s](const kind_row& r) { return integer((r.of.*s).nonzero); }; };
  const auto saturated = [](side s) { return [s](const kind_row& r) { return table_value{(r.of.*s).saturated}; }; };
  const auto underflow = [](side s) { return [s](const kind_row& r) { return table_value{(r.of.*s).underflow}; }; };
  const side closed = &fp8_kind_outcome::closed;
  const side open = &fp8_kind_outcome::open;
  const std::vector<column<kind_row>> columns = {
      {"kind", "kind", [](const kind_row& r) { return std::string{to_string(r.kind)}; }},
      {"tensor_steps", "steps", [](const kind_row& r) { return exactly(r.of.steps); }},
      {"compared_scales", "", [](const kind_row& r) { return integer(r.of.binades_apart.size()); }},
      {"median_binades_apart", "", [](const kind_row& r) { return median(r.of.binades_apart); }},
      {"", "scales apart", [](const kind_row& r) { return binades_text(median(r.of.binades_apart)); }, {}, right},
      {"most_binades_apart", "", [](const kind_row& r) { return largest(r.of.binades_apart); }},
      {"", "at most", [](const kind_row& r) { return binades_text(largest(r.of.binades_apart)); }, {}, right},
      {"closed_saturating_steps", "saturating: closed", saturating(closed)},
      {"open_saturating_steps", "open", saturating(open)},
      {"closed_nonzero", "", nonzero(closed)},
      {"open_nonzero", "", nonzero(open)},
      {"closed_saturated", "", saturated(closed), range_keys::none},
      {"open_saturated", "", saturated(open), range_keys::both},
      {"closed_underflow", "", underflow(closed), range_keys::none},
      {"open_underflow", "", underflow(open), range_keys::both},
      {"", "underflow: closed", share_text(closed), {}, right},
      {"", "open", share_text(open), {}, right},
  };
  return table_of(columns, rows_of(seeds));
}

summary summary_of(const finished_fp8_loops& all) {
  const mean_and_deviation closed = over(all.seeds, [](const fp8_loop_result& r) { return r.loss; });
  const mean_and_deviation twin = over(all.seeds, [](const fp8_loop_result& r) { return r.float32_loss; });
  const mean_and_deviation above = over(all.seeds, [](const fp8_loop_result& r) { return r.loss - r.float32_loss; });
  const fp8_loop_options& o = all.options;
  return {
      {"trained",
       fmt::format("{}, {}, {}", all.model, count_text(static_cast<std::uint64_t>(o.steps), "step"),
                   count_text(all.seeds.size(), "seed")),
       {{"model", all.model}, {"steps", o.steps}, {"seeds", integer(all.seeds.size())}}},
      policy_line(o.recipe),
      self_replay_line(all.seeds),
      {"loss",
       fmt::format("{}: mean of the last {}",
                   std::isfinite(above.mean)
                       ? fmt::format("{}, {} above that of float32", loss_text(closed), loss_text(above))
                       : fmt::format("{}, that of float32 {}", loss_text(closed), loss_text(twin)),
                   count_text(static_cast<std::uint64_t>(o.judged), "step")),
       {{"judged_steps", o.judged},
        {"loss", closed.mean},
        {"loss_sd", closed.deviation},
        {"float32_loss", twin.mean},
        {"loss_above_float32", above.mean},
        {"loss_above_float32_sd", above.deviation}}},
      {"open loop",
       "operands of a float32 training under the same recipe; scales apart in binades, |log2(open / closed)|",
       {}},
  };
}

}  // namespace ulp::cli
