#include "own_lines.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace ulp::io {
namespace {

using kind = scale_record::kind;

bool is_own(const scale_record& r) { return r.what == kind::reached && r.from->is_own && !r.from->restarts; }
bool is_framework(const scale_record& r) { return r.what == kind::reached && r.from->skipped_in_all; }
bool has_loss(const scale_record& r) { return r.loss_is_nan || !std::isnan(r.loss); }

bool has_lost_loss(const scale_record& r) { return r.loss_is_nan || std::isinf(r.loss); }

// When a script prints the line of a step: once the optimizer has made it, before that, or one cannot tell.
enum class printed { after, before, open };

struct both_lines {
  std::uint64_t own = 0;
  std::uint64_t with_loss = 0;
  std::uint64_t next = 0;  // of the own ones, those of the step after the one before
  std::uint64_t framework = 0;
  std::int64_t first_own = -1;
  bool counts_in_epochs = false;  // the own lines: what follows says nothing then
  bool agree = true;              // the numbers of both, where they stand side by side
  bool lacks_skips = false;       // the framework counts skipped steps that have no line, or numbers overflows itself
  bool same_before = false;       // somewhere a step's own line is before the framework's
  bool lower_behind = false;      // somewhere that of the step before is behind it

  [[nodiscard]] bool are_of_each_step() const noexcept {
    return framework > 1 && own >= 2 * framework && with_loss > 0 && !lacks_skips && 10 * (next + 1) >= 9 * own &&
           !counts_in_epochs;
  }
  // The framework counts from 1. From 0 the own number of its step is one less.
  [[nodiscard]] printed when() const noexcept {
    if (same_before != lower_behind) return same_before ? printed::before : printed::after;
    if (same_before || first_own > 1) return printed::open;
    return first_own == 0 ? printed::before : printed::after;
  }
};

both_lines lines_of(const std::vector<scale_record>& records) {
  both_lines all;
  std::int64_t own_before = -1;
  std::int64_t awaited = -1;  // the framework's step, until an own line is behind it
  std::int64_t last = -1;
  std::int64_t counted = -1;
  std::int64_t uncounted = 0;
  for (const scale_record& r : records) {
    if (r.what == kind::position) all.lacks_skips = true;
    if (r.what == kind::overflow && r.from->skipped_in_all) --uncounted;
    if (is_own(r)) {
      if (r.step < own_before) awaited = -1;  // resumed
      if (awaited >= 0) {
        all.agree = all.agree && r.step >= awaited - 1;
        all.lower_behind = all.lower_behind || r.step == awaited - 1;
      }
      awaited = -1;
      if (all.own++ == 0) all.first_own = r.step;
      all.next += r.step == own_before + 1 ? 1 : 0;
      all.with_loss += has_loss(r) ? 1 : 0;
      all.counts_in_epochs = all.counts_in_epochs || r.part > 0 || r.of_epoch >= 0 || r.per_epoch > 0;
      own_before = r.step;
    } else if (is_framework(r)) {
      if (r.step < last) own_before = counted = -1;  // resumed
      all.agree = all.agree && own_before <= r.step;
      all.same_before = all.same_before || own_before == r.step;
      // A log from the first step on has the lines of all that are counted.
      if (counted < 0 && last < 0 && (all.first_own == 0 || all.first_own == 1)) counted = 0;
      uncounted = counted < 0 ? 0 : uncounted + std::max<std::int64_t>(0, r.skipped - counted);
      all.lacks_skips = all.lacks_skips || uncounted > 0;
      counted = r.skipped;
      awaited = last = r.step;
      ++all.framework;
    }
  }
  return all;
}

// Between the first and the last of the framework's lines its counts say that all skipped steps have lines.
void count_skips(std::vector<scale_record>& records) {
  const auto first = std::ranges::find_if(records, is_framework);
  const auto last = std::find_if(records.rbegin(), records.rend(), is_framework).base();
  std::int64_t skipped = -1;  // since the own line before,
  std::int64_t before = -1;   // whose step is this
  for (auto r = first; r != last; ++r) {
    if (r->what == kind::overflow && r->from->skipped_in_all && skipped >= 0) ++skipped;
    if (!is_own(*r)) continue;
    const bool follows = r->step > before;
    if (follows && !has_lost_loss(*r)) r->skipped = skipped;
    skipped = 0;
    before = r->step;
  }
}

// What the optimizer says of a step goes before the line of that step, which the script had printed already.
void put_before_lines(std::vector<scale_record>& records) {
  std::vector<scale_record> all;
  std::size_t line = 0;  // index of the last own one
  bool any = false;
  for (scale_record& r : records) {
    const bool is_of_line = any && r.from->skipped_in_all && (r.what == kind::overflow || r.what == kind::grown);
    if (is_of_line && r.ends_run && std::isfinite(all[line].loss)) {  // the step of that line was not made
      all.erase(all.begin() + static_cast<std::ptrdiff_t>(line));
      any = false;
    } else if (is_of_line && !r.ends_run) {
      all.insert(all.begin() + static_cast<std::ptrdiff_t>(line++), std::move(r));
      continue;
    }
    if (is_own(r)) {
      any = true;
      line = all.size();
    }
    all.push_back(std::move(r));
  }
  records = std::move(all);
}

// Of several steps in a row that overflow only the first and the last are open.
void leave_open(std::vector<scale_record>& records) {
  scale_record* line = nullptr;      // the last own one
  std::vector<scale_record*> above;  // overflows between it and the one before,
  std::vector<scale_record*> below;  // and since
  const auto settle = [&] {
    if (below.empty())
      for (scale_record* const r : above) r->order_is_open = true;
  };
  for (scale_record& r : records) {
    if (is_own(r)) {
      settle();
      line = &r;
      above = std::exchange(below, {});
    } else if (r.what == kind::overflow && r.from->skipped_in_all) {
      if (line != nullptr && above.empty()) line->order_is_open = true;
      below.push_back(&r);
    }
  }
  settle();
}

// From the own line of the same step, near by.
void take_losses(std::vector<scale_record>& records) {
  constexpr std::uint64_t near = 50;  // lines
  std::map<std::int64_t, const scale_record*> own;
  for (const scale_record& r : records)
    if (r.from->is_own && r.what == kind::reached) own[r.step] = &r;
  for (scale_record& r : records) {
    if (!is_framework(r) || r.has_values()) continue;
    const auto found = own.find(r.step);
    if (found == own.end()) continue;
    const scale_record& of = *found->second;
    if (std::max(of.line, r.line) - std::min(of.line, r.line) > near) continue;
    r.put(&scale_record::loss, of.loss);
    r.loss_is_nan = of.loss_is_nan;
    r.grad_norm = of.grad_norm;
    r.grad_norm_is_nan = of.grad_norm_is_nan;
  }
}

}  // namespace

std::uint64_t settle_own_lines(std::vector<scale_record>& records) {
  const both_lines found = lines_of(records);
  if (found.framework == 0) return 0;
  if (!found.agree && !found.counts_in_epochs) return found.with_loss;
  if (!found.are_of_each_step()) {
    take_losses(records);
    return 0;
  }
  const printed when = found.when();
  if (when == printed::before) put_before_lines(records);
  if (when == printed::open) leave_open(records);
  count_skips(records);
  std::erase_if(records, is_framework);
  return 0;
}

}  // namespace ulp::io
