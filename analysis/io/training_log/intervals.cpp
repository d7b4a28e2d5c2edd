#include "intervals.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include <ulp/io/bytes/error.hpp>

#include "choice.hpp"
#include "falls.hpp"

namespace ulp::io {
namespace {

using kind = scale_record::kind;

constexpr std::int64_t most_steps_at_once = 100'000;  // from one printed line to the next
constexpr std::int64_t most_steps = 20'000'000;       // in all
constexpr std::uint64_t lines_late = 4;               // that a line may come after that of a later step

class interval_reader {
 public:
  interval_reader(const std::string& path, const std::function<void(const log_part&)>& to) : path_(path), to_(to) {}

  // Each overflow has a line of its own.
  void expect_overflows() { overflows_have_lines_ = true; }

  // How many steps there are between one record and the next of its kind: for the first, which has none before it.
  void expect(const log_dialect* from, std::int64_t steps) { spacing_[from].last = steps; }
  // Likewise for the first of a run that goes back, which may print more rarely than the one before it.
  void expect_again(const log_dialect* from, std::int64_t steps) {
    spacing_[from].last = std::max(spacing_[from].last, steps);
  }

  void add(const scale_record& r) {
    switch (r.what) {
      case kind::overflow: add_overflow(r); break;
      case kind::grown: grown_ = r.after; break;
      case kind::position: position_ = r.step; break;
      case kind::fresh: start_ = r.after; break;
      case kind::restored: restore(r); break;
      case kind::reached: reach(r); break;
      case kind::fatal:  // choose_records made an overflow of it
      case kind::metrics:
      case kind::section:
      case kind::window:
      case kind::bfloat16: break;
    }
  }

  void finish() {
    close();
    if (!pending_.empty() && reached_) {
      const auto count = static_cast<std::int64_t>(pending_.size());
      const std::int64_t steps = updates_only_ ? updates_between(pending_) : count;
      put({.step = *reached_ + steps,
           .steps = steps,
           .skipped = count,
           .at_end = true,
           .events = std::exchange(pending_, {})});
    }
  }

 private:
  // Steps from one line to the next.
  struct line_spacing {
    std::int64_t last = 0;
    std::int64_t greatest = 0;
    std::int64_t least = most_steps;
    int seen = 0;
    void see(std::int64_t steps) {
      last = steps;
      greatest = std::max(greatest, steps);
      least = std::min(least, steps);
      ++seen;
    }
    // The most that there are, 0 while that is not known.
    [[nodiscard]] std::int64_t regular() const { return seen > 1 ? greatest : 0; }
    // So that one that is greater is a hole in the log.
    [[nodiscard]] bool is_even() const { return seen > 2 && least == greatest; }
  };

  void add_overflow(const scale_record& r) {
    scale_record event = r;
    const std::int64_t told = std::exchange(position_, -1);
    const std::int64_t at = r.step >= 0 ? r.step : told;
    // Other ranks print the same, and DeepSpeed says it in two ways. An update may be tried again at a lower scale.
    const bool is_of_last_run = last_overflow_ && !last_overflow_->ends_run && !r.ends_run;
    const bool is_numbered = at >= 0 && !r.from->counts_updates;
    const bool repeats = is_of_last_run && (is_numbered ? at == last_overflow_->step : is_repeated(r));
    if (repeats) return;
    event.step = at;
    last_overflow_ = event;
    reached_since_ = false;
    grown_ = not_known;
    // In front of the first line that tells of steps others may be missing: see take_late.
    const bool late =
        open_ && first_ && !r.ends_run && room_for_late() > 0 && may_be_late(r) && r.line - open_->line <= lines_late;
    (late ? open_->events : pending_).push_back(event);
  }

  // Overflows that the line of the open interval counts, and that have not come.
  [[nodiscard]] std::int64_t room_for_late() const {
    return open_->is_mixed ? 0 : open_->skipped - std::int64_t(open_->events.size());
  }
  // Not where the scale rose since those that came.
  [[nodiscard]] bool may_be_late(const scale_record& r) const {
    const double before = open_->events.empty() ? not_known : scale_after(open_->events.back());
    return !(used_scale(r, before) > before);
  }

