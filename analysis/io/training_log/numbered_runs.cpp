#include "numbered_runs.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "bytes/text.hpp"
#include "choice.hpp"
#include "falls.hpp"
#include "intervals.hpp"

namespace ulp::io {
namespace {

// From intervals to runs.
class run_builder {
 public:
  explicit run_builder(bool scale_moves) : scale_moves_(scale_moves) {}

  // The runs of an interval, in the order in which they are known or taken to have been.
  void operator()(log_interval now) {
    const bool contradicts = add_unlogged(now) || now.too_many > 0;
    lost_with_run_ += static_cast<std::uint64_t>(now.of_run_before);
    miscounted_ += now.too_many > 0 ? 1 : 0;
    unplaced_lines_ += static_cast<std::uint64_t>(now.too_many);
    if (now.counted && now.overflows_have_lines && !now.is_mixed)
      lineless_ += now.skipped - static_cast<std::int64_t>(now.events.size());
    begin(now);
    const std::vector<scale_record>& events = now.events;
    const auto unknown = static_cast<std::uint32_t>(now.skipped - std::int64_t(events.size()));
    const std::int64_t applied = now.updates_only ? now.steps : now.steps - now.skipped;
    applied_ = applied;
    const auto between = std::min(unknown, static_cast<std::uint32_t>(unlogged_between_));
    const bool numbered = unknown == 0 && are_numbered(now);
    placed_ = now.skipped == 0 || numbered || (now.updates_only ? applied == 1 : applied == 0);
    if (now.record.is_applied && applied == 1 && !now.at_end)
      placed_ = true;  // all before the last
    else if ((unknown > between && !events.empty()) || now.at_end || contradicts)
      placed_ = false;
    if (now.is_cut && !events.empty() && now.covers == 0 && !now.from->is_bar && now.record.steps <= 0) placed_ = false;
    if (now.record.order_is_open || std::ranges::any_of(events, &scale_record::order_is_open)) placed_ = false;
    decided_ = !contradicts && is_decided(now);

    std::int64_t left = applied;
    // The norm that is printed is that of the last step, and so is a loss that is no mean: one of the falls is its own.
    const bool ends_nonfinite = unlogged_here_ > 0 && is_lost_last(now.record);
    const bool has_none = lacks_norm(now);
    const bool ends_skipped = (ends_nonfinite || has_none) && unknown > between && !now.updates_only && applied > 0;
    if (ends_skipped && now.skipped == 1) {
      placed_ = true;
      decided_ = now.counted;
    }
    const std::uint32_t first = unknown - between - (ends_skipped ? 1 : 0);
    if (first > 0) add({.count = first, .skipped = true, .used = first_used_});
    double scale = runs_.empty() ? not_known : runs_.back().after;
    std::int64_t needed = 0;  // steps in which the scale must have grown before it fell
    for (double now_at = scale; const scale_record& e : events) needed += growths(std::exchange(now_at, e.after), e);
    const bool fits = needed <= left - (now.updates_only && !now.at_end ? 1 : 0);  // the last is an update
    // Where the last step is lost, and each overflow has a line, the last of these is its own.
    const bool ends_with_event =
        !numbered && !now.updates_only && !now.at_end && unknown == 0 && is_lost_last(now.record);
    for (const scale_record& e : events) {
      const bool is_own = ends_with_event && &e == &events.back();
      const std::int64_t good = is_own ? left : numbered ? e.step - step_ : fits ? growths(scale, e) : 0;
      const double before = std::exchange(scale, scale_after(e));
      if (good > 0) add({.count = static_cast<std::uint32_t>(good)});
      left -= good;
      const auto fell = between > 0 ? falls(before, used_scale(e, before)) : 0;
      if (fell > 0) add({.count = static_cast<std::uint32_t>(fell), .skipped = true, .used = before});
      add_event(e);
    }
    if (left > 0) add({.count = static_cast<std::uint32_t>(left)});
    if (ends_skipped) add({.skipped = true});
    if (runs_.size() > first_run_) describe_last();
    if (!decided_ && !now.counted && tells_of_last(now)) settle_last();
    if (now.begin_assumed && now.steps > 1) leave_open(now);
  }

