#include <ulp/ask/runs/watched_run.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <ulp/ask/columns/run_columns.hpp>
#include <ulp/model/recipe/scaling.hpp>
#include <utility>

namespace ulp {
namespace {

// Without floor, ceiling or growth that a run could be too short for: only what the scale did is judged.
scaler without_policy() { return make_scaler(*find_scaler("pytorch"), {{"growth_interval", 1.0}}); }

double middle(const value_range& r) { return (r.low + r.high) / 2; }

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
  if (!row.error.empty())
    throw std::invalid_argument(fmt::format("{}: {}", scenario_.recipe.machine().entry().name, row.error));
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

}  // namespace ulp