  // In which the scale must have grown.
  [[nodiscard]] static std::int64_t updates_between(const std::vector<scale_record>& overflows) {
    std::int64_t updates = 0;
    for (std::size_t i = 1; i < overflows.size(); ++i) updates += growths(scale_after(overflows[i - 1]), overflows[i]);
    return updates;
  }

  // A scale that fell once cannot fall from the same value again before it has grown.
  [[nodiscard]] bool is_repeated(const scale_record& r) const {
    if (r.is_later_than(*last_overflow_)) return false;
    const bool same = r.after == last_overflow_->after && (r.before == last_overflow_->before || std::isnan(r.before) ||
                                                           std::isnan(last_overflow_->before));
    return same && !reached_since_ && (r.before != r.after || last_overflow_->step >= 0);
  }

  void restore(const scale_record& r) {
    close();
    if (reached_ && r.step < *reached_) restart({.to = r.step});
    if (reached_ && r.step > *reached_) gap_ = true;
    reached_ = r.step;
    restored_ = true;
    start_over();
  }

  // What is known of the run before a restart says nothing of the run after it.
  void start_over() {
    last_of_.clear();
    pending_.clear();
    last_overflow_.reset();
    total_skipped_.reset();
    grown_ = not_known;
  }

  void reach(const scale_record& r) {
    const auto last = last_of_.find(r.from);
    const bool again = last != last_of_.end() && r.step <= last->second.step;
    const bool died = leave_dead_run();
    if (again && !died && r.step == last->second.step &&
        (r.from->counts_updates || !r.from->is_framework() || same(r, last->second)))
      return;
    if (again) go_back(r);
    take_late(r);
    if (open_ && r.step == open_->step) {  // another framework's line of the same step
      merge(r);
    } else if (reached_with_open() && r.step <= *reached_with_open() && !again) {
      last_of_[r.from] = r;
      return;  // behind what another framework's lines said already
    } else if (!updates_only_ || reached_with_open() != r.step) {
      close();
      open(r);
    }
    if (!again && last != last_of_.end()) spacing_[r.from].see(r.step - last->second.step);
    last_of_[r.from] = r;
  }

  // More overflows than the next line counts: the earliest of them were late, of the interval before.
  void take_late(const scale_record& r) {
    if (!open_ || !r.from->skipped_in_all || !total_skipped_ || r.skipped < *total_skipped_) return;
    std::int64_t more = static_cast<std::int64_t>(pending_.size()) - (r.skipped - *total_skipped_);
    auto late = pending_.begin();
    for (; more > 0 && room_for_late() > 0 && may_be_late(*late); --more, ++late) open_->events.push_back(*late);
    pending_.erase(pending_.begin(), late);
  }

  [[nodiscard]] static bool same(const scale_record& a, const scale_record& b) {
    const auto equal = [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); };
    return a.skipped == b.skipped && equal(a.after, b.after) && equal(a.loss, b.loss) &&
           equal(a.grad_norm, b.grad_norm) && equal(a.learning_rate, b.learning_rate);
  }

  [[nodiscard]] std::optional<std::int64_t> reached_with_open() const {
    return open_ ? std::optional(open_->step) : reached_;
  }

  // What came up to the overflow that ended a run is not of the line that follows, even where its steps go on.
  bool leave_dead_run() {
    const auto last = std::ranges::find_if(pending_.rbegin(), pending_.rend(), &scale_record::ends_run);
    if (last == pending_.rend()) return false;
    close();
    dead_ += last.base() - pending_.begin();
    pending_.erase(pending_.begin(), last.base());
    resumed_ = gap_ = true;
    replaced_skips_ = 0;
    return true;
  }