  // What came after the step is replaced by what follows.
  void operator()(const log_restart& back) {
    keep_replaced(replaced_runs_, runs_, back.to);
    std::uint64_t gone = 0;
    while (!runs_.empty()) {
      scale_run& run = runs_.back();
      const std::int64_t last = run.retries ? run.step : run.step + run.count - 1;
      if (last <= back.to) break;
      const std::int64_t kept = run.retries ? 0 : std::max<std::int64_t>(0, back.to - run.step + 1);
      gone += run.count - static_cast<std::uint64_t>(kept);
      if (kept > 0) {
        run.count = static_cast<std::uint32_t>(kept);
        run.after = run.after_at_most = run.loss = run.grad_norm = run.learning_rate = not_known;
        break;
      }
      runs_.pop_back();
    }
    if (gone > 0) ++restarts_;
    replaced_ += gone;
    printed_ = not_known;
    scale_ = runs_.empty() || !back.keeps_scale ? not_known : runs_.back().after;
  }

  void finish(scale_history& into) {
    if (interval_.at_end)
      into.notes.push_back(count_text(static_cast<std::uint64_t>(interval_.skipped), "skipped step") +
                           " at the end of the log: taken to follow step " +
                           std::to_string(interval_.step - interval_.steps) + " at once");
    if (replaced_ > 0)
      into.notes.push_back("the log goes back to an earlier step " + count_text(restarts_, "time") + ": " +
                           count_text(replaced_, "step") + " of the earlier runs " + (replaced_ == 1 ? "is" : "are") +
                           " replaced by the later ones" +
                           (lost_with_run_ > 0 ? ", and so " + std::string{lost_with_run_ == 1 ? "is " : "are "} +
                                                     count_text(lost_with_run_, "overflow") + " after their last line"
                                               : ""));
    describe_falls(into);
    std::uint64_t unplaced = 0;
    std::uint64_t of_all = 0;
    const std::size_t end = interval_.at_end ? first_run_ : runs_.size();  // those have a note of their own
    for (std::size_t i = 0; i < end; ++i) {
      const scale_run& run = runs_[i];
      if (run.placed) continue;
      of_all += run.count;
      unplaced += run.skipped ? run.count : 0;
    }
    if (unplaced > 0 && unplaced == of_all)
      into.notes.push_back("of " + count_text(unplaced, "skipped step") +
                           " the log does not tell for certain where it lies, or at which scale: marked ~");
    else if (unplaced > 0)
      into.notes.push_back("the log does not tell which of " + std::to_string(of_all) + " steps were the " +
                           std::to_string(unplaced) +
                           " skipped ones: the first of each interval are taken, and marked ~; log every step to know");
    into.unread += unplaced_lines_;
    if (restarts_ > replaced_runs_.size())
      into.doubts.push_back("the run was started again so often that what was replaced is looked at for the first " +
                            std::to_string(replaced_runs_.size()) + " times alone");
    into.replaced = std::move(replaced_runs_);
    into.runs = std::move(runs_);
  }

 private:
  // Adds the skipped steps that only a fall of the scale tells of; true where it leaves open what its steps did, as where the
  // line's own count contradicts it.
  bool add_unlogged(log_interval& now) {
    unlogged_here_ = unlogged_between_ = 0;
    first_used_ = not_known;
    const double before = gap_ || now.after_gap ? not_known : std::isnan(scale_) ? printed_ : scale_;
    const unlogged_falls unlogged = unlogged_falls_of(now, before);
    const auto logged = static_cast<std::int64_t>(now.events.size());
    printed_before_ = std::exchange(printed_, now.record.after);
    if (now.counted) {
      const bool contradicts = unlogged.after > 0 && now.skipped < logged + unlogged.after && now.steps > now.skipped;
      contradicted_ += contradicts ? 1 : 0;
      return contradicts;
    }
    if (unlogged.between + unlogged.after == 0) return false;
    const std::int64_t skipped = logged + unlogged.between + unlogged.after;
    // More falls than steps: not by halves, or set anew, as by a run that went on with another scaler.
    const bool by_halves = now.updates_only || skipped <= now.steps;
    if (!by_halves && !now.record.is_nonfinite()) {
      ++set_anew_;
      gap_ = true;
      return true;
    }
    now.skipped = std::max(now.skipped, by_halves ? skipped : std::min(logged + 1, now.steps));
    if (logged == 0 && now.skipped == now.steps && is_power_of_two(before)) first_used_ = before;
    unlogged_here_ = now.skipped - logged;
    unlogged_between_ = unlogged_here_ >= unlogged.between ? unlogged.between : 0;
    unlogged_ += unlogged_here_;
    return false;
  }

