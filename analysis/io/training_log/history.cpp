#include "history.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <ulp/io/error.hpp>

namespace ulp::io {
namespace {

using kind = scale_record::kind;
using origin = scale_record::origin;

constexpr std::int64_t most_steps_at_once = 100'000;  // from one printed line to the next
constexpr std::int64_t most_steps = 20'000'000;       // in all
constexpr std::uint64_t lines_late = 4;               // that a line may come after that of a later step

bool is_framework(origin from) noexcept { return from != origin::bar && from != origin::print; }

std::string count_text(std::uint64_t n, const std::string& what) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

// Lines of one rank and one scaler: of each framework the first that printed one.
std::uint64_t drop_other_ranks(std::vector<scale_record>& records) {
  std::map<std::pair<origin, kind>, std::uint32_t> rank;
  std::optional<std::uint32_t> scaler;
  return std::erase_if(records, [&](const scale_record& r) {
    if (r.from == origin::apex && scaler.value_or(r.part) != r.part) return true;
    if (r.from == origin::apex) scaler = r.part;
    return rank.try_emplace({r.from, r.what}, r.label).first->second != r.label;
  });
}

// The progress bar under which steps were skipped, by its length.
std::optional<std::uint32_t> bar_of_steps(const std::vector<scale_record>& records) {
  std::map<std::uint32_t, std::uint64_t> overflows;
  std::optional<std::uint32_t> now;
  for (const scale_record& r : records) {
    if (r.from == origin::bar) now = r.part;
    if (r.what == kind::overflow && now) ++overflows[*now];
  }
  const auto most = std::ranges::max_element(overflows, {}, [](const auto& o) { return o.second; });
  return most == overflows.end() ? std::nullopt : std::optional(most->first);
}

// Leaves the step numbers of the framework where it prints them, else of the progress bar, else of the script.
void choose_steps(std::vector<scale_record>& records) {
  const auto has = [&](auto&& test) {
    return std::ranges::any_of(records, [&](const scale_record& r) { return r.what == kind::reached && test(r.from); });
  };
  const bool framework = has(is_framework);
  const auto bar = framework ? std::nullopt : bar_of_steps(records);
  std::erase_if(records, [&](const scale_record& r) {
    if (r.from == origin::bar) return framework || bar != r.part;
    return r.from == origin::print && (framework || bar);
  });
}

// Where no line says how far a run came, but each overflow in which step it was: up to the last of them.
void reach_positions(std::vector<scale_record>& records) {
  if (std::ranges::any_of(records, [](const scale_record& r) { return r.what == kind::reached; })) return;
  std::vector<scale_record> told;
  scale_record reached{.what = kind::reached, .from = origin::deepspeed, .skipped = 0};
  for (const scale_record& r : records) {
    if (r.what == kind::position && r.step != reached.step) {
      if (reached.step >= 0) told.push_back(reached);
      reached.step = r.step;
      ++reached.skipped;
    }
    reached.label = r.label;
    reached.line = r.line;
    told.push_back(r);
  }
  if (reached.step >= 0) told.push_back(reached);
  records = std::move(told);
}

class builder {
 public:
  explicit builder(const std::string& path) : path_(path) {}

  void add(const scale_record& r) {
    switch (r.what) {
      case kind::overflow: add_overflow(r); break;
      case kind::grown: grown_ = r.after; break;
      case kind::position: position_ = r.step; break;
      case kind::fresh: start_ = r.after; break;
      case kind::restored: restore(r); break;
      case kind::reached: reach(r); break;
      case kind::window:
      case kind::bfloat16: break;
    }
  }

  // How many steps there are between one record and the next of its kind: for the first, which has none before it.
  void expect(origin from, std::int64_t steps) { intervals_[from].last = steps; }

  void finish(scale_history& into) {
    close();
    if (!pending_.empty() && position_reached_) {
      const auto count = static_cast<std::int64_t>(pending_.size());
      into.notes.push_back(count_text(pending_.size(), "skipped step") +
                           " at the end of the log: taken to follow step " + std::to_string(*position_reached_) +
                           " at once");
      add_interval({.steps = updates_only_ ? 0 : count, .skipped = count}, std::exchange(pending_, {}));
      for (std::size_t i = last_interval_; i < runs_.size(); ++i) runs_[i].placed = false;
    }
    if (replaced_ > 0)
      into.notes.push_back("the log goes back to an earlier step " + count_text(restarts_, "time") + ": " +
                           count_text(replaced_, "step") + " of the earlier runs " + (replaced_ == 1 ? "is" : "are") +
                           " replaced by the later ones");
    if (const auto n = unplaced(); n.first > 0)
      into.notes.push_back("the log does not tell which of " + std::to_string(n.second) + " steps were the " +
                           std::to_string(n.first) +
                           " skipped ones: the first of each interval are taken, and marked ~; a log of every step "
                           "would tell");
    into.runs = std::move(runs_);
  }

