#include "scale_place.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include <ulp/model/causes/moving_loss.hpp>

#include "falls.hpp"

namespace ulp::io {
namespace {

using kind = scale_record::kind;
using told_steps = std::span<scale_record* const>;

bool says_overflow(const scale_record& r) { return r.is_nonfinite() || r.skipped > 0; }
// Of its own.
bool has_finite_norm(const scale_record& r) { return std::isfinite(r.grad_norm) && !r.norm_is_repeated; }
bool follows(const scale_record& next, const scale_record& before) { return next.step == before.step + 1; }

// A scale that stands still where a step overflowed is one that never moves: beside every step it is the one before it.
bool is_constant(told_steps told) {
  bool stands = false;
  for (std::size_t i = 0; i < told.size(); ++i) {
    if (told[i]->after != told.front()->after) return false;
    stands = stands || (i > 0 && i + 1 < told.size() && says_overflow(*told[i]) && follows(*told[i], *told[i - 1]));
  }
  return stands;
}

// Only steps that follow one another vote: between others the scale may fall for any of them.
scale_place place_of(told_steps told, bool& changes) {
  std::uint64_t before = 0;
  std::uint64_t after = 0;
  for (std::size_t i = 1; i < told.size(); ++i) {
    const scale_record& last = *told[i - 1];
    const scale_record& now = *told[i];
    if (std::isnan(last.after) || std::isnan(now.after)) continue;
    changes = changes || last.after != now.after;
    if (falls(last.after, now.after) == 0 || !follows(now, last)) continue;
    before += says_overflow(last) && !says_overflow(now) ? 1 : 0;
    after += !says_overflow(last) && says_overflow(now) ? 1 : 0;
  }
  if (before > 0 && after == 0) return scale_place::before;
  if (after > 0 && before == 0) return scale_place::after;
  return scale_place::open;
}

// A scaler lowers its scale behind a step whose norm is not finite: not where each step is told, all with finite norms. Then it is
// another scale, or the norm is one after clipping, or an old one. Nor beside finite norms, most of the times that it falls.
bool is_contradicted(told_steps told) {
  bool any_falls = false;
  std::uint64_t unexplained = 0;
  std::uint64_t explained = 0;
  for (std::size_t i = 1; i < told.size(); ++i) {
    if (!follows(*told[i], *told[i - 1]) || falls(told[i - 1]->after, told[i]->after) == 0) continue;
    const bool is_told = says_overflow(*told[i]) || says_overflow(*told[i - 1]);
    explained += is_told ? 1 : 0;
    unexplained += !is_told && has_finite_norm(*told[i]) && has_finite_norm(*told[i - 1]) ? 1 : 0;
  }
  if (unexplained > explained && explained > 0) return true;
  for (std::size_t i = 0; i < told.size(); ++i) {
    if (says_overflow(*told[i]) || !has_finite_norm(*told[i])) return false;
    if (i == 0) continue;
    if (!follows(*told[i], *told[i - 1])) return false;
    any_falls = any_falls || falls(told[i - 1]->after, told[i]->after) > 0;
  }
  return any_falls;
}

// Where nothing says that a step overflowed: "scale" alone that stays below 64 or rises again and again, as of images; or what is
// below 64 and no power of two, as the weight of a loss.
bool is_of_something_else(told_steps told) {
  double greatest = 0;
  bool is_vague = true;
  bool are_powers = true;
  std::vector<double> scales;
  for (const scale_record* const r : told) {
    if (std::isnan(r->after)) continue;
    scales.push_back(r->after);
    if (r->scale_is_rounded || says_overflow(*r)) return false;
    greatest = std::max(greatest, r->after);
    is_vague = is_vague && r->scale_is_vague;
    are_powers = are_powers && (r->after == 0 || prints_power_of_two(r->after));
  }
  if (is_vague && rises_too_often(scales)) return true;
  return greatest < least_first_scale && ((is_vague && greatest > 1) || !are_powers);
}

bool loss_moves(told_steps of) {
  std::vector<double> losses;
  for (const scale_record* const r : of) losses.push_back(r->loss);
  return goes_on_moving(losses);
}

// A scale that is 0 from one line to the next, without as many steps between them as halve it so far, or in each line: no overflows made
// it so. Where it comes back, or gradients are not zero, or losses rise or fall, it is not the scale that was used; where it begins with a
// norm that is lost, as 0 / 0 is, beside a loss that is not, and hardly a norm is there after that, it is.
bool falls_at_once(const scale_record& from, const scale_record& to) {
  constexpr std::int64_t many = 4096;
  const std::int64_t steps = to.step - from.step;
  return from.after >= 1 && steps > 0 && std::ldexp(from.after, -static_cast<int>(std::min(steps, many))) >= 1;
}
bool is_zero_by_zero(const scale_record& r) { return r.grad_norm_is_nan && std::isfinite(r.loss) && r.loss != 0; }
void take_zeros(told_steps scaled, settled_scales& into) {
  for (std::size_t begin = 0, end = 0; begin < scaled.size(); begin = end) {
    for (end = begin; end < scaled.size() && scaled[end]->after == 0;) ++end;
    if (end == begin) {
      ++end;
      continue;
    }
    const told_steps zeros = scaled.subspan(begin, end - begin);
    const auto living = std::ranges::count_if(zeros, [](const scale_record* r) {
      return std::isfinite(r->grad_norm) && r->grad_norm > 0 && !says_overflow(*r);
    });
    const bool comes_back = end < scaled.size() && scaled[end]->after >= 1;
    const bool goes_on =
        end == scaled.size() && (2 * static_cast<std::size_t>(living) > zeros.size() || loss_moves(zeros));
    const bool falls = begin == 0 || falls_at_once(*scaled[begin - 1], *zeros.front());
    const bool is_of_others = !says_overflow(*zeros.front()) && (comes_back || goes_on);
    const bool is_used = is_zero_by_zero(*zeros.front()) && 10 * static_cast<std::size_t>(living) <= zeros.size();
    if (!falls || !(is_of_others || is_used)) continue;
    into.are_others = into.are_others || is_of_others;
    for (scale_record* const r : zeros) {
      into.zeros.insert(r->step);
      r->after = not_known;
    }
  }
}

// The scale after a step, from that before it and before the next.
double scale_behind(const scale_record& r, double used, const scale_record* next, double next_used) {
  if (next != nullptr && next->step <= r.step) next = nullptr;
  const bool is_set_anew = next_used > 2 * used && !says_overflow(r);  // as by a run that is resumed without it
  if (next != nullptr && follows(*next, r) && !std::isnan(next_used)) return is_set_anew ? used : next_used;
  if (!says_overflow(r)) return used;
  return next != nullptr && next_used <= used / 2 ? used / 2 : not_known;
}

// Between two lines with a scale, of which the second is lower, others have none: it fell behind the one of them that may have
// overflowed; where several may, all are open.
void place_falls(const std::vector<scale_record*>& told, std::vector<double>& used) {
  const auto is_applied = [](const scale_record* r) {
    return has_finite_norm(*r) && !r->is_mean && !says_overflow(*r);
  };
  for (std::size_t i = 0; i + 2 < told.size(); ++i) {
    if (std::isnan(used[i]) || !std::isnan(used[i + 1])) continue;
    std::size_t end = i + 1;
    while (end < told.size() && std::isnan(used[end]) && told[end]->step > told[end - 1]->step) ++end;
    if (end == told.size() || std::isnan(used[end]) || !(used[end] < used[i])) continue;
    const std::span between(told.begin() + static_cast<std::ptrdiff_t>(i),
                            told.begin() + static_cast<std::ptrdiff_t>(end));
    const auto open = std::ranges::count_if(between, [&](const scale_record* r) { return !is_applied(r); });
    if (open == 1) {
      const auto fallen = static_cast<std::size_t>(std::ranges::find_if_not(between, is_applied) - between.begin());
      for (std::size_t k = i + 1; k < end; ++k) used[k] = k <= i + fallen ? used[i] : used[end];
    } else {
      for (scale_record* const r : between) r->order_is_open = true;
    }
  }
}

// Of steps that a fall proves to be skipped, one may be that of the line before, which says so itself: no step is counted twice.
void leave_out_told(const scale_run& told, scale_run& run, std::vector<scale_run>& into) {
  const bool says = told.nonfinite || (told.skipped && told.counted);
  if (!says || run.retries) return;
  scale_run one = run;
  one.count = 1;
  one.skipped = one.decided = false;
  one.placed = false;
  if (run.count == 1) {
    const bool is_norm_lost = run.grad_norm_is_nan || std::isinf(run.grad_norm);
    one.nonfinite = one.decided = is_norm_lost;  // its own line says so
    run = one;
    return;
  }
  one.after = not_known;
  into.push_back(one);
  run.used = not_known;
  run.after_gap = false;
  ++run.step;
  --run.count;
}

// It may be the step before that overflowed, and a step at which the scale rises may have had the higher one.
void leave_open(std::vector<scale_run>& runs) {
  std::vector<scale_run> all;
  double scale = not_known;
  for (scale_run run : runs) {
    const bool is_by_scale = run.skipped && !run.counted;
    if (is_by_scale || run.after > scale || !run.decided) run.placed = false;
    if (is_by_scale && !all.empty() && !all.back().skipped && !run.after_gap) {
      split_last(all);
      scale_run& before = all.back();
      before.decided = before.decided && (before.nonfinite || std::isfinite(before.grad_norm));
    }
    scale = run.after;
    if (is_by_scale && !all.empty() && !run.after_gap) leave_out_told(scale_run(all.back()), run, all);
    all.push_back(run);
  }
  runs = std::move(all);
}

}  // namespace

settled_scales settle_scales(std::vector<scale_record>& records) {
  settled_scales all;
  std::vector<scale_record*> scaled;
  for (scale_record& r : records)
    if (r.what == kind::reached && !std::isnan(r.after) && !r.from->scale_is_mean) scaled.push_back(&r);
  const std::size_t with_scale = scaled.size();
  take_zeros(scaled, all);
  all.are_all_zeros = all.are_others && all.zeros.size() == with_scale;
  std::vector<scale_record*> told;
  for (scale_record& r : records) {
    if (r.what == kind::overflow) return all;  // its line says which
    if (r.what == kind::reached && r.from->scale_is_open) told.push_back(&r);
  }
  const auto has_scale = [](const scale_record* r) { return !std::isnan(r->after); };
  if (std::ranges::none_of(told, has_scale)) return all;
  if (is_of_something_else(told)) {
    all.no_scales = static_cast<std::uint64_t>(std::ranges::count_if(told, has_scale));
    for (scale_record* const r : told) r->after = not_known;
    return all;
  }
  if (is_constant(told)) {
    for (const scale_record* const r : told) all.used[r->step] = r->after;
    return all;
  }
  all.is_contradicted = is_contradicted(told);
  if (all.is_contradicted)
    for (scale_record* const r : told) r->after = not_known;
  all.place = place_of(told, all.changes);
  if (all.place != scale_place::before) return all;
  std::vector<double> used;
  for (const scale_record* const r : told) used.push_back(r->after);
  place_falls(told, used);
  for (std::size_t i = 0; i < told.size(); ++i) {
    scale_record& r = *told[i];
    const bool is_last = i + 1 == told.size();
    all.used[r.step] = used[i];
    r.after = scale_behind(r, used[i], is_last ? nullptr : told[i + 1], is_last ? not_known : used[i + 1]);
    const bool is_alone = i == 0 || told[i - 1]->step >= r.step || follows(r, *told[i - 1]);
    const std::int64_t fell = falls(used[i], r.after);
    if (r.skipped < 1 && is_alone && (fell == 1 || (fell > 1 && says_overflow(r)))) r.skipped = r.steps = 1;
  }
  return all;
}

void apply(const settled_scales& scales, scale_history& into) {
  const auto printed = [&](std::int64_t step) {
    const auto at = scales.used.find(step);
    return at == scales.used.end() ? not_known : at->second;
  };
  for (scale_run& run : into.runs) {
    if (const double used = printed(run.step); !std::isnan(used)) run.used = used;
    // It may have grown behind the step, where the next is not logged.
    const std::int64_t last = run.step + run.count - 1;
    if (run.after == printed(last) && std::isnan(printed(last + 1))) run.after = not_known;
    run.after_is_zero = run.after_is_zero || scales.zeros.contains(last);
  }
  if (scales.place == scale_place::open) leave_open(into.runs);
  if (scales.no_scales > 0) {
    into.unread += scales.no_scales;
    into.notes.push_back(
        "what is called a scale is below 64 throughout or rises again and again, and either no power of two or not said to be that of "
        "a loss, and no line tells of an overflow: it is not used");
  }
  if (scales.are_all_zeros)
    into.notes.push_back(
        "the loss scale is logged as 0 in every line, while gradients are not zero or the loss rises or falls: it is not used");
  if (scales.is_contradicted) {
    for (scale_run& run : into.runs) run.decided = false;
    into.notes.push_back(
        "the loss scale falls beside steps that are logged with norms that are finite: which of them is right is not known, and "
        "the scale is not used");
  }
  if (scales.place == scale_place::before)
    into.notes.push_back(
        "the loss scale that is logged with a step is that before its step is over: it falls behind norms that are not "
        "finite");
  if (scales.place == scale_place::open && scales.changes)
    into.notes.push_back(
        "nothing tells whether the loss scale that is logged with a step is that before or after it: a step that a fall "
        "proves to be skipped may be the one before, and is marked ~");
}

}  // namespace ulp::io