  // The run was started again from a checkpoint that no line tells of.
  void go_back(const scale_record& r) {
    std::int64_t usual = std::max<std::int64_t>(1, spacing_[r.from].last);
    if (!r.from->skipped_in_all) usual = std::max(usual, r.skipped + (r.is_applied ? 1 : 0));
    std::int64_t from = std::max<std::int64_t>(0, r.step - usual);
    if (!r.from->is_framework() && from == 0)
      fail(
          r.line,
          "the step numbers begin again: the file holds two runs, or each epoch counts anew; give each run a file of its own, "
          "with numbers that go on from one epoch to the next");
    close();
    const std::vector<scale_record> skipped = pending_;  // of either run
    start_over();
    pending_ = skipped;
    resumed_ = true;
    replaced_skips_ = 0;
    if (r.from->skipped_in_all) {
      // A total never falls from the checkpoint on: it was saved where there were no more.
      auto known = totals_.upper_bound(from);
      while (known != totals_.begin() && std::prev(known)->second > r.skipped) --known;
      if (known != totals_.begin()) {
        from = std::prev(known)->first;
        total_skipped_ = std::prev(known)->second;
      }
      const auto then = totals_.lower_bound(r.step);
      const bool is_known = total_skipped_ && then != totals_.end();
      replaced_skips_ = is_known ? then->second - *total_skipped_ : 1;
    }
    // Its checkpoint need not hold the scale.
    const bool keeps_scale = r.from->is_framework() && !r.from->skipped_in_all;
    restart({.to = from, .keeps_scale = keeps_scale});
    gap_ = gap_ || !keeps_scale;
    reached_ = from;
    totals_.erase(totals_.upper_bound(from), totals_.end());
  }

  // How many overflows came before a run that began again: those up to a scale that is much higher than a scaler makes it in a
  // few steps.
  [[nodiscard]] static std::size_t begin_of_last_run(const std::vector<scale_record>& overflows) {
    constexpr double far_above = 8;
    std::size_t begin = 0;
    for (std::size_t i = 1; i < overflows.size(); ++i) {
      const double before = scale_after(overflows[i - 1]);
      if (used_scale(overflows[i], before) >= far_above * before) begin = i;
    }
    return begin;
  }