 private:
  // What is said of the steps up to one; they are added when the next is reached, since lines may come late.
  struct interval {
    origin from = origin::print;
    std::uint64_t line = 0;
    std::int64_t step = 0;
    std::int64_t steps = 0;    // those of fairseq are updates: without the skipped ones
    std::int64_t skipped = 0;  // as printed
    std::int64_t nans = 0;
    double grown = not_known;  // the scale after it, where a line said that it grew
    scale_record record = {};
  };
  // Steps from one line to the next.
  struct line_interval {
    std::int64_t last = 0;
    std::int64_t greatest = 0;
    int seen = 0;
    void see(std::int64_t steps) {
      last = steps;
      greatest = std::max(greatest, steps);
      ++seen;
    }
    // The most that there are, 0 while that is not known.
    [[nodiscard]] std::int64_t regular() const { return seen > 1 ? greatest : 0; }
  };

  void add_overflow(const scale_record& r) {
    scale_record event = r;
    const std::int64_t at = std::exchange(position_, -1);
    // Other ranks print the same, and DeepSpeed says it in two ways.
    const bool told = last_overflow_ && (at >= 0 ? at == last_overflow_->step : is_repeated(r));
    if (told) return;
    event.step = at;
    last_overflow_ = event;
    reached_since_ = false;
    grown_ = not_known;
    const bool late = open_ && open_->skipped > std::int64_t(of_open_.size()) && r.line - open_->line <= lines_late;
    (late ? of_open_ : pending_).push_back(event);
  }

  // A scale that fell once cannot fall from the same value again before it has grown.
  [[nodiscard]] bool is_repeated(const scale_record& r) const {
    const bool same = r.after == last_overflow_->after && (r.before == last_overflow_->before || std::isnan(r.before) ||
                                                           std::isnan(last_overflow_->before));
    return same && !reached_since_ && (r.before != r.after || last_overflow_->step >= 0);
  }

  void restore(const scale_record& r) {
    close();
    if (position_reached_ && r.step < *position_reached_) cut_after(r.step);
    if (position_reached_ && r.step > *position_reached_) gap_ = true;
    position_reached_ = r.step;
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
    if (again && r.step == last->second.step &&
        (r.from == origin::fairseq || !is_framework(r.from) || same(r, last->second)))
      return;
    if (again) go_back(r);
    if (open_ && r.step == open_->step) {  // another framework's line of the same step
      merge(r);
    } else if (position_after_open() && r.step <= *position_after_open() && !again) {
      last_of_[r.from] = r;
      return;  // behind what another framework's lines said already
    } else if (!updates_only_ || position_after_open() != r.step) {
      close();
      open(r);
    }
    if (!again && last != last_of_.end()) intervals_[r.from].see(r.step - last->second.step);
    last_of_[r.from] = r;
  }

  [[nodiscard]] static bool same(const scale_record& a, const scale_record& b) {
    const auto equal = [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); };
    return a.skipped == b.skipped && equal(a.after, b.after) && equal(a.loss, b.loss) &&
           equal(a.grad_norm, b.grad_norm) && equal(a.learning_rate, b.learning_rate);
  }

  [[nodiscard]] std::optional<std::int64_t> position_after_open() const {
    return open_ ? std::optional(open_->step) : position_reached_;
  }

  // The run was started again from a checkpoint that no line tells of.
  void go_back(const scale_record& r) {
    const std::int64_t usual = std::max<std::int64_t>(1, intervals_[r.from].last);
    const std::int64_t from = std::max<std::int64_t>(0, r.step - usual);
    if (!is_framework(r.from) && from == 0)
      fail(r.line, "the step numbers begin again: give a log whose numbers go on from one epoch to the next");
    close();
    const std::vector<scale_record> skipped = pending_;  // most likely those of the run that goes on
    start_over();
    pending_ = skipped;
    resumed_ = true;
    cut_after(from);
    position_reached_ = from;
    if (const auto known_total = totals_.find(from); known_total != totals_.end()) total_skipped_ = known_total->second;
    totals_.erase(totals_.upper_bound(from), totals_.end());
    if (!is_framework(r.from)) forget_scale();  // Apex: a checkpoint need not hold it
  }

