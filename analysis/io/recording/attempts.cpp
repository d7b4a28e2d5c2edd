#include "attempts.hpp"

#include <algorithm>

#include "schema.hpp"

namespace ulp::io {
namespace {

struct attempt {
  std::int32_t number = 0;
  std::uint64_t rows = 0;
  bool is_accumulated = false;  // has the row of the accumulated gradient
  bool is_skipped = false;
  double scale = not_known;
  std::int64_t first_row = 0;  // in the order of writing
  std::int64_t last_row = 0;
};

// The attempts of one step after the other.
class steps_of_attempts {
 public:
  explicit steps_of_attempts(const database& db)
      : rows_(db,
              "SELECT step, attempt, microbatch, found_inf IS 1 OR applied IS 0, loss_scale, rowid FROM step ORDER BY "
              "step, attempt, microbatch"),
        pending_(rows_.row()) {}

  [[nodiscard]] bool next(std::int64_t& step, std::vector<attempt>& into) {
    into.clear();
    if (!pending_) return false;
    step = key_at(rows_).step;
    for (; pending_; pending_ = rows_.row()) {
      const step_key key = key_at(rows_);
      if (key.step != step) break;
      const std::int64_t row = rows_.integer(5);
      if (into.empty() || into.back().number != key.attempt)
        into.push_back({.number = key.attempt, .first_row = row, .last_row = row});
      attempt& of = into.back();
      ++of.rows;
      of.first_row = std::min(of.first_row, row);
      of.last_row = std::max(of.last_row, row);
      if (key.microbatch != -1) continue;
      of.is_accumulated = true;
      of.is_skipped = rows_.integer(3) != 0;
      of.scale = rows_.real(4);
    }
    return true;
  }

 private:
  statement rows_;
  bool pending_;
};

bool has_attempts(const database& db) {
  statement any(db, "SELECT 1 FROM step WHERE attempt>0 LIMIT 1");
  return any.row();
}

// Whether the update was tried again, by the same job.
bool is_tried_again(const attempt& before, const attempt& now) {
  const bool is_next = before.last_row + 1 == now.first_row;
  return before.is_skipped && is_next && !(now.scale >= before.scale);
}

// Attempts at one step that count together, both ends included.
struct tries {
  std::size_t first = 0;
  std::size_t last = 0;
};

// One for each time that a job came to the step.
std::vector<tries> tries_of(const std::vector<attempt>& all) {
  std::vector<tries> found;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].is_accumulated) continue;
    if (!found.empty() && found.back().last + 1 == i && is_tried_again(all[i - 1], all[i]))
      found.back().last = i;
    else
      found.push_back({i, i});
  }
  return found;
}

tries counted_of(const std::vector<attempt>& all, const std::vector<tries>& found, which_attempts which) {
  const bool is_last = which == which_attempts::last;
  if (!found.empty()) return is_last ? found.back() : found.front();
  const std::size_t one = is_last ? all.size() - 1 : 0;
  return {one, one};
}

}  // namespace

counted_attempts::counted_attempts(const database& db, which_attempts which) {
  if (which == which_attempts::all || !has_attempts(db)) return;
  steps_of_attempts steps(db);
  std::vector<attempt> all;
  std::int64_t resumed =
      0;  // the latest row with which a job repeated a step so far: later steps written before are void
  for (std::int64_t step = 0; steps.next(step, all);) {
    const std::vector<tries> found = tries_of(all);
    const tries counts = counted_of(all, found, which);
    const bool is_abandoned = which == which_attempts::last && all[counts.last].last_row < resumed;
    std::uint64_t rows = 0;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (is_abandoned || i < counts.first || counts.last < i) rows += all[i].rows;
    if (rows > 0)
      left_out_.push_back({step, all[counts.first].number, is_abandoned ? -1 : all[counts.last].number, rows});
    abandoned_ += is_abandoned ? 1 : 0;
    for (std::size_t i = 1; i < found.size(); ++i) resumed = std::max(resumed, all[found[i].first].first_row);
  }
}

counted_attempts::place counted_attempts::from(std::int64_t step) const {
  return std::ranges::lower_bound(left_out_, step, {}, &partly_left_out::step);
}

bool counted_attempts::takes(const step_key& key) const {
  const place at = from(key.step);
  return at == left_out_.end() || at->step != key.step || (at->first <= key.attempt && key.attempt <= at->last);
}

bool counted_attempts::repeats_between(std::int64_t first, std::int64_t last) const {
  const place at = from(first);
  return at != left_out_.end() && at->step <= last;
}

std::uint64_t counted_attempts::left_out(std::int64_t first, std::int64_t last) const {
  std::uint64_t rows = 0;
  for (place at = from(first); at != left_out_.end() && at->step <= last; ++at) rows += at->rows;
  return rows;
}

}  // namespace ulp::io
