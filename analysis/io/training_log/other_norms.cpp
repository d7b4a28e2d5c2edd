#include "other_norms.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace ulp::io {
namespace {

bool is_loss_lost(const scale_record& r) { return r.loss_is_nan || std::isinf(r.loss); }

// The first may have that of a step which was applied after the line before.
bool has_own_norm(std::span<scale_record* const> lost) {
  if (lost.size() == 1) return !lost.front()->norm_is_repeated;
  for (const scale_record* const r : lost.subspan(1))
    if (!r->norm_is_repeated) return true;
  return false;
}

// Up to the last norm of its own, for a run may end with steps that have none.
bool are_often_equal(std::span<scale_record* const> told) {
  constexpr std::size_t often = 8;  // one of so many
  while (!told.empty() && told.back()->norm_is_repeated) told = told.first(told.size() - 1);
  const auto repeated = static_cast<std::size_t>(
      std::ranges::count_if(told, [](const scale_record* r) { return r->norm_is_repeated && !is_loss_lost(*r); }));
  return told.size() < often || often * repeated > told.size();
}

}  // namespace

void mark_other_norms(std::vector<scale_record>& records) {
  std::vector<scale_record*> told;
  std::int64_t step = -1;
  for (scale_record& r : records) {
    if (r.what != scale_record::kind::reached && r.what != scale_record::kind::metrics) continue;
    const std::int64_t before = std::exchange(step, r.step);
    r.loss_is_of_several = r.is_mean || r.mean_of != 0 || r.steps > 1 || (before >= 0 && r.step > before + 1);
    if (!std::isfinite(r.grad_norm)) continue;
    // Gradients of zero are what they are.
    r.norm_is_repeated = !told.empty() && r.grad_norm != 0 && r.grad_norm == told.back()->grad_norm;
    told.push_back(&r);
  }
  if (are_often_equal(told))
    for (scale_record* const r : told) r->norm_is_repeated = false;
  for (std::size_t begin = 0, end = 0; begin < told.size(); begin = end) {
    for (end = begin + 1; end < told.size() && is_loss_lost(*told[end]) == is_loss_lost(*told[begin]);) ++end;
    if (!is_loss_lost(*told[begin])) continue;
    const std::span<scale_record* const> lost = std::span(told).subspan(begin, end - begin);
    const bool has_own = has_own_norm(lost);
    for (scale_record* const r : lost) r->norm_is_repeated = !has_own;
  }
}

}  // namespace ulp::io