  // Whether steps of the interval that are not skipped are known to be applied.
  [[nodiscard]] bool is_decided(const log_interval& now) {
    is_assumed_ = false;
    const scale_record& line = now.record;
    if (now.updates_only) return true;
    // A line that is not finite itself beside a count of none: what is counted is something else.
    if (now.counted && now.skipped == 0 && now.steps > 1 && line.is_nonfinite()) return false;
    if (line.lacks_loss && now.skipped < now.steps && !std::isfinite(line.grad_norm)) return false;
    if (now.counted || (now.overflows_have_lines && !now.is_cut)) return true;
    if (unlogged_here_ > 0 && !placed_) return false;
    if (now.overflows_have_lines && !now.events.empty()) return true;
    if (now.from->means_are_of_all && std::isfinite(line.grad_norm)) return true;
    // Between two printed scales the scale may have grown and fallen again.
    if (now.steps > 1 && now.skipped < now.steps) return false;
    const bool tells_nothing_before = now.is_cut || (!now.from->is_bare() && now.covers == 0) || now.after_gap;
    const bool held = is_exact(printed_before_) && is_exact(line.after) && !now.from->resets_scale;
    if (tells_of_last(now)) return true;
    // One that never moves is held by whatever happens.
    is_assumed_ = !scale_moves_;
    return !tells_nothing_before && held;
  }

  // Whether the step of the line itself is known to be applied.
  [[nodiscard]] static bool tells_of_last(const log_interval& now) {
    return !now.at_end && (now.record.is_applied || (std::isfinite(now.record.grad_norm) && !now.record.is_mean));
  }

  // Of an interval that is open, the last step is not.
  void settle_last() {
    if (runs_.size() == first_run_ || runs_.back().skipped || runs_.back().nonfinite) return;
    split_last(runs_);
    scale_run& last = runs_.back();
    last.decided = last.placed = true;
    last.loose_applied = last.loose_skipped = 0;
  }

  void describe_falls(scale_history& into) const {
    if (unlogged_ > 0)
      into.notes.push_back("the loss scale falls without a line of an overflow: that proves " +
                           count_text(static_cast<std::uint64_t>(unlogged_), "skipped step") + " at least");
    if (miscounted_ > 0)
      into.notes.push_back("the counts of skipped steps contradict the lines of overflows in " +
                           count_text(miscounted_, "interval") +
                           ", as where another run or rank has printed some: what is known of their steps is marked ~");
    if (lineless_ > 0)
      into.notes.push_back("the log counts " + count_text(static_cast<std::uint64_t>(lineless_), "skipped step") +
                           " more than it has lines of overflows: lines are missing");
    if (set_anew_ > 0)
      into.notes.push_back(
          "the loss scale falls " + count_text(set_anew_, "time") +
          " by more than the steps that lie there can halve it: taken for a scale that was set anew, as "
          "by a run that went on with another scaler; whether these steps overflowed is left open, unless "
          "a norm tells");
    if (contradicted_ > 0)
      into.notes.push_back("the loss scale falls in " + count_text(contradicted_, "interval") +
                           " in which the log counts fewer skipped steps: whether these overflowed is left open");
  }

  void begin(const log_interval& now) {
    interval_ = now;
    gap_ = gap_ || now.after_gap;
    first_run_ = runs_.size();
    step_ = now.step - now.steps + 1;
    attempt_ = 0;
  }

  [[nodiscard]] static bool are_numbered(const log_interval& now) {
    std::int64_t before = now.step - now.steps;
    // An update may be tried several times.
    const bool may_repeat = now.updates_only && !now.at_end;
    return !now.events.empty() && std::ranges::all_of(now.events, [&](const scale_record& e) {
      const std::int64_t last = std::exchange(before, e.step);
      return (may_repeat ? e.step >= std::max(last, now.step - now.steps + 1) : e.step > last) && e.step <= now.step;
    });
  }