  // Several ranks print the same where the scale stays.
  static void drop_repeated(std::vector<scale_record>& overflows, std::size_t most) {
    for (std::size_t i = overflows.size(); i-- > 1 && overflows.size() > most;) {
      const scale_record& r = overflows[i];
      const scale_record& before = overflows[i - 1];
      if (r.after == before.after && r.before == before.before && r.before == r.after)
        overflows.erase(overflows.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  // Leaves those overflows that are of the interval, as many as its line counts (-1: it does not). Where others may be among
  // them their scales say nothing.
  void settle_overflows(const scale_record& r, std::int64_t counted, log_interval& now) {
    std::vector<scale_record>& all = now.events;
    const auto count = [&] { return static_cast<std::int64_t>(all.size()); };
    const std::size_t begin = resumed_ ? begin_of_last_run(all) : 0;
    all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(begin));
    now.of_run_before += static_cast<std::int64_t>(begin);
    if (counted >= 0) drop_repeated(all, static_cast<std::size_t>(counted));
    if (!resumed_) {
      now.too_many = counted >= 0 ? std::max<std::int64_t>(0, count() - counted) : 0;
      now.is_mixed = now.too_many > 0;
    } else if (counted >= 0) {
      now.is_mixed =
          (count() > 0 || counted > 0) && (count() != counted || (now.of_run_before == 0 && replaced_skips_ != 0));
      // The count may be that of steps that were done again, up to the last line before the run ended.
      if (now.is_mixed && now.of_run_before > 0) now.too_many = std::max<std::int64_t>(1, count());
    } else {
      now.is_mixed = count() > 0 && now.of_run_before == 0;
      now.too_many = now.is_mixed ? count() : 0;
    }
    if (!now.is_mixed) return;
    const bool trusts_count = r.from->skipped_in_all || resumed_;
    now.skipped = counted >= 0 && (trusts_count || counted > count()) ? counted : count();
    if (resumed_ && !r.from->counts_updates) now.skipped = std::min(now.skipped, r.step - *reached_);
    if (resumed_) now.of_run_before += std::max<std::int64_t>(0, count() - now.skipped);
    all.clear();
  }

  // A total says nothing of its last steps where the one before it is not known, or is higher.
  void settle_total(const scale_record& r, bool is_first, log_interval& now) {
    const auto lines = static_cast<std::int64_t>(now.events.size());
    const std::int64_t counted = total_skipped_ ? r.skipped - *total_skipped_ : -1;
    now.counted = counted >= 0;
    now.skipped = std::max<std::int64_t>(0, counted);
    if (counted >= 0 || !is_first) settle_overflows(r, counted, now);
    const std::int64_t below = total_skipped_ ? -counted : lines - r.skipped;
    if (below > 0 && counted < 0) {
      now.is_mixed = true;
      now.too_many = below;
      now.skipped = std::max(now.skipped, lines);
      now.events.clear();
    }
    total_skipped_ = r.skipped;
    totals_[r.step] = r.skipped;
  }

  // Whether the scale can have grown between the overflows as often as they say, in the steps that were applied.
  [[nodiscard]] static bool are_possible(const log_interval& now) {
    const std::int64_t skipped = std::max(now.skipped, static_cast<std::int64_t>(now.events.size()));
    return updates_between(now.events) <= std::max<std::int64_t>(0, now.steps - skipped);
  }

  void open(const scale_record& r) {
    updates_only_ = updates_only_ || r.from->counts_updates;
    reached_since_ = true;
    log_interval now{.from = r.from, .line = r.line, .step = r.step, .nans = r.nans, .record = r};
    now.events = std::exchange(pending_, {});
    now.of_run_before = std::exchange(dead_, 0);
    now.grown = std::exchange(grown_, not_known);
    const bool is_first = !reached_;
    now.counted = r.skipped >= 0 || r.from->skipped_in_all;
    if (r.from->skipped_in_all) {
      settle_total(r, is_first, now);
    } else {
      now.skipped = std::max<std::int64_t>(0, r.skipped);
      settle_overflows(r, r.skipped, now);
    }
    const bool is_resumed = std::exchange(resumed_, false);
    if (const auto before = last_of_.find(r.from); before != last_of_.end()) now.covers = r.step - before->second.step;
    begin_where_printed(r, now);
    const auto events = static_cast<std::int64_t>(now.events.size());
    const std::int64_t told = std::max(now.skipped, events + unlogged_falls_of(now, not_known).between);
    if (!reached_) reached_ = begin_of_first(r, told);
    const bool from_beginning = r.from->skipped_in_all && *reached_ == 0 && !first_ && !restored_;
    if (from_beginning) {
      now.skipped = r.skipped;
      now.counted = true;
      totals_[0] = 0;
    }
    constexpr std::uint64_t first_line = 1;  // of the log: what stood in front of it is not known
    now.is_cut = is_first && !now.counted && (*reached_ > 0 || (r.line == first_line && !from_beginning));
    // The steps that a log from the first one on must have, and no more.
    const bool is_full = *reached_ <= 0 && (start_ > 0 || told + (r.is_applied ? 1 : 0) >= r.step - *reached_);
    now.begin_assumed = is_first && r.steps <= 0 && !from_beginning && !is_full && !r.from->counts_updates;
    now.steps = r.step - *reached_;
    if (!r.from->counts_updates && !are_possible(now)) {
      now.is_mixed = true;
      now.skipped = std::max(now.skipped, events);
      now.too_many = now.counted ? 0 : events;
      now.events.clear();
    }
    if (is_resumed && now.steps > 1 && !r.from->counts_updates && !(r.from->skipped_in_all && now.counted)) {
      now.begin_assumed = true;
      now.is_cut = true;  // its first steps may be those of the earlier run, up to the checkpoint
      now.counted = false;
    }
    // These tell of the last interval only: where lines are missing, nothing is known of the steps before it.
    const std::int64_t usual = spacing_[r.from].regular();
    const bool is_numbered =
        r.from->is_bare() || (r.from->is_own && overflows_have_lines_ && !spacing_[r.from].is_even());
    const bool tells_of_all = r.from->skipped_in_all || is_numbered || r.steps > 0;
    if (!tells_of_all && usual > 0 && now.steps > usual) {
      now.begin_assumed = now.begin_assumed || (r.from->is_own && events > 0);
      now.steps = std::max(usual, r.from->is_own ? events : 0);
      now.after_gap = true;
    }
    if (now.steps > most_steps_at_once * r.lines)
      fail(r.line, std::to_string(now.steps) + " steps lie between this line and " +
                       (r.lines == 1 ? "the one before" : "the " + std::to_string(r.lines) + " before") + "; at most " +
                       std::to_string(most_steps_at_once) + (r.lines == 1 ? "" : " for each") + " can be taken");
    total_steps_ += now.steps;
    if (total_steps_ > most_steps)
      fail(r.line, "more than " + std::to_string(most_steps) + " steps; cut the log into parts");
    open_ = std::move(now);
  }

  // Whether nothing but its fall tells of skipped steps.
  [[nodiscard]] bool tells_by_scale(const scale_record& r) const {
    return !overflows_have_lines_ && r.skipped < 0 && !r.from->is_bare();
  }

  // Lines that say themselves where their steps begin, or that say nothing of the steps before theirs.
  void begin_where_printed(const scale_record& r, log_interval& now) {
    if (r.steps <= 0 && !(tells_by_scale(r) && std::isnan(r.after))) return;
    const std::int64_t from = r.step - (r.steps > 0 ? r.steps : 1);
    if (reached_ && from <= *reached_) return;
    now.after_gap = reached_.has_value();
    reached_ = from;
  }

  [[nodiscard]] std::int64_t begin_of_first(const scale_record& r, std::int64_t skipped) {
    std::int64_t steps = spacing_[r.from].last;
    // The only line: the run is a new one if its arguments are there, or if its skipped steps are.
    const bool fresh = start_ > 0 || (r.from->skipped_in_all && r.skipped == skipped);
    if (steps <= 0) steps = fresh ? r.step : 1;
    const bool says_nothing = !r.from->is_framework() && skipped == 0 && r.step > steps;
    if (tells_by_scale(r) || says_nothing) steps = 1;
    skipped += r.is_applied ? 1 : 0;
    if (steps > most_steps_at_once) steps = 1;
    if (!r.from->counts_updates) steps = std::max(steps, skipped);
    // Who counts from 0 prints it when that step is done; a progress bar, before the first.
    const bool may_begin_at_zero = r.from->may_count_from_zero || !r.from->layouts.empty();
    const bool from_zero = (may_begin_at_zero && (r.step == 0 || r.step < skipped)) || tells_by_scale(r);
    const std::int64_t least = from_zero ? -1 : 0;
    return std::max(least, r.step - steps);
  }

  void merge(const scale_record& r) {
    if (r.from->skipped_in_all) {
      if (total_skipped_ && r.skipped > *total_skipped_)
        open_->skipped = std::max(open_->skipped, r.skipped - *total_skipped_);
      total_skipped_ = r.skipped;
    } else {
      open_->skipped = std::max(open_->skipped, r.skipped);
      open_->nans = std::max(open_->nans, r.nans);
      open_->record = r;
    }
    open_->events.insert(open_->events.end(), pending_.begin(), pending_.end());
    pending_.clear();
    if (!std::isnan(grown_)) open_->grown = std::exchange(grown_, not_known);
  }

  void close() {
    if (!open_) return;
    log_interval now = *std::exchange(open_, std::nullopt);
    now.skipped = std::max(now.skipped, static_cast<std::int64_t>(now.events.size()));
    if (!now.from->counts_updates && now.skipped > now.steps)
      fail(now.line,
           std::to_string(now.skipped) + (now.skipped == 1 ? " skipped step is" : " skipped steps are") +
               " logged for the " + std::to_string(now.steps) + (now.steps == 1 ? " step" : " steps") + " up to step " +
               std::to_string(now.step) +
               ": the file holds two runs, several ranks print it, or lines are missing; give each run a file of its "
               "own, with the lines of one rank");
    put(std::move(now));
  }

  void put(log_interval now) {
    now.updates_only = updates_only_;
    now.overflows_have_lines = overflows_have_lines_;
    now.after_gap = std::exchange(gap_, false) || now.after_gap || now.is_mixed;
    now.start = start_;
    reached_ = now.step;
    if (!first_ && (now.steps > 0 || now.skipped > 0)) first_ = now.step - now.steps + 1;
    gap_ = now.is_mixed;
    to_(log_part{std::move(now)});
  }

  void restart(log_restart back) {
    if (first_ && *first_ > back.to) first_.reset();
    to_(log_part{back});
  }

  [[noreturn]] void fail(std::uint64_t line, const std::string& reason) const {
    throw input_error(path_, "line " + std::to_string(line), reason);
  }

  std::string path_;
  const std::function<void(const log_part&)>& to_;
  std::optional<std::int64_t> reached_;  // the step up to which they go
  std::optional<std::int64_t> first_;    // step of them that was not taken back
  bool updates_only_ = false;            // steps are updates, which skipped ones are not
  bool overflows_have_lines_ = false;
  bool restored_ = false;
  bool resumed_ = false;               // the next line is the first after a restart that no line tells of
  std::int64_t replaced_skips_ = 0;    // of the steps up to that line, in the run before
  std::int64_t dead_ = 0;              // overflows up to that which ended the run before
  bool gap_ = false;                   // before the next interval
  std::optional<log_interval> open_;   // the last: added when the next line is there, since lines may come late
  std::vector<scale_record> pending_;  // skipped since the last step that was reached
  std::optional<scale_record> last_overflow_;
  bool reached_since_ = false;
  std::int64_t position_ = -1;
  std::optional<std::int64_t> total_skipped_;
  std::map<std::int64_t, std::int64_t> totals_;  // skipped up to a step, as DeepSpeed counts
  std::map<const log_dialect*, scale_record> last_of_;
  std::map<const log_dialect*, line_spacing> spacing_;
  double start_ = not_known;  // of a fresh run
  double grown_ = not_known;  // since the last overflow
  std::int64_t total_steps_ = 0;
};

// 0 where the next line of its kind is of no later step.
std::int64_t steps_to_next(const std::vector<scale_record>& records, std::size_t at) {
  const scale_record& r = records[at];
  for (std::size_t i = at + 1; i < records.size(); ++i)
    if (records[i].what == kind::reached && records[i].from == r.from)
      return std::max<std::int64_t>(0, (records[i].step - r.step) / std::max<std::int64_t>(records[i].lines, 1));
  return 0;
}

}  // namespace

void read_intervals(const std::vector<scale_record>& records, const std::string& path,
                    const std::function<void(const log_part&)>& to) {
  interval_reader reader(path, to);
  std::map<const log_dialect*, std::int64_t> first;
  for (const scale_record& r : records) {
    if (r.what != kind::reached) continue;
    const auto [at, fresh] = first.try_emplace(r.from, r.step);
    if (fresh || at->second < 0 || r.step <= at->second) continue;
    reader.expect(r.from, (r.step - at->second) / std::max<std::int64_t>(r.lines, 1));
    at->second = -1;
  }
  if (std::ranges::any_of(records, [](const scale_record& r) { return r.what == kind::overflow; }))
    reader.expect_overflows();
  std::map<const log_dialect*, std::int64_t> reached;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const scale_record& r = records[i];
    const auto goes_back = [&] {
      return r.step <= std::exchange(reached.try_emplace(r.from, -1).first->second, r.step);
    };
    if (r.what == kind::reached && goes_back()) reader.expect_again(r.from, steps_to_next(records, i));
    reader.add(r);
  }
  reader.finish();
}

}  // namespace ulp::io
