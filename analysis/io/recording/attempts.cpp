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
};

// Those of one step after the other.
class steps_of_attempts {
 public:
  explicit steps_of_attempts(const database& db)
      : rows_(db,
              "SELECT step, attempt, microbatch, found_inf IS 1 OR applied IS 0 FROM step ORDER BY step, attempt, "
              "microbatch"),
        pending_(rows_.row()) {}

  [[nodiscard]] bool next(std::int64_t& step, std::vector<attempt>& into) {
    into.clear();
    if (!pending_) return false;
    step = key_at(rows_).step;
    for (; pending_; pending_ = rows_.row()) {
      const step_key key = key_at(rows_);
      if (key.step != step) break;
      if (into.empty() || into.back().number != key.attempt) into.push_back({.number = key.attempt});
      ++into.back().rows;
      if (key.microbatch != -1) continue;
      into.back().is_accumulated = true;
      into.back().is_skipped = rows_.integer(3) != 0;
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

}  // namespace

counted_attempts::counted_attempts(const database& db, which_attempts which) {
  if (which == which_attempts::all || !has_attempts(db)) return;
  bool was_resumed = false;
  steps_of_attempts steps(db);
  std::vector<attempt> all;
  for (std::int64_t step = 0; steps.next(step, all);) {
    if (all.size() < 2) continue;
    if (which == which_attempts::last) std::ranges::reverse(all);
    const auto accumulated = std::ranges::find_if(all, &attempt::is_accumulated);
    const attempt& counts = accumulated == all.end() ? all.front() : *accumulated;
    std::uint64_t rows = 0;
    const std::int32_t last = std::max(all.front().number, all.back().number);
    for (const attempt& one : all) {
      rows += one.rows;
      was_resumed = was_resumed || (one.is_accumulated && !one.is_skipped && one.number != last);
    }
    repeated_.push_back({step, counts.number, rows - counts.rows});
  }
  if (!was_resumed) repeated_.clear();
}

counted_attempts::place counted_attempts::from(std::int64_t step) const {
  return std::ranges::lower_bound(repeated_, step, {}, &repeated_step::step);
}

bool counted_attempts::takes(const step_key& key) const {
  const place at = from(key.step);
  return at == repeated_.end() || at->step != key.step || at->attempt == key.attempt;
}

bool counted_attempts::repeats_between(std::int64_t first, std::int64_t last) const {
  const place at = from(first);
  return at != repeated_.end() && at->step <= last;
}

std::uint64_t counted_attempts::left_out(std::int64_t first, std::int64_t last) const {
  std::uint64_t rows = 0;
  for (place at = from(first); at != repeated_.end() && at->step <= last; ++at) rows += at->left_out;
  return rows;
}

}  // namespace ulp::io