  void open(const scale_record& r) {
    updates_only_ = updates_only_ || r.from == origin::fairseq;
    of_open_ = std::exchange(pending_, {});
    reached_since_ = true;
    auto events = static_cast<std::int64_t>(of_open_.size());
    interval now{.from = r.from, .line = r.line, .step = r.step, .nans = r.nans, .record = r};
    now.grown = std::exchange(grown_, not_known);
    if (r.from == origin::deepspeed) {
      if (total_skipped_) now.skipped = std::max<std::int64_t>(0, r.skipped - *total_skipped_);
      total_skipped_ = r.skipped;
      totals_[r.step] = r.skipped;
    } else {
      now.skipped = std::max<std::int64_t>(0, r.skipped);
    }
    if (resumed_ && r.from != origin::fairseq) {  // before that, the earlier run may have skipped some
      events = std::min(events, r.step - *position_reached_);
      of_open_.erase(of_open_.begin(), of_open_.end() - events);
    }
    resumed_ = false;
    if (!position_reached_) position_reached_ = begin_of_first(r, std::max(now.skipped, events));
    if (r.from == origin::deepspeed && *position_reached_ == 0 && runs_.empty() && !restored_) now.skipped = r.skipped;
    now.steps = r.step - *position_reached_;
    // These tell of the last interval only: where lines are missing, nothing is known of the steps before it.
    const std::int64_t usual = intervals_[r.from].regular();
    if ((r.from == origin::megatron || r.from == origin::fairseq) && usual > 0 && now.steps > usual) {
      position_reached_ = r.step - usual;
      now.steps = usual;
      gap_ = true;
    }
    if (now.steps > most_steps_at_once * r.lines)
      fail(r.line, std::to_string(now.steps) + " steps lie between this line and " +
                       (r.lines == 1 ? "the one before" : "the " + std::to_string(r.lines) + " before") + "; at most " +
                       std::to_string(most_steps_at_once) + (r.lines == 1 ? "" : " for each") + " can be taken");
    total_steps_ += now.steps;
    if (total_steps_ > most_steps)
      fail(r.line, "more than " + std::to_string(most_steps) + " steps; cut the log into parts");
    open_ = now;
  }

  [[nodiscard]] std::int64_t begin_of_first(const scale_record& r, std::int64_t skipped) {
    std::int64_t steps = intervals_[r.from].last;
    // The only line: the run is a new one if its arguments are there, or if its skipped steps are.
    const bool fresh = start_ > 0 || (r.from == origin::deepspeed && r.skipped == skipped);
    if (steps <= 0) steps = fresh ? r.step : 1;
    if (steps > most_steps_at_once) steps = 1;
    if (r.from != origin::fairseq) steps = std::max(steps, skipped);
    // A script that counts from 0 prints it when that step is done; a progress bar, before the first.
    const std::int64_t least = r.from == origin::print && r.step == 0 ? -1 : 0;
    return std::max(least, r.step - steps);
  }

  void merge(const scale_record& r) {
    if (r.from == origin::deepspeed) {
      if (total_skipped_ && r.skipped > *total_skipped_)
        open_->skipped = std::max(open_->skipped, r.skipped - *total_skipped_);
      total_skipped_ = r.skipped;
    } else {
      open_->skipped = std::max(open_->skipped, r.skipped);
      open_->nans = std::max(open_->nans, r.nans);
      open_->record = r;
    }
    of_open_.insert(of_open_.end(), pending_.begin(), pending_.end());
    pending_.clear();
    if (!std::isnan(grown_)) open_->grown = std::exchange(grown_, not_known);
  }

  void close() {
    if (!open_) return;
    const interval now = *std::exchange(open_, std::nullopt);
    const auto events = static_cast<std::int64_t>(of_open_.size());
    const std::int64_t skipped = std::max(now.skipped, events);
    if (now.from != origin::fairseq && skipped > now.steps)
      fail(now.line, std::to_string(skipped) + " of the " + std::to_string(now.steps) + " steps up to step " +
                         std::to_string(now.step) +
                         " were skipped: lines are missing, or several ranks print them; keep those of one");
    interval whole = now;
    whole.skipped = skipped;
    add_interval(whole, std::exchange(of_open_, {}));
    position_reached_ = now.step;
  }

