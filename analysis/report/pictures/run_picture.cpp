#include <ulp/report/run_picture.hpp>

#include <algorithm>
#include <tuple>

namespace ulp {
namespace {

auto place_of(const tensor_tables::entry& e) { return std::tuple{e.tensor, e.factor, e.type}; }

bool shows(const tensor_mask& shown, std::uint32_t tensor) { return tensor < shown.size() && shown[tensor]; }

outcome_counts outcomes_of(const tensor_tables::entry& e, const format& to, const rounding& mode, double scale) {
  return ulp::outcomes_of(e.table, to, mode, {.scale = e.is_scaled ? scale : 1, .factor = e.factor}, e.type);
}

}  // namespace

void tensor_tables::merge(const tensor_tables& other) {
  for (const entry& e : other.entries) {
    const auto at = std::ranges::lower_bound(entries, place_of(e), {}, place_of);
    if (at != entries.end() && place_of(*at) == place_of(e))
      at->table.merge(e.table);
    else
      entries.insert(at, e);
  }
}

void tensor_tables::add(const tensor_row& row, bool is_scaled) {
  const double factor = row.unit();
  const std::tuple key{row.tensor, factor, row.type};
  auto at = std::ranges::lower_bound(entries, key, {}, place_of);
  if (at == entries.end() || place_of(*at) != key)
    at = entries.insert(at, entry{.tensor = row.tensor, .factor = factor, .type = row.type, .is_scaled = is_scaled});
  cell_table& table = at->table;
  table.merge(row.table);
  table.edges.clear();
}

binade_counts tensor_tables::binades(const tensor_mask& shown) const {
  binade_counts all;
  for (const entry& e : entries)
    if (shows(shown, e.tensor)) all.add(e.table, e.factor);
  return all;
}

outcome_counts tensor_tables::outcomes(const tensor_mask& shown, const format& to, const rounding& mode,
                                       double scale) const {
  outcome_counts all;
  for (const entry& e : entries)
    if (shows(shown, e.tensor)) all += outcomes_of(e, to, mode, scale);
  return all;
}

std::vector<outcome_counts> tensor_tables::outcomes_by_tensor(std::size_t tensors, const format& to,
                                                              const rounding& mode, double scale) const {
  std::vector<outcome_counts> all(tensors);
  for (const entry& e : entries)
    if (e.tensor < tensors) all[e.tensor] += outcomes_of(e, to, mode, scale);
  return all;
}

void run_picture::add(const step& now, const std::vector<tensor_info>& all) {
  if (now.key.microbatch != -1) return;
  add_step(now, all);
  add_block(now.key.step, now.key.step, now.tensors, all);
}

void run_picture::add_step(const step& now, const std::vector<tensor_info>& all) {
  if (now.key.microbatch != -1) return;
  survey_.add(now, all);
  scalars_.push_back(now.scalars);
}

void run_picture::add_block(std::int64_t first, std::int64_t last, const std::vector<tensor_row>& tables,
                            const std::vector<tensor_info>& all) {
  tensor_tables& column = columns_.at_block(first, last);
  for (const tensor_row& row : tables) column.add(row, is_scaled(all[row.tensor].kind));
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
          .critical_certain = row.critical_certain,
          .norm = row.norm,
          .clip_coefficient = row.clip_coefficient,
          .underflow = row.counts.underflow,
          .overflow = row.counts.overflow,
          .nonzero = row.counts.nonzero().high,
          .has_counts = row.has_counts,
          .found_inf = row.found_inf,
          .certain = row.found_inf_certain,
          .skipped = row.skipped,
          .clipped = row.clipped.value_or(false)};
}

}  // namespace ulp
