#include <ulp/report/tables/watch_table.hpp>

#include <fmt/format.h>

#include <cmath>

namespace ulp {
namespace {

// "a factor of 2^3.20 below what overflows", of the largest gradient.
std::string headroom_text(double headroom) {
  if (std::isnan(headroom)) return "";
  return fmt::format(", a factor of {} {} what overflows", power_text(std::abs(headroom)),
                     headroom >= 0 ? "below" : "above");
}

}  // namespace

std::vector<summary_line> lines_of(const watched_run& run, const std::vector<standing>& tensors, double rate) {
  outcome_counts counts;
  standing largest;
  for (const standing& of : tensors) {
    counts += of.counts;
    if (!(of.largest <= largest.largest)) largest = of;
  }
  const step_scalars& logged = run.logged();
  const bool known = !tensors.empty();
  const std::string pace = std::isnan(rate) ? "" : fmt::format(", {:.3g} a second", rate);
  std::string overflows = run.logs_overflow() ? count_text(run.overflows(), "step") : "not logged";
  if (run.last_overflow()) overflows += fmt::format(", the last in step {}", *run.last_overflow());
  const count_range skips = run.skips();
  const bool is_replayed = run.is_replayed();
  const std::string policy = is_replayed ? fmt::format("{}{} under {}, whose scale is now {}", skips.exact() ? "" : "~",
                                                       count_text(run.skipped(), "step"), run.policy().entry().name,
                                                       as_power(run.next_scale()))
                                         : "";
  const std::string scale = std::isnan(logged.loss_scale) ? "not logged" : as_power(logged.loss_scale);
  return {
      {"steps",
       run.has_steps() ? fmt::format("{}, the last is step {}{}", grouped(run.steps()), run.last().step, pace) : "",
       {{"steps", integer(run.steps())},
        {"last_step", value_if(run.has_steps(), run.last().step)},
        {"steps_per_second", rate}}},
      {"loss", std::isnan(logged.loss) ? "" : fmt::format("{:.6g}", logged.loss), {{"loss", logged.loss}}},
      {"loss scale", run.has_steps() ? scale : "", {{"loss_scale", logged.loss_scale}}},
      {"overflows",
       run.has_steps() ? overflows : "",
       {{"overflow_steps", value_if(run.logs_overflow(), integer(run.overflows()))},
        {"last_overflow_step", run.last_overflow() ? table_value{*run.last_overflow()} : table_value{}}}},
      {"skipped",
       policy,
       {{"scaler", value_if(is_replayed, std::string{run.policy().entry().name})},
        {"skipped", is_replayed ? table_value{skips} : table_value{value_range{not_known, not_known}}},
        {"scale_next", value_if(is_replayed, run.next_scale())}}},
      {"largest",
       std::isnan(largest.largest) ? ""
                                   : fmt::format("{:.4g} in {}{} in {}", largest.largest, largest.tensor,
                                                 headroom_text(largest.headroom), run.format_name()),
       {{"format", run.format_name()},
        {"largest", largest.largest},
        {"largest_tensor", value_if(!std::isnan(largest.largest), largest.tensor)},
        {"headroom_log2", largest.headroom}}},
      {"underflow",
       known ? fmt::format("{} of the nonzero in {}", percent_text(underflow_share(counts)), run.format_name()) : "",
       {{"underflow_share",
         known ? table_value{underflow_share(counts)} : table_value{value_range{not_known, not_known}}},
        {"nonfinite", value_if(known, integer(counts.nonfinite))}}},
  };
}

table standings_table(const std::vector<standing>& worst) {
  using row = standing;
  const std::vector<column<row>> columns = {
      {"tensor", "tensor", &row::tensor},
      {"underflow_share", "", [](const row& r) { return underflow_share(r.counts); }, range_keys::both},
      {"", "underflow", [](const row& r) { return percent_text(underflow_share(r.counts)); }, {}, alignment::right},
      {"nonfinite", "nonfinite", [](const row& r) { return integer(r.counts.nonfinite); }},
      {"largest", "", &row::largest},
      {"",
       "largest",
       [](const row& r) { return value_if(!std::isnan(r.largest), fmt::format("{:.4g}", r.largest)); },
       {},
       alignment::right},
      {"headroom_log2", "", &row::headroom},
      {"",
       "headroom",
       [](const row& r) { return value_if(!std::isnan(r.headroom), power_text(r.headroom)); },
       {},
       alignment::right},
  };
  return table_of(columns, worst);
}

}  // namespace ulp