  void add(scale_run run) {
    run.step = step_;
    run.attempt = attempt_;
    run.placed = placed_;
    run.is_assumed = is_assumed_ && !run.skipped;
    run.decided = decided_ || run.skipped;
    run.counted = run.counted || interval_.counted;
    run.retries = interval_.updates_only && run.skipped;
    run.after_gap = std::exchange(gap_, false);
    if (!placed_ || interval_.begin_assumed) {
      constexpr std::int64_t any = 1'000'000'000;  // applied steps without a line may come before what ends a log
      run.loose_applied = static_cast<std::uint32_t>(interval_.at_end ? any : applied_);
      run.loose_skipped = static_cast<std::uint32_t>(interval_.skipped - std::int64_t(interval_.events.size()));
      run.after_is_loose = true;
    }
    if (runs_.empty() && step_ == 1 && std::isnan(run.used)) run.used = interval_.start;
    if (run.retries) {
      attempt_ += static_cast<std::int32_t>(run.count);
    } else {
      step_ += run.count;
      attempt_ = 0;
    }
    if (run.skipped || run.after_gap || !std::isnan(run.after)) scale_ = run.after;
    runs_.push_back(run);
  }

  // An overflow: skipped, or applied all the same.
  void add_event(const scale_record& e) {
    scale_run run{.skipped = !e.is_applied, .used = used_scale(e, scale_), .after = e.after};
    run.nonfinite = run.counted = e.is_applied;
    add(run);
  }

  // What the line said of its last step.
  void describe_last() {
    const log_interval& now = interval_;
    scale_run& run = runs_.back();
    const bool single = now.steps == 1;
    // The last value, or the mean of the interval.
    const bool is_lost = !now.counted && !now.record.is_mean && is_lost_last(now.record);
    if (single || is_lost || (!run.skipped && (std::isfinite(now.record.loss) || !now.counted))) put_loss(run);
    if (single && !std::isnan(now.record.before)) run.used = now.record.before;
    if (!run.skipped) run.learning_rate = now.record.learning_rate;
    const bool is_of_last = single || !now.record.is_mean;
    if (is_of_last && (!run.skipped || is_norm_of_last_nonfinite(now.record))) put_norm(run);
    if (now.nans > 0 && now.nans >= now.skipped && now.skipped == now.steps)
      for (std::size_t i = first_run_; i < runs_.size(); ++i) runs_[i].nan = true;
    if (!std::isnan(now.grown)) run.after = now.grown;
    run.after_is_zero =
        now.record.after == 0 && printed_before_ == 0 && !now.record.is_nonfinite() && !now.from->scale_is_mean;
    if (const double x = now.record.after; x >= 0 && !is_exact(x) && !now.from->scale_is_mean)
      run.after_at_most =
          x == 0 ? 0.5 : std::exp2(std::ceil(std::log2(1.5 * x)));  // rounded to a digit or, as 0, to none
    if (tells_scale()) {
      run.after = now.record.after;
      run.after_is_loose = false;
    }
    if (!std::isnan(run.after)) scale_ = run.after;
    if (now.record.is_nonfinite() && (now.skipped == 0 || now.updates_only) && !run.skipped) set_last_nonfinite();
  }

  // Whether a line that is printed at the end of its steps leaves out the norm that others have.
  bool lacks_norm(const log_interval& now) {
    const bool has_norm = !std::isnan(now.record.grad_norm) || now.record.grad_norm_is_nan;
    has_norms_ = has_norms_ || has_norm;
    return now.from->norm_is_of_update && has_norms_ && !has_norm && now.counted && !now.at_end;
  }

  static bool is_loss_of_last_lost(const scale_record& line) {
    return !line.is_mean && (line.loss_is_nan || std::isinf(line.loss));
  }
  static bool is_lost_last(const scale_record& line) {
    return is_loss_of_last_lost(line) || is_norm_of_last_nonfinite(line);
  }
  static bool is_norm_of_last_nonfinite(const scale_record& line) {
    return line.is_overflow || (!line.is_mean && (line.grad_norm_is_nan || std::isinf(line.grad_norm)));
  }

