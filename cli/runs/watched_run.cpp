#include "watched_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ulp/model/recipe/scaling.hpp>
#include <ulp/report/pictures/picture.hpp>
#include <utility>

#include "command.hpp"

namespace ulp::cli {
namespace {

// Without floor, ceiling or growth that a run could be too short for: only what the scale did is judged.
scaler without_policy() { return make_scaler(*find_scaler("pytorch"), {{"growth_interval", 1.0}}); }

double middle(const value_range& r) { return (r.low + r.high) / 2; }

// "a factor of 2^3.20 below what overflows", of the largest gradient.
std::string headroom_text(double headroom) {
  if (std::isnan(headroom)) return "";
  return fmt::format(", a factor of {} {} what overflows", power_text(std::abs(headroom)),
                     headroom >= 0 ? "below" : "above");
}

}  // namespace

watched_run::watched_run(scenario s, std::string format_name, bool replays)
    : scenario_(std::move(s)),
      format_name_(std::move(format_name)),
      watch_(replays ? scenario_.recipe.machine() : without_policy()) {
  if (replays) replay_.emplace(scenario_);
}

trajectory_row watched_run::row_of(const step& now) const {
  trajectory_row row;
  row.key = now.key;
  row.scale_used = now.scalars.loss_scale;
  row.scale_next = now.scalars.loss_scale;
  row.found_inf = now.scalars.found_inf.value_or(false);
  row.skipped = row.found_inf || !now.scalars.applied.value_or(true);
  return row;
}

void watched_run::add(const step& now, const std::vector<tensor_info>& tensors) {
  ++steps_;
  last_.key = now.key;
  last_.scalars = now.scalars;
  logs_overflow_ = logs_overflow_ || now.scalars.found_inf.has_value();
  if (now.scalars.found_inf.value_or(false)) {
    ++overflows_;
    last_overflow_ = now.key.step;
  }
  const trajectory_row row = replay_ ? replay_->advance(now, tensors) : row_of(now);
  if (!row.error.empty()) throw usage_error(fmt::format("{}: {}", scenario_.recipe.machine().entry().name, row.error));
  skipped_ += row.skipped ? 1 : 0;
  bounds_ = row.so_far;
  next_scale_ = row.scale_next;
  if (std::isnan(row.scale_used)) return;
  watch_.add(row);
  keep(row);
}

// As many as a line has room for, several times over. Of rows that make place a skipped one stays, else the later.
void watched_run::keep(const trajectory_row& row) {
  constexpr std::size_t most = 2048;
  if (pending_++ % every_ == 0) {
    scales_.push_back(row);
  } else if (row.skipped || !scales_.back().skipped) {
    scales_.back() = row;
  }
  if (scales_.size() < most) return;
  for (std::size_t i = 0; i < most / 2; ++i)
    scales_[i] = scales_[scales_[2 * i].skipped && !scales_[2 * i + 1].skipped ? 2 * i : 2 * i + 1];
  scales_.resize(most / 2);
  every_ *= 2;
  pending_ = 0;
}

bool watched_run::has_scale_changes() const {
  return std::ranges::any_of(scales_, [&](const trajectory_row& row) {
    return row.skipped || row.scale_used != scales_.front().scale_used || row.scale_next != row.scale_used;
  });
}

double watched_run::present_scale() const { return replay_ ? next_scale_ : last_.scalars.loss_scale; }

std::vector<standing> watched_run::standings(const step& now, const std::vector<tensor_info>& tensors) const {
  const double limit = limits_of(scenario_.recipe.usual()).overflow;
  const scaling scales = scenario_.recipe.scales();
  std::vector<standing> all;
  for (const tensor_row& row : now.tensors) {
    const tensor_info& info = tensors[row.tensor];
    if (!is_scaled(info, scales) || !scenario_.counted.takes(info)) continue;
    const double scale = std::isnan(present_scale()) ? row.unit() : present_scale();
    standing& of = all.emplace_back();
    of.tensor = info.name;
    of.counts = outcomes_of(row.table, undrawn(scenario_.recipe.usual()), {scale, row.unit()}, row.type);
    of.largest = row.table.max_abs / row.unit();
    if (of.largest > 0) of.headroom = limit - std::log2(of.largest) - std::log2(scale);
  }
  std::ranges::sort(all, [](const standing& a, const standing& b) {
    const bool lost_a = a.counts.nonfinite > 0;
    const bool lost_b = b.counts.nonfinite > 0;
    if (lost_a != lost_b) return lost_a;
    const double under_a = middle(underflow_share(a.counts));
    const double under_b = middle(underflow_share(b.counts));
    if (under_a != under_b) return under_a > under_b;
    return a.headroom < b.headroom || (std::isnan(b.headroom) && !std::isnan(a.headroom));
  });
  return all;
}

std::vector<std::string> watched_run::warnings() const { return watch_.warnings(); }

summary watched_run::lines(const std::vector<standing>& tensors, double rate) const {
  outcome_counts counts;
  standing largest;
  for (const standing& of : tensors) {
    counts += of.counts;
    if (!(of.largest <= largest.largest)) largest = of;
  }
  const step_scalars& logged = last_.scalars;
  const bool known = !tensors.empty();
  const std::string pace = std::isnan(rate) ? "" : fmt::format(", {:.3g} a second", rate);
  std::string overflows = logs_overflow_ ? count_text(overflows_, "step") : "not logged";
  if (last_overflow_) overflows += fmt::format(", the last in step {}", *last_overflow_);
  const count_range skips = bounds_.known ? bounds_.skipped : count_range{0, steps_};
  const std::string policy = replay_ ? fmt::format("{}{} under {}, whose scale is now {}", skips.exact() ? "" : "~",
                                                   count_text(skipped_, "step"),
                                                   scenario_.recipe.machine().entry().name, as_power(next_scale_))
                                     : "";
  const std::string scale = std::isnan(logged.loss_scale) ? "not logged" : as_power(logged.loss_scale);
  return {
      {"steps",
       has_steps() ? fmt::format("{}, the last is step {}{}", grouped(steps_), last_.key.step, pace) : "",
       {{"steps", integer(steps_)}, {"last_step", value_if(has_steps(), last_.key.step)}, {"steps_per_second", rate}}},
      {"loss", std::isnan(logged.loss) ? "" : fmt::format("{:.6g}", logged.loss), {{"loss", logged.loss}}},
      {"loss scale", has_steps() ? scale : "", {{"loss_scale", logged.loss_scale}}},
      {"overflows",
       has_steps() ? overflows : "",
       {{"overflow_steps", value_if(logs_overflow_, integer(overflows_))},
        {"last_overflow_step", last_overflow_ ? table_value{*last_overflow_} : table_value{}}}},
      {"skipped",
       policy,
       {{"scaler", value_if(replay_.has_value(), std::string{scenario_.recipe.machine().entry().name})},
        {"skipped", replay_ ? table_value{skips} : table_value{value_range{not_known, not_known}}},
        {"scale_next", value_if(replay_.has_value(), next_scale_)}}},
      {"largest",
       std::isnan(largest.largest) ? ""
                                   : fmt::format("{:.4g} in {}{} in {}", largest.largest, largest.tensor,
                                                 headroom_text(largest.headroom), format_name_),
       {{"format", format_name_},
        {"largest", largest.largest},
        {"largest_tensor", value_if(!std::isnan(largest.largest), largest.tensor)},
        {"headroom_log2", largest.headroom}}},
      {"underflow",
       known ? fmt::format("{} of the nonzero in {}", percent_text(underflow_share(counts)), format_name_) : "",
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

}  // namespace ulp::cli
