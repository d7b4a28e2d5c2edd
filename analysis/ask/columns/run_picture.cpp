#include <ulp/ask/columns/run_picture.hpp>

#include <algorithm>
#include <tuple>

namespace ulp {
namespace {

auto order_of(const tensor_tables::entry& e) { return std::tuple{e.tensor, e.factor, e.type}; }

bool shows(const tensor_mask& shown, std::uint32_t tensor) { return tensor < shown.size() && shown[tensor]; }

outcome_counts outcomes_of(const tensor_tables::entry& e, const treatment& how, double scale) {
  return ulp::outcomes_of(e.table, how, {.scale = e.is_scaled ? scale : 1, .factor = e.factor}, e.type);
}

}  // namespace

void tensor_tables::merge(const tensor_tables& other) {
  for (const entry& e : other.entries) {
    const auto at = std::ranges::lower_bound(entries, order_of(e), {}, order_of);
    if (at != entries.end() && order_of(*at) == order_of(e))
      at->table.merge(e.table);
    else
      entries.insert(at, e);
  }
}

void tensor_tables::add(const tensor_row& row, bool is_scaled) {
  const double factor = row.unit();
  const std::tuple key{row.tensor, factor, row.type};
  auto at = std::ranges::lower_bound(entries, key, {}, order_of);
  if (at == entries.end() || order_of(*at) != key)
    at = entries.insert(at, entry{.tensor = row.tensor, .factor = factor, .type = row.type, .is_scaled = is_scaled});
  cell_table& table = at->table;
  table.merge(row.table);
  table.edges.clear();
}

void tensor_tables::add(const std::vector<tensor_row>& rows, const std::vector<tensor_info>& tensors) {
  for (const tensor_row& row : rows) add(row, is_scaled(tensors[row.tensor]));
}

binade_counts tensor_tables::binades(const tensor_mask& shown) const {
  binade_counts all;
  for (const entry& e : entries)
    if (shows(shown, e.tensor)) all.add(e.table, e.factor);
  return all;
}

outcome_counts tensor_tables::outcomes(const tensor_mask& shown, const treatment& how, double scale) const {
  outcome_counts all;
  for (const entry& e : entries)
    if (shows(shown, e.tensor)) all += outcomes_of(e, how, scale);
  return all;
}

void run_picture::add(const step& now, const std::vector<tensor_info>& all) {
  if (now.key.microbatch != -1) return;
  add_step(now, all);
  add_block(now.key.step, now.key.step, now.tensors, all);
}

void run_picture::add_step(const step& now, const std::vector<tensor_info>& all) {
  const auto seen = surveyor_.see(now, all);
  if (!seen) return;
  const step_survey& s = seen->step;
  std::uint8_t rounded_to = 0;
  if (s.rounded_to) {
    auto known = std::ranges::find(formats_, *s.rounded_to);
    constexpr std::size_t most = 254;
    if (known == formats_.end() && formats_.size() < most) known = formats_.insert(known, *s.rounded_to);
    if (known != formats_.end()) rounded_to = static_cast<std::uint8_t>(known - formats_.begin() + 1);
  }
  steps_.push_back({.key = s.key,
                    .scalars = now.scalars,
                    .max_abs = s.max_abs,
                    .largest_whole = s.largest_whole,
                    .least_part = s.least_part,
                    .has_sums = s.has_sums,
                    .known = s.known,
                    .several_formats = s.several_formats,
                    .loss_is_lost = s.loss_is_lost,
                    .rounded_to = rounded_to});
}

step_survey run_picture::survey_of(const pictured_step& s) const {
  step_survey all{.key = s.key,
                  .max_abs = s.max_abs,
                  .largest_whole = s.largest_whole,
                  .least_part = s.least_part,
                  .loss = s.scalars.loss,
                  .logged_norm = s.scalars.grad_norm,
                  .learning_rate = s.scalars.learning_rate,
                  .loss_scale = s.scalars.loss_scale,
                  .found_inf = s.scalars.found_inf,
                  .applied = s.scalars.applied,
                  .has_sums = s.has_sums,
                  .known = s.known,
                  .several_formats = s.several_formats,
                  .loss_is_lost = s.loss_is_lost};
  if (s.rounded_to > 0) all.rounded_to = formats_[s.rounded_to - 1];
  return all;
}

void run_picture::add_block(std::int64_t first, std::int64_t last, const std::vector<tensor_row>& tables,
                            const std::vector<tensor_info>& all) {
  columns_.at_block(first, last).add(tables, all);
}

std::size_t run_picture::column_of(std::int64_t step) const noexcept {
  const auto& spans = columns_.spans();
  const auto after = std::ranges::upper_bound(spans, step, {}, &column_span::first_step);
  return after == spans.begin() ? 0 : static_cast<std::size_t>(after - spans.begin()) - 1;
}

replay_step drawn_of(const trajectory_row& row) {
  return {.step = row.key.step,
          .scale_used = row.scale_used,
          .scale_next = row.scale_next,
          .may_have_used = row.bounds.scale_used,
          .critical_scale = row.critical_scale,
          .norm = row.norm,
          .clip_measure = row.clip_measure,
          .clip_coefficient = row.clip_coefficient,
          .underflow = row.counts.underflow,
          .overflow = row.counts.overflow,
          .nonzero = row.counts.nonzero().high,
          .critical_certain = row.critical_certain,
          .has_counts = row.has_counts,
          .found_inf = row.found_inf,
          .certain = row.found_inf_certain,
          .skipped = row.skipped,
          .clipped = row.clipped.value_or(false)};
}

}  // namespace ulp
