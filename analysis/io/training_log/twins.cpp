#include "twins.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

namespace ulp::io {
namespace {

using kind = scale_record::kind;

constexpr std::size_t most_between = 8;  // records of the same kind between a line and that of another rank

bool equal(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// All that a line says.
struct record_less {
  static auto key(const scale_record& r) {
    const auto bits = [](double x) { return std::bit_cast<std::uint64_t>(x); };
    return std::tuple{r.from,
                      r.what,
                      r.part,
                      r.step,
                      r.skipped,
                      bits(r.before),
                      bits(r.after),
                      bits(r.loss),
                      bits(r.grad_norm),
                      bits(r.epoch),
                      bits(r.learning_rate),
                      r.is_applied};
  }
  bool operator()(const scale_record& a, const scale_record& b) const { return key(a) < key(b); }
};

using places = std::vector<std::size_t>;

// How many ranks print the same: as many copies as nearly all lines have, each within a few lines. 1 where one does.
std::size_t ranks_of(const std::vector<scale_record>& records,
                     const std::map<scale_record, places, record_less>& copies) {
  constexpr std::size_t most_ranks = 16;
  constexpr std::size_t least_lines = 3;
  constexpr std::size_t at_ends = 2;  // lines that a cut left without their copies
  if (copies.size() < least_lines) return 1;
  for (std::size_t ranks = most_ranks; ranks > 1; --ranks) {
    std::size_t alone = 0;
    for (const auto& [record, at] : copies) {
      bool together = at.size() % ranks == 0;
      for (std::size_t i = 0; together && i < at.size(); i += ranks)
        together = at[i + ranks - 1] - at[i] <= most_between * ranks &&
                   !records[at[i + ranks - 1]].is_later_than(records[at[i]]);
      alone += together ? 0 : 1;
    }
    if (alone <= (copies.size() > 4 * at_ends ? at_ends : 0)) return ranks;
  }
  return 1;
}

// A run that goes back to an earlier step prints its lines again in a row, other ranks print them between the first's.
constexpr std::size_t most_in_a_row = 3;
bool is_second_run(const std::vector<scale_record>& records, const std::vector<bool>& is_copy, std::size_t ranks) {
  std::vector<bool> lines;  // of which all records are copies
  for (std::size_t i = 0; i < records.size(); ++i) {
    const bool goes_on = i > 0 && records[i].line == records[i - 1].line;
    if (!goes_on) lines.push_back(true);
    lines.back() = lines.back() && is_copy[i];
  }
  const auto copies = static_cast<std::size_t>(std::ranges::count(lines, true));
  std::size_t rows = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) rows += lines[i] && (i + 1 == lines.size() || !lines[i + 1]) ? 1 : 0;
  return rows * most_in_a_row * (ranks - 1) < copies;
}

// Leaves the first of the equal lines of several ranks.
std::uint64_t drop_copies(std::vector<scale_record>& records) {
  std::map<scale_record, places, record_less> copies;
  for (std::size_t i = 0; i < records.size(); ++i) copies[records[i]].push_back(i);
  const std::size_t ranks = ranks_of(records, copies);
  if (ranks == 1) return 0;
  std::vector<bool> is_copy(records.size());
  for (const auto& [record, at] : copies)
    for (std::size_t i = 0; i < at.size(); ++i) is_copy[at[i]] = i % ranks != 0;
  if (is_second_run(records, is_copy, ranks)) return 0;
  std::size_t i = 0;
  return std::erase_if(records, [&](const scale_record&) { return is_copy[i++]; });
}

// The same step; losses and norms are each rank's own. Without them, the same in all.
bool are_twins(const scale_record& a, const scale_record& b) {
  if (b.is_later_than(a)) return false;
  const bool same = a.step == b.step && a.part == b.part && a.skipped == b.skipped && equal(a.after, b.after) &&
                    equal(a.before, b.before) && equal(a.epoch, b.epoch);
  // Steps in thousands are the same where they are not.
  if (a.what != kind::metrics && a.step_unit > 1)
    return same && equal(a.loss, b.loss) && equal(a.grad_norm, b.grad_norm) && a.loss_is_nan == b.loss_is_nan;
  if (a.what != kind::metrics) return same;
  return same && !std::isnan(a.epoch) && equal(a.loss, b.loss) && equal(a.grad_norm, b.grad_norm) &&
         a.grad_norm_is_nan == b.grad_norm_is_nan && equal(a.learning_rate, b.learning_rate);
}

// Steps, where nearly all have twins.
std::uint64_t drop_twins(std::vector<scale_record>& records) {
  std::map<std::pair<const log_dialect*, kind>, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const scale_record& r = records[i];
    if ((r.what == kind::reached || r.what == kind::metrics) && !r.from->is_bare() && r.has_values())
      groups[{r.from, r.what}].push_back(i);
  }
  std::vector<bool> is_later(records.size());
  std::uint64_t dropped = 0;
  for (const auto& [of, members] : groups) {
    std::vector<std::size_t> later;
    std::vector<bool> has_twin(members.size());
    for (std::size_t i = 0; i < members.size(); ++i)
      for (std::size_t j = i - std::min(i, most_between); j < i; ++j) {
        if (!are_twins(records[members[j]], records[members[i]])) continue;
        has_twin[i] = has_twin[j] = true;
        later.push_back(members[i]);
        break;
      }
    const auto twins = static_cast<std::size_t>(std::ranges::count(has_twin, true));
    std::size_t rows = 0;
    for (std::size_t i = 0; i < members.size(); ++i) {
      const auto is_again = [&](std::size_t m) { return std::ranges::binary_search(later, m); };
      rows += is_again(members[i]) && (i + 1 == members.size() || !is_again(members[i + 1])) ? 1 : 0;
    }
    constexpr double nearly_all = 0.8;
    const bool is_nearly_all = static_cast<double>(twins) >= nearly_all * static_cast<double>(members.size());
    if (later.empty() || !is_nearly_all || rows * most_in_a_row < later.size()) continue;
    if (rows == 1 && later.size() > 1) continue;
    dropped += later.size();
    for (const std::size_t i : later) is_later[i] = true;
  }
  std::size_t i = 0;
  std::erase_if(records, [&](const scale_record&) { return is_later[i++]; });
  return dropped;
}

// Overflows that follow one another, of which the scale after them is all that is told.
class overflow_chain {
 public:
  // False where the scale must have grown before it.
  [[nodiscard]] bool add(const scale_record& r) {
    constexpr std::size_t most_late = 4;
    if (chain_.empty() || r.after <= chain_.back().after) {
      chain_.push_back(r);
      return true;
    }
    const std::size_t first = chain_.size() - std::min(chain_.size(), most_late);
    for (std::size_t at = chain_.size(); at-- > first;) {
      if (chain_[at].after == r.after) {
        if (r.is_later_than(chain_[at])) return false;
        ++copies_;
        insert(at + 1, r);
        return true;
      }
      const bool in_gap =
          at > 0 ? chain_[at - 1].after > r.after && r.after > chain_[at].after : r.after == 2 * chain_[at].after;
      if (!in_gap) continue;
      if (r.is_later_than(chain_[at])) return false;
      ++(at > 0 ? fills_ : fronts_);
      insert(at, r);
      return true;
    }
    return false;
  }