  void put_loss(scale_run& run) const {
    run.loss = interval_.record.loss;
    run.loss_is_nan = interval_.record.loss_is_nan;
  }
  void put_norm(scale_run& run) const {
    run.grad_norm = interval_.record.grad_norm;
    run.grad_norm_is_nan = interval_.record.grad_norm_is_nan;
  }

  // Of an interval whose beginning is assumed, only the last step is certain, if it was applied.
  void leave_open(const log_interval& now) {
    const bool last_is_certain =
        !runs_.back().skipped && runs_.back().placed && ((now.counted && now.skipped == 0) || now.record.is_applied);
    if (last_is_certain) split_last(runs_);
    for (std::size_t i = first_run_; i < runs_.size(); ++i) runs_[i].placed = false;
    if (last_is_certain) runs_.back().placed = true;
  }

  // A loss or a norm that is not finite, in an interval that skipped nothing, is of its last step; a mean, as losses are, of one of them.
  void set_last_nonfinite() {
    const scale_record& line = interval_.record;
    const bool of_several = !line.from->is_by_epoch && (interval_.steps > 1 || (interval_.covers != 1 && line.is_mean));
    const bool of_any = of_several && !is_norm_of_last_nonfinite(line);
    if (of_any)
      for (std::size_t i = first_run_; i < runs_.size(); ++i) runs_[i].decided = false;
    split_last(runs_);
    runs_.back().nonfinite = !line.contradicts_itself();
    if (line.contradicts_itself()) runs_.back().decided = false;
    runs_.back().sure = !of_any && !line.stands_for_nan;
    put_loss(runs_.back());
    put_norm(runs_.back());
  }

  // Small scales are rounded when they are printed: 0.1 for 0.125.
  [[nodiscard]] static bool is_exact(double printed) { return printed >= 1 || is_power_of_two(printed); }

  // Whether the printed loss scale is the scale after the step: it is rounded, and fairseq prints means.
  [[nodiscard]] bool tells_scale() const {
    const double x = interval_.record.after;
    if (!is_exact(x)) return false;
    if (!interval_.from->scale_is_mean) return true;
    if (!is_power_of_two(x)) return false;
    // A mean of powers of two from a higher one on is one only where all are.
    if (unlogged_here_ > 0 && interval_.events.empty()) return is_power_of_two(printed_before_);
    return interval_.skipped == 0 && (interval_.steps == 1 || std::isnan(scale_) || x == scale_);
  }

  std::vector<scale_run> runs_;
  std::vector<replaced_runs> replaced_runs_;
  std::uint64_t replaced_ = 0;
  std::uint64_t restarts_ = 0;
  double scale_ = not_known;           // the last that was known
  double printed_ = not_known;         // the last that was printed, perhaps rounded
  double printed_before_ = not_known;  // and that of the line before
  std::int64_t unlogged_ = 0;          // skipped steps that only a fall of the scale tells of
  std::int64_t unlogged_here_ = 0;
  double first_used_ = not_known;      // the scale of the first of them, where all steps are
  std::int64_t unlogged_between_ = 0;  // of these, those before or between overflows that have lines
  std::uint64_t contradicted_ = 0;
  std::uint64_t set_anew_ = 0;
  std::uint64_t miscounted_ = 0;
  std::uint64_t unplaced_lines_ = 0;  // of overflows that belong to no step
  std::uint64_t lost_with_run_ = 0;
  std::int64_t lineless_ = 0;  // skipped steps that are counted, but have no line where others have
  bool gap_ = false;           // before the next run
  // Of the interval that is being added.
  log_interval interval_;
  std::size_t first_run_ = 0;
  std::int64_t step_ = 0;
  std::int64_t applied_ = 0;
  std::int32_t attempt_ = 0;
  bool has_norms_ = false;
  bool scale_moves_;
  bool is_assumed_ = false;
  bool placed_ = true;
  bool decided_ = true;
};

}  // namespace

void add_numbered_runs(const std::vector<scale_record>& records, const std::string& path, scale_history& into) {
  run_builder runs(std::isnan(into.constant_scale));
  read_intervals(records, path, [&](const log_part& part) { std::visit(runs, part); });
  runs.finish(into);
}

}  // namespace ulp::io
