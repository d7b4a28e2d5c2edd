#include "skip_counts.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ulp::io {
namespace {

using kind = scale_record::kind;

// A flag is of the step of its line alone.
void take_flag(scale_record& r, std::int64_t gap) {
  const bool overflowed = r.overflow != 0;
  const bool is_alone = gap == 1 || std::isnan(r.after);
  if (is_alone) {
    r.skipped = overflowed ? 1 : 0;
    r.steps = 1;
  }
  r.is_overflow = overflowed && !is_alone;
  r.is_applied = !overflowed;
}

// Drops flags that are shares somewhere, as of tokens beyond the capacity of an expert.
std::uint64_t drop_shares(std::vector<scale_record>& records) {
  const auto is_share = [](const scale_record& r) {
    return std::isfinite(r.overflow) && r.overflow != std::floor(r.overflow);
  };
  if (std::ranges::none_of(records, is_share)) return 0;
  std::uint64_t told = 0;
  for (scale_record& r : records) told += std::isnan(std::exchange(r.overflow, not_known)) ? 0 : 1;
  return told;
}

// Drops what lines say of skipped steps where each that does so is of a single step with a norm and a loss that are finite, and the loss
// scale does not fall there.
std::uint64_t drop_contradicted(std::vector<scale_record>& records) {
  std::vector<scale_record*> lines;
  for (scale_record& r : records)
    if (r.what == kind::reached && r.from->is_own) lines.push_back(&r);
  std::vector<double> numbers;
  for (const scale_record* const r : lines)
    if (!std::isnan(r->skips)) numbers.push_back(r->skips);
  const bool in_all = std::ranges::is_sorted(numbers);
  double skips = 0;
  std::uint64_t told = 0;
  std::uint64_t contradicted = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const scale_record& r = *lines[i];
    told += std::isnan(r.overflow) && std::isnan(r.skips) ? 0 : 1;
    const double before = std::exchange(skips, std::isnan(r.skips) ? skips : r.skips);
    const bool is_counted = r.skips > (in_all ? before : 0);
    if (!(r.overflow > 0) && !is_counted) continue;
    if (!r.skips_are_vague) return 0;
    const auto falls_at = [&](std::size_t k) {
      return k > 0 && k < lines.size() && lines[k]->after < lines[k - 1]->after;
    };
    const bool is_single = i > 0 && r.step == lines[i - 1]->step + 1;
    if ((i > 0 && !is_single) || !std::isfinite(r.grad_norm) || r.is_nonfinite() || falls_at(i) || falls_at(i + 1))
      return 0;
    ++contradicted;
  }
  if (contradicted == 0) return 0;
  for (scale_record* const r : lines) r->overflow = r->skips = not_known;
  return told;
}

}  // namespace

bool are_in_all(std::span<const logged_skips> told) {
  if (told.empty()) return false;
  // Each of a row of ones is a skipped step only where each line says itself that it was not finite.
  const bool are_flags =
      std::ranges::all_of(told, [](const logged_skips& s) { return s.value == 0 || s.is_nonfinite; });
  return std::ranges::is_sorted(told, {}, &logged_skips::value) && (told.back().value > 1 || !are_flags);
}

std::vector<std::optional<std::int64_t>> skips_of(std::span<const logged_skips> told) {
  const bool in_all = are_in_all(told);
  std::vector<std::optional<std::int64_t>> all;
  double before = in_all ? not_known : 0;
  for (const logged_skips& s : told) {
    const double since = in_all ? s.value - std::exchange(before, s.value) : s.value;
    all.push_back(since >= 0 ? std::optional{static_cast<std::int64_t>(since)} : std::nullopt);
  }
  return all;
}

std::uint64_t take_own_skips(std::vector<scale_record>& records) {
  // A framework's own lines of overflows say more.
  if (std::ranges::any_of(records, [](const scale_record& r) { return r.what == kind::overflow; })) return 0;
  const std::uint64_t shares = drop_shares(records);
  if (const std::uint64_t contradicted = drop_contradicted(records); contradicted > 0) return shares + contradicted;
  std::vector<logged_skips> told;
  std::vector<std::size_t> at;
  std::int64_t before = -1;
  std::vector<std::int64_t> gaps(records.size());
  for (std::size_t i = 0; i < records.size(); ++i) {
    scale_record& r = records[i];
    if (r.what != kind::reached || r.skipped >= 0) continue;
    gaps[i] = before >= 0 && r.step > before ? r.step - before : 0;
    before = r.step;
    if (!std::isnan(r.overflow)) take_flag(r, gaps[i]);
    if (!std::isnan(r.overflow) || !(r.skips >= 0) || std::isinf(r.skips)) continue;
    told.push_back({std::floor(r.skips), r.is_nonfinite()});
    at.push_back(i);
  }
  const auto since = skips_of(told);
  for (std::size_t i = 0; i < at.size(); ++i) {
    scale_record& r = records[at[i]];
    const std::int64_t gap = gaps[at[i]];
    const bool none_so_far = told[i].value == 0;
    if (gap == 0 && !none_so_far) continue;  // of which steps is not known
    r.steps = std::max<std::int64_t>(gap, 1);
    r.skipped = none_so_far ? 0 : std::min(since[i].value_or(0), gap);
    if (!since[i] && !none_so_far) r.skipped = r.steps = -1;
  }
  return shares;
}

}  // namespace ulp::io