  // In their order, if that explains the lines better than a scale that grew.
  [[nodiscard]] bool is_better() const {
    if (copies_ + fills_ + fronts_ == 0) return false;
    if (copies_ > 0 && !are_all_copied()) return false;
    return copies_ > 0 || fills_ > 0;
  }
  [[nodiscard]] const std::vector<scale_record>& records() const noexcept { return chain_; }

 private:
  void insert(std::size_t at, const scale_record& r) {
    chain_.insert(chain_.begin() + static_cast<std::ptrdiff_t>(at), r);
  }
  [[nodiscard]] bool are_all_copied() const {
    for (std::size_t i = 0; i < chain_.size(); ++i) {
      const bool before = i > 0 && chain_[i - 1].after == chain_[i].after;
      const bool behind = i + 1 < chain_.size() && chain_[i + 1].after == chain_[i].after;
      if (!before && !behind) return false;
    }
    return true;
  }

  std::vector<scale_record> chain_;
  std::size_t copies_ = 0;
  std::size_t fills_ = 0;
  std::size_t fronts_ = 0;
};

bool tells_scale_after(const scale_record& r) {
  return r.what == kind::overflow && std::isnan(r.before) && r.after > 0 && std::isfinite(r.after);
}

void sort_overflows(std::vector<scale_record>& records) {
  for (std::size_t begin = 0; begin < records.size();) {
    overflow_chain chain;
    std::size_t end = begin;
    while (end < records.size() && tells_scale_after(records[end]) && records[end].from == records[begin].from &&
           chain.add(records[end]))
      ++end;
    if (chain.is_better()) {
      for (std::size_t i = begin; i < end; ++i) {
        const std::uint64_t line = records[i].line;
        records[i] = chain.records()[i - begin];
        records[i].line = line;
      }
    }
    begin = std::max(end, begin + 1);
  }
}

// Puts a line of steps whose place is free, at the spacing of its neighbours, where a run that began again would have printed
// those that follow once more.
void sort_late_steps(std::vector<scale_record>& records) {
  std::map<const log_dialect*, std::vector<std::size_t>> lines;
  for (std::size_t i = 0; i < records.size(); ++i)
    if (records[i].what == kind::reached && !records[i].from->is_bar && !records[i].from->counts_in_epochs)
      lines[records[i].from].push_back(i);
  std::vector<std::pair<std::size_t, std::size_t>> moves;  // of a record, in front of which
  for (const auto& [from, at] : lines) {
    const auto step = [&](std::size_t i) { return records[at[i]].step; };
    for (std::size_t i = 3; i + 1 < at.size(); ++i) {
      if (step(i) >= step(i - 1) || step(i + 1) <= step(i - 1)) continue;
      constexpr std::size_t most_late = 3;
      std::size_t place = i - 1;
      while (place > 1 && i - place < most_late && step(place - 1) > step(i)) --place;
      const std::int64_t spacing = step(i) - step(place - 1);
      const std::int64_t usual = place > 1 ? step(place - 1) - step(place - 2) : step(i + 1) - step(i - 1);
      if (spacing <= 0 || spacing != usual || step(place) - step(i) != spacing) continue;
      moves.emplace_back(at[i], at[place]);
    }
  }
  for (const auto& [record, before] : moves)
    std::rotate(records.begin() + static_cast<std::ptrdiff_t>(before),
                records.begin() + static_cast<std::ptrdiff_t>(record),
                records.begin() + static_cast<std::ptrdiff_t>(record) + 1);
}

}  // namespace

std::uint64_t put_in_order(std::vector<scale_record>& records) {
  const std::uint64_t dropped = drop_copies(records) + drop_twins(records);
  sort_overflows(records);
  sort_late_steps(records);
  return dropped;
}

}  // namespace ulp::io