  // The runs of an interval, in the order in which they are known or taken to have been.
  void add_interval(const interval& now, std::vector<scale_record> events) {
    const bool updates = updates_only_;
    const std::int64_t applied = updates ? now.steps : now.steps - now.skipped;
    const std::int64_t first = *position_reached_ + 1;
    const auto unknown = static_cast<std::uint32_t>(now.skipped - std::int64_t(events.size()));
    last_interval_ = runs_.size();
    step_ = first;
    attempt_ = 0;
    const std::int64_t last = *position_reached_ + now.steps;
    std::int64_t before = *position_reached_;
    const bool numbered =
        !updates && unknown == 0 && !events.empty() && std::ranges::all_of(events, [&](const auto& e) {
          return e.step > std::exchange(before, e.step) && e.step <= last;
        });
    placed_ = now.skipped == 0 || numbered || (updates ? applied == 1 : applied == 0);
    if (unknown > 0 && !events.empty()) placed_ = false;

    std::int64_t left = applied;
    if (unknown > 0) add_run({.count = unknown, .skipped = true});
    double scale = runs_.empty() ? not_known : runs_.back().after;
    std::int64_t needed = 0;  // steps in which the scale must have grown before it fell
    for (double now_at = scale; const scale_record& e : events) needed += growths(std::exchange(now_at, e.after), e);
    const bool fits = needed <= left - (updates ? 1 : 0);  // the last of them is an update
    for (const scale_record& e : events) {
      const std::int64_t good = numbered ? e.step - step_ : fits ? growths(scale, e) : 0;
      scale = e.after;
      if (good > 0) add_run({.count = static_cast<std::uint32_t>(good)});
      left -= good;
      double used = e.before;
      // Half of it was printed, unless the scale stood at its least value already.
      if (std::isnan(used) && e.after != scale_) used = 2 * e.after;
      add_run({.skipped = true, .used = used, .after = e.after});
    }
    if (left > 0) add_run({.count = static_cast<std::uint32_t>(left)});
    if (runs_.size() == last_interval_) return;
    describe(now, runs_.back());
  }

  // How often the scale must have doubled before this overflow.
  [[nodiscard]] static std::int64_t growths(double scale, const scale_record& e) {
    const double used = std::isnan(e.before) && e.after != scale ? 2 * e.after : e.before;
    if (!(scale > 0) || !(used > scale) || !std::isfinite(used)) return 0;
    return static_cast<std::int64_t>(std::ceil(std::log2(used / scale)));
  }

  void add_run(scale_run run) {
    run.step = step_;
    run.attempt = attempt_;
    run.placed = placed_;
    run.retries = updates_only_ && run.skipped;
    run.after_gap = std::exchange(gap_, false);
    if (runs_.empty() && step_ == 1 && std::isnan(run.used)) run.used = start_;
    if (run.retries) {
      attempt_ += static_cast<std::int32_t>(run.count);
    } else {
      step_ += run.count;
      attempt_ = 0;
    }
    if (run.skipped || run.after_gap || !std::isnan(run.after)) scale_ = run.after;
    runs_.push_back(run);
  }

  // What the line said of its last step.
  void describe(const interval& now, scale_run& run) {
    const scale_record& r = now.record;
    const bool single = now.steps == 1;
    if (single) run.loss = r.loss;
    if (!run.skipped) run.learning_rate = r.learning_rate;
    if (!run.skipped && (single || now.from == origin::megatron)) run.grad_norm = r.grad_norm;
    if (now.nans > 0 && now.nans >= now.skipped && now.skipped == now.steps)
      for (std::size_t i = last_interval_; i < runs_.size(); ++i) runs_[i].nan = true;
    if (!std::isnan(now.grown)) run.after = now.grown;
    if (tells_scale(now)) run.after = r.after;
    if (!std::isnan(run.after)) scale_ = run.after;
  }

  // Whether the printed loss scale is the scale after the step: it is rounded, and fairseq prints means.
  [[nodiscard]] bool tells_scale(const interval& now) const {
    const double x = now.record.after;
    if (!(x >= 0.5) || (x < 1 && x != 0.5)) return false;
    if (now.from != origin::fairseq) return true;
    return is_power_of_two(x) && now.skipped == 0 && (now.steps == 1 || std::isnan(scale_) || x == scale_);
  }

  void cut_after(std::int64_t step) {
    std::uint64_t gone = 0;
    bool inside = false;
    while (!runs_.empty()) {
      scale_run& run = runs_.back();
      const std::int64_t last = run.retries ? run.step : run.step + run.count - 1;
      if (last <= step) break;
      const std::int64_t kept = run.retries ? 0 : std::max<std::int64_t>(0, step - run.step + 1);
      gone += run.count - static_cast<std::uint64_t>(kept);
      inside = kept > 0;
      if (inside) {
        run.count = static_cast<std::uint32_t>(kept);
        run.after = run.loss = run.grad_norm = run.learning_rate = not_known;
        break;
      }
      runs_.pop_back();
    }
    if (gone > 0) ++restarts_;
    replaced_ += gone;
    scale_ = runs_.empty() ? not_known : runs_.back().after;
  }

