#include "by_order.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "bytes/text.hpp"
#include "falls.hpp"

namespace ulp::io {
namespace {

using kind = scale_record::kind;

// Equal lines directly after one another: from several ranks, or of several overflows.
struct equal_lines {
  scale_record record;
  std::uint64_t lines = 0;
};

bool is_equal(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

std::vector<equal_lines> overflows_of(const std::vector<scale_record>& records) {
  std::vector<equal_lines> all;
  for (const scale_record& r : records) {
    if (r.what != kind::overflow) continue;
    const bool again = !all.empty() && !r.is_later_than(all.back().record) &&
                       is_equal(r.before, all.back().record.before) && is_equal(r.after, all.back().record.after) &&
                       r.from == all.back().record.from;
    if (!again) all.push_back({.record = r});
    ++all.back().lines;
  }
  return all;
}

// How many ranks print each line: as many as each is there at least. A scale that fell once cannot fall from the same value
// again before it has grown, so a log of one such line, several times, is of several ranks; one that tells no scale, or one that does
// not fall, says nothing of them.
std::uint64_t ranks_of(const std::vector<equal_lines>& all) {
  std::uint64_t ranks = 0;
  for (const equal_lines& e : all) {
    const bool falls_there = !std::isnan(e.record.after) && e.record.after != e.record.before;
    if (falls_there) ranks = ranks == 0 ? e.lines : std::min(ranks, e.lines);
  }
  return std::max<std::uint64_t>(ranks, 1);
}

class numbering {
 public:
  void add(scale_run run) {
    run.step = next_;
    run.numbered = false;
    next_ += run.count;
    runs_.push_back(run);
  }
  [[nodiscard]] std::vector<scale_run> take() { return std::move(runs_); }
  [[nodiscard]] std::int64_t count() const { return next_ - 1; }
  [[nodiscard]] const std::vector<scale_run>& runs() const { return runs_; }
  // The next is again the one behind so many, each of which is one step.
  void go_back_to(std::int64_t count) {
    runs_.resize(static_cast<std::size_t>(count));
    next_ = count + 1;
  }

 private:
  std::vector<scale_run> runs_;
  std::int64_t next_ = 1;
};

// LLaMA-Factory prints each entry itself, without the norm, before the Trainer does.
bool is_same_step(const scale_record& first, const scale_record& second) {
  constexpr double rounded = 5e-5;
  const bool adds_norm = std::isnan(first.grad_norm) && !first.grad_norm_is_nan &&
                         (!std::isnan(second.grad_norm) || second.grad_norm_is_nan);
  return adds_norm && first.epoch == second.epoch && std::fabs(first.loss - second.loss) <= rounded;
}

scale_run run_of(const scale_record& line) {
  scale_run run{.after_gap = true};
  run.describe(line);
  return run;
}

// Logged steps with the epochs beside them, which are rounded to two digits.
class logged_steps {
 public:
  explicit logged_steps(scale_history& to) : to_(to) {}

  void add(const scale_record& line) {
    constexpr double rounded = 0.02;
    if (!epochs_.empty() && line.epoch < epochs_.back() - rounded) go_back(line.epoch);
    steps_.add(run_of(line));
    epochs_.push_back(line.epoch);
    lines_ += 1;
  }
  void finish() {
    to_.runs = steps_.take();
    if (lines_ > 0)
      to_.notes.push_back("the log has no step numbers: its " + count_text(lines_, "line") +
                          " are numbered from 1 in their order, and marked ~");
    if (restarts_ > 0)
      to_.notes.push_back(
          "the epochs go back " + count_text(restarts_, "time") +
          ": a run that was started again, or another one, whose lines replace the earlier ones from there on");
  }

 private:
  void go_back(double epoch) {
    const auto later = std::ranges::find_if(epochs_, [&](double e) { return e >= epoch; });
    const std::int64_t kept = later - epochs_.begin();
    keep_replaced(to_.replaced, steps_.runs(), kept);
    steps_.go_back_to(kept);
    epochs_.erase(later, epochs_.end());
    ++restarts_;
  }

  scale_history& to_;
  numbering steps_;
  std::vector<double> epochs_;
  std::int64_t lines_ = 0;
  std::int64_t restarts_ = 0;
};

}  // namespace

void add_runs_by_order(const std::vector<scale_record>& records, scale_history& to) {
  numbering steps;
  std::vector<std::string>& notes = to.notes;
  const std::vector<equal_lines> overflows = overflows_of(records);
  const std::uint64_t ranks = ranks_of(overflows);
  double scale = not_known;
  std::int64_t unlogged = 0;
  std::int64_t grown = 0;
  for (const equal_lines& e : overflows) {
    const double used = used_scale(e.record, scale);
    const std::int64_t fell = falls(scale, used);
    if (fell > 0) steps.add({.count = static_cast<std::uint32_t>(fell), .skipped = true, .used = scale, .after = used});
    unlogged += fell;
    const std::uint64_t count = (e.lines + ranks - 1) / ranks;
    for (std::uint64_t i = 0; i < count; ++i) {
      const double at = i == 0 ? used : used_scale(e.record, scale);
      const bool is_higher = at > scale;
      grown += is_higher ? 1 : 0;
      const bool may_have_grown = i > 0 && std::isnan(at);
      steps.add({.skipped = true, .after_gap = is_higher || may_have_grown, .used = at, .after = e.record.after});
      if (!std::isnan(scale_after(e.record))) scale = scale_after(e.record);
    }
  }
  if (!overflows.empty()) {
    std::string note = "the log has no step numbers: its " + count_text(steps.count(), "skipped step") +
                       " are numbered from 1 in the order of the lines, and marked ~; the steps that were applied "
                       "between them are not in it";
    if (steps.count() == 1) note.replace(note.find(" are numbered"), 13, " is numbered");
    notes.push_back(note);
    if (grown > 0)
      notes.push_back("the loss scale grew " + count_text(grown, "time") +
                      " between two overflows: steps were applied there, or the run was started again");
    if (unlogged > 0)
      notes.push_back("the loss scale falls between two lines: " + count_text(unlogged, "further overflow") +
                      (unlogged == 1 ? " lies" : " lie") + " there that the log has no line of");
    if (ranks > 1)
      notes.push_back(std::to_string(ranks) + " equal lines are taken for one overflow, from as many ranks");
    to.runs = steps.take();
    return;
  }
  logged_steps logged(to);
  const scale_record* before = nullptr;
  for (const scale_record& r : records) {
    if (r.what != kind::metrics) continue;
    if (before != nullptr && !is_same_step(*before, r)) logged.add(*before);
    before = &r;
  }
  if (before != nullptr) logged.add(*before);
  logged.finish();
}

}  // namespace ulp::io