  void forget_scale() {
    scale_ = not_known;
    gap_ = true;
  }

  // Skipped steps whose place is not known, of how many steps in all.
  [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> unplaced() const {
    std::pair<std::uint64_t, std::uint64_t> n;
    for (const scale_run& run : runs_) {
      if (run.placed) continue;
      n.second += run.count;
      n.first += run.skipped ? run.count : 0;
    }
    return n;
  }

  [[noreturn]] void fail(std::uint64_t line, const std::string& reason) const {
    throw input_error(path_, "line " + std::to_string(line), reason);
  }

  std::string path_;
  std::vector<scale_run> runs_;
  std::optional<std::int64_t> position_reached_;  // the step up to which runs_ goes
  bool updates_only_ = false;                     // steps are updates, which skipped ones are not
  bool restored_ = false;
  std::optional<interval> open_;
  std::vector<scale_record> of_open_;
  std::vector<scale_record> pending_;  // skipped since the last step that was reached
  std::optional<scale_record> last_overflow_;
  bool reached_since_ = false;
  std::int64_t position_ = -1;
  std::optional<std::int64_t> total_skipped_;
  std::map<std::int64_t, std::int64_t> totals_;  // skipped up to a step, as DeepSpeed counts
  bool resumed_ = false;                         // the next line is the first after a restart that no line tells of
  std::map<origin, scale_record> last_of_;
  std::map<origin, line_interval> intervals_;
  double start_ = not_known;  // of a fresh run
  double grown_ = not_known;  // since the last overflow
  double scale_ = not_known;  // the last that was known
  bool gap_ = false;          // steps before the next are missing
  std::int64_t total_steps_ = 0;
  // Of the interval that is being added.
  std::size_t last_interval_ = 0;
  std::int64_t step_ = 0;
  std::int32_t attempt_ = 0;
  bool placed_ = true;
  std::uint64_t replaced_ = 0;
  std::uint64_t restarts_ = 0;
};

std::string names_of(const std::vector<scale_record>& records) {
  constexpr std::array<std::string_view, 4> names{"Megatron-LM", "DeepSpeed", "Apex", "fairseq"};
  std::set<std::size_t> seen;
  for (const scale_record& r : records)
    if (is_framework(r.from) && (r.what == kind::overflow || r.what == kind::reached))
      seen.insert(static_cast<std::size_t>(r.from));
  std::string all;
  for (const std::size_t i : seen) all += (all.empty() ? "" : " and ") + std::string{names[i]};
  return all;
}

}  // namespace

scale_history history_of(std::vector<scale_record> records, const std::string& path) {
  scale_history all;
  const std::uint64_t others = drop_other_ranks(records);
  choose_steps(records);
  reach_positions(records);
  for (scale_record& r : records)
    for (double* const scale : {&r.before, &r.after})
      if (!(*scale >= 0) || std::isinf(*scale)) *scale = not_known;
  all.frameworks = names_of(records);
  if (all.frameworks.empty()) return all;
  if (std::ranges::none_of(records, [](const scale_record& r) { return r.what == kind::reached; }))
    throw input_error(
        path, "",
        "is a log of " + all.frameworks +
            " with skipped steps but no step numbers: print 'step: N' in every step beside it, so that it "
            "tells how many steps lie between");
  builder steps(path);
  std::map<origin, std::int64_t> first;
  for (const scale_record& r : records) {
    if (r.what != kind::reached) continue;
    const auto [at, fresh] = first.try_emplace(r.from, r.step);
    if (fresh || at->second < 0 || r.step <= at->second) continue;
    steps.expect(r.from, r.step - at->second);
    at->second = -1;
  }
  for (const scale_record& r : records) steps.add(r);
  all.float16 = std::ranges::none_of(records, [](const scale_record& r) { return r.what == kind::bfloat16; });
  steps.finish(all);
  constexpr double window_of_apex = 2000;  // which it does not let anybody set
  for (const scale_record& r : records) {
    if (r.what == kind::window && r.after >= 1) all.window = r.after;
    if (r.from == origin::apex) all.window = window_of_apex;
  }
  if (others > 0)
    all.notes.push_back(std::to_string(others) + (others == 1 ? " line" : " lines") +
                        " of other ranks or other scalers: left out");
  return all;
}

}  // namespace ulp::io
