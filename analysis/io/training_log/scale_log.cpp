// Training logs with the loss scale in them, as Megatron-LM, DeepSpeed, Apex and fairseq print it: a row for each step,
// with the scale where it is certain, whether the step was skipped, and bounds on its largest gradient. A step that
// float16 did not skip had scale * largest gradient below 65520, a skipped one had not, or had NaN.
//
// Between two printed scales without an overflow between them the scale only grew; each step doubles or halves it at
// most once, in all four frameworks, and doubles it after as many applied steps in a row as the log or Apex's code says.
// What is not printed is bounded by that.
#include "scale_log.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <ulp/io/bytes/error.hpp>

#include "bytes/text.hpp"
#include "evaluation_loss.hpp"
#include "history.hpp"
#include "left_out.hpp"
#include "line_numbers.hpp"
#include "scanner.hpp"

namespace ulp::io {
namespace {

// What is known at a place where no scale was printed: the nearest scale that was, and the steps up to there.
struct nearest_scale {
  double value = not_known;
  double greatest = not_known;  // that it may be, where that alone is known
  bool counts_anew = false;     // the scaler began to count applied steps there, as after an overflow
  std::uint64_t applied = 0;
  std::uint64_t skipped = 0;
  // The place of the run that it is of is assumed: as many more steps may lie between, seen from outside its interval.
  std::uint64_t loose_applied = 0;
  std::uint64_t loose_skipped = 0;

  [[nodiscard]] bool is_here() const {
    return !std::isnan(value) && applied + skipped + loose_applied + loose_skipped == 0;
  }
  [[nodiscard]] double most() const { return std::isnan(value) ? greatest : value; }
  void pass(const scale_run& run, std::uint64_t steps) {
    if (run.skipped || run.nonfinite || !run.decided) skipped += steps;
    if (!run.skipped && !(run.nonfinite && run.sure)) applied += steps;
  }
  void loosen(const scale_run& run) {
    loose_applied = run.loose_applied;
    loose_skipped = run.loose_skipped;
  }
  [[nodiscard]] nearest_scale loosened() const {
    nearest_scale all = *this;
    all.applied += loose_applied;
    all.skipped += loose_skipped;
    return all;
  }
};

double times_power(double x, std::uint64_t exponent, int sign) {
  constexpr std::uint64_t enough = 4096;
  return std::ldexp(x, sign * static_cast<int>(std::min(exponent, enough)));
}

struct scale_range {
  double low = 0;
  double high = std::numeric_limits<double>::infinity();
};

// How often the scale doubles at most in the applied steps up to there.
std::uint64_t growths(const nearest_scale& to, double window) {
  if (!(window > 1) || to.applied == 0) return to.applied;
  const double windows = static_cast<double>(to.applied) / window;
  return static_cast<std::uint64_t>(to.counts_anew ? std::floor(windows) : std::ceil(windows));
}

// The scale between two printed ones, of a step that was skipped or not.
scale_range scale_between(const nearest_scale& before, const nearest_scale& next, double window, bool skipped) {
  scale_range after_it;
  if (!std::isnan(next.value)) after_it.low = times_power(next.value, growths(next, window), -1);
  if (!std::isnan(next.most())) after_it.high = times_power(next.most(), next.skipped, 1);
  if (std::isnan(before.most())) return after_it;
  scale_range both = after_it;
  if (!std::isnan(before.value)) both.low = std::max(both.low, times_power(before.value, before.skipped, -1));
  both.high = std::min(both.high, times_power(before.most(), growths(before, window), 1));
  if (both.low <= both.high) return both;
  // It was set anew between: in front of this step, where that is the only one and was skipped at a scale that is higher.
  const bool is_here = before.is_here() && skipped && next.applied == 0 && next.skipped == 1;
  return is_here && after_it.low > before.value ? after_it : scale_range{};
}

class scale_log final : public source {
 public:
  scale_log(scale_history history, bool bounded)
      : history_(std::move(history)), bounded_(bounded), has_scale_(has_scale(history_)), next_(runs().size()) {
    nearest_scale next;
    for (std::size_t i = runs().size(); i-- > 0;) {
      const scale_run& run = runs()[i];
      if (!std::isnan(run.after)) next = {.value = run.after};
      if (!std::isnan(run.after_at_most)) next = {.greatest = run.after_at_most};
      if (!std::isnan(run.after) && run.after_is_loose) next.loosen(run);
      next_[i] = next;
      next.pass(run, run.count);
      if (!std::isnan(run.used)) {
        next = {.value = run.used};
        next.loosen(run);
      }
      if (run.after_gap) next = {};
      steps_ += run.count;
    }
  }

  [[nodiscard]] source_kind kind() const override { return source_kind::training_log; }
  [[nodiscard]] std::string description() const override {
    return (has_scale_ ? "loss-scale log of " : "training log of ") + history_.frameworks;
  }
  [[nodiscard]] std::string framework() const override { return history_.frameworks; }
  [[nodiscard]] const std::vector<tensor_info>& tensors() const override { return none_; }
  [[nodiscard]] std::vector<std::string> notes() const override { return history_.notes; }
  [[nodiscard]] std::uint64_t step_count() const override { return steps_; }
  [[nodiscard]] std::uint64_t unread_records() const override { return history_.unread; }
  [[nodiscard]] std::optional<double> ended_at_scale() const override { return history_.ended_at_scale; }
  [[nodiscard]] std::vector<std::string> lost_elsewhere() const override { return history_.lost_elsewhere; }
  [[nodiscard]] std::vector<std::string> doubts() const override { return history_.doubts; }
  [[nodiscard]] std::vector<earlier_attempt> earlier_attempts() const override {
    std::vector<earlier_attempt> all;
    for (const replaced_runs& replaced : history_.replaced) {
      scale_history of = about_run();
      of.runs = replaced.runs;
      all.push_back({replaced.from, std::make_unique<scale_log>(std::move(of), bounded_)});
    }
    return all;
  }
  [[nodiscard]] std::string row_unit() const override { return history_.row_unit; }

  [[nodiscard]] bool next(step& into) override {
    if (run_ == runs().size()) return false;
    const scale_run& run = runs()[run_];
    if (row_ == 0 && run.after_gap) before_ = {};
    if (row_ == 0 && !std::isnan(run.used)) {
      before_ = {.value = run.used};
      before_.loosen(run);
    }
    into = {};
    into.key.step = run.retries ? run.step : run.step + row_;
    into.key.attempt = run.retries ? run.attempt + static_cast<std::int32_t>(row_) : row_ == 0 ? run.attempt : 0;
    if (run.decided || run.nonfinite) into.scalars.found_inf = run.skipped || run.nonfinite;
    if (run.decided && (!run.nonfinite || run.counted)) into.scalars.applied = !run.skipped;
    describe(into, run);

    before_.pass(run, 1);
    if (++row_ < run.count) return true;
    if (run.after_is_zero) {  // perhaps rounded
      into.scalars.loss_scale = 0;
      into.bounds = run.nonfinite ? std::nullopt : std::optional{max_abs_bounds{.certain = false}};
      if (run.nonfinite) into.max_abs = not_known;
    }
    into.scalars.loss = run.loss;
    into.scalars.grad_norm = run.grad_norm;
    into.scalars.learning_rate = run.learning_rate;
    into.scalars.loss_is_nan = run.loss_is_nan;
    into.scalars.grad_norm_is_nan = run.grad_norm_is_nan;
    if (!std::isnan(run.after)) before_ = {.value = run.after, .counts_anew = run.skipped};
    if (!std::isnan(run.after_at_most)) before_ = {.greatest = run.after_at_most, .counts_anew = run.skipped};
    if (!std::isnan(run.after) && run.after_is_loose) before_.loosen(run);
    row_ = 0;
    ++run_;
    return true;
  }

 private:
  // Whether the log tells any scale.
  static bool has_scale(const scale_history& history) {
    return std::ranges::any_of(history.runs,
                               [](const scale_run& run) { return !std::isnan(run.used) || !std::isnan(run.after); });
  }

  [[nodiscard]] const std::vector<scale_run>& runs() const noexcept { return history_.runs; }

  // What holds of the run however often it began.
  [[nodiscard]] scale_history about_run() const {
    scale_history of;
    of.frameworks = history_.frameworks;
    of.window = history_.window;
    of.float16 = history_.float16;
    of.resets_scale = history_.resets_scale;
    of.row_unit = history_.row_unit;
    return of;
  }

  // The least double whose product with the scale, rounded to a double, overflows float16.
  static double least_that_overflows(double scale) {
    double least = float16_overflows_at / scale;
    while (least * scale < float16_overflows_at) least = std::nextafter(least, std::numeric_limits<double>::infinity());
    while (std::nextafter(least, 0.0) * scale >= float16_overflows_at) least = std::nextafter(least, 0.0);
    return least;
  }

  // The scale of a row, and what follows from it.
  void describe(step& into, const scale_run& run) const {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    nearest_scale next = next_[run_];
    next.pass(run, run.count - row_);
    nearest_scale before = before_;
    if (run.placed) {
      before = before.loosened();
      next = next.loosened();
    }
    scale_range scale = scale_between(before, next, history_.window, run.skipped);
    if (row_ == 0 && !std::isnan(run.used)) {
      // A printed start that the next scale contradicts was not that of this run.
      const scale_range implied = scale_between({}, next, history_.window, run.skipped);
      if (run.skipped || (implied.low <= run.used && run.used <= implied.high)) scale = {run.used, run.used};
    }
    const bool known = scale.low > 0 && scale.high < infinity;
    // A skipped step is taken for the first of its interval: the line before printed its scale.
    const bool is_there = run.placed || (run.skipped && std::isnan(run.used) && before.is_here());
    if (is_there && known && scale.low == scale.high) into.scalars.loss_scale = scale.low;
    if (run.nonfinite && run.count == 1 && (run.after == infinity || run.used == infinity))
      into.scalars.loss_scale = infinity;
    if (run.nan) {
      into.max_abs = not_known;
      return;
    }
    if (run.nonfinite && run.sure && !bounded_) {
      const bool nan = run.grad_norm_is_nan || run.loss_is_nan;
      into.max_abs = nan ? not_known : infinity;
      if (!run.numbered) into.bounds = max_abs_bounds{.certain = false};  // which step it was is not known
      return;
    }
    max_abs_bounds bounds{.certain = run.placed && run.numbered && run.sure && (!run.is_assumed || run.nonfinite) &&
                                     !history_.resets_scale};
    if (!bounded_ && has_scale_ && run.decided && !run.nonfinite && bounds.certain) return;
    if (!run.decided && !run.nonfinite) bounds.certain = false;
    if (!bounded_ || (!run.decided && !run.nonfinite)) scale = {};
    // A scale that is printed as 0 may be any that its digits round to that.
    if ((run.skipped || run.nonfinite) && scale.high > 0 && scale.high < infinity)
      bounds.low = std::min(least_that_overflows(scale.high), std::numeric_limits<double>::max());
    if (!run.skipped && !run.nonfinite && scale.low > 0 && scale.low < infinity)
      bounds.high = least_that_overflows(scale.low);
    // A skipped step whose scale is not known is taken to overflow at every scale, as in other logs without scales.
    if (bounds.low > 0 || !run.skipped || !bounds.certain) into.bounds = bounds;
  }

  scale_history history_;
  bool bounded_;
  bool has_scale_;
  std::vector<nearest_scale> next_;  // after each run
  std::uint64_t steps_ = 0;
  std::size_t run_ = 0;
  std::uint32_t row_ = 0;
  nearest_scale before_;
  std::vector<tensor_info> none_;
};

std::string unread_text(const unread_records& unread) {
  const std::string n = std::to_string(unread.count());
  return n + (unread.count() == 1 ? " line looks" : " lines look") +
         " like a record of a step and could not be read, the first in line " + std::to_string(unread.first_line()) +
         ": the steps that follow are not all that the log tells of";
}

std::string words_text(const std::vector<nonfinite_words>& words, std::uint64_t count) {
  const std::string all =
      count == 1 ? "" : std::string{"; so "} + (count == 2 ? "does " : "do ") + std::to_string(count - 1) + " more";
  return "line " + std::to_string(words.front().line) + " says that something was not finite, " +
         in_quotes(words.front().text) + ", and no step that is read tells of it" + all;
}

// With blanks for those of other widths, and those at which no line breaks.
std::string with_plain_blanks(const std::string& line) {
  constexpr std::array<std::string_view, 3> blanks{"\xC2\xA0", "\xE2\x80\xAF", "\xE2\x80\x89"};
  std::string all = line;
  for (const std::string_view blank : blanks)
    for (std::size_t at = all.find(blank); at != std::string::npos; at = all.find(blank, at + 1))
      all.replace(at, blank.size(), " ");
  return all;
}

// Whether a line without a break is whole by the one before it: as long, and with a last word that is.
bool ends_like(std::string_view line, std::string_view before) {
  const auto last_word = [](std::string_view text) {
    const std::size_t at = text.find_last_of(" \t=:,");
    return text.size() - (at == std::string_view::npos ? 0 : at + 1);
  };
  return !line.empty() && line.size() >= before.size() && last_word(line) == last_word(before);
}

// Runs in bfloat16 and float32 print a loss scale too: 1 in every step.
bool is_scaled(const scale_history& history) {
  if (history.constant_scale == 1) return false;
  return std::ranges::any_of(history.runs, [](const scale_run& run) {
    if (run.skipped && !run.nan && !std::isnan(run.used)) return true;
    return (!std::isnan(run.used) && run.used != 1) || (!std::isnan(run.after) && run.after != 1);
  });
}

}  // namespace

std::unique_ptr<source> open_scale_log(line_reader lines, const std::string& first_line) {
  const std::string path = lines.path();
  lines.break_at_returns();
  record_scanner scanner;
  line_numbers numbers([&](std::string_view line, std::uint64_t number) { scanner.line(line, number); });
  quoted_gaps left_out;
  measured_lines measured;
  nonfinite_evaluations evaluations;
  const auto add = [&](const std::string& line) {
    numbers.line(with_plain_blanks(line), lines.number());
    left_out.line(line, lines.number());
    measured.line(line, lines.number());
    evaluations.line(line, lines.number());
  };
  add(first_line);
  bool cut = false;
  std::string before = first_line;
  for (std::string line; lines.next(line, "training log");) {
    add(line);
    cut = !lines.ended() && !ends_like(line, before);
    before.swap(line);
  }
  numbers.finish();
  scanner.finish(cut);
  std::vector<scale_record> records = scanner.take();
  const std::vector<nonfinite_words> words = untold(scanner.nonfinite(), records);
  const std::string doubt = left_out.doubt(records);
  const std::string follows = measured.doubt(records);
  scale_history history = history_of(std::move(records), path, scanner.ranks());
  if (history.frameworks.empty()) {
    if (scanner.nonfinite().empty()) return nullptr;
    const nonfinite_words& said = scanner.nonfinite().front();
    throw input_error(path, "line " + std::to_string(said.line),
                      "says that something was not finite, " + in_quotes(said.text) +
                          ", but no line of a step is known here: give more of the log");
  }
  history.unread += scanner.unread().count();
  if (scanner.unread().count() > 0) history.notes.push_back(unread_text(scanner.unread()));
  if (!doubt.empty()) {
    history.doubts.push_back(doubt);
    history.notes.push_back(doubt + ": what happened there is not known");
  }
  std::uint64_t in_words = 0;
  for (const nonfinite_words& w : words) in_words += w.count;
  if (in_words > 0) {
    history.lost_elsewhere.push_back(words_text(words, in_words));
    history.notes.push_back(history.lost_elsewhere.back());
  }
  const auto is_lost = [](const scale_run& run) { return run.nonfinite || run.skipped || run.loss_is_nan; };
  // Of weights that NaN has reached it says nothing new.
  if (!evaluations.text().empty() && std::ranges::none_of(history.runs, is_lost)) {
    history.lost_elsewhere.push_back(evaluations.text());
    history.notes.push_back(evaluations.text());
  }
  if (!follows.empty() && !history.runs.empty() && (history.runs.back().skipped || history.runs.back().nonfinite)) {
    history.doubts.push_back(follows);
    history.notes.push_back(follows);
  }
  if (history.runs.empty()) throw input_error(path, "", "is a log of " + history.frameworks + " without any step");
  return open_history(std::move(history));
}

std::unique_ptr<source> open_history(scale_history history) {
  const bool bounded = history.float16 && is_scaled(history);
  history.notes.push_back(
      bounded ? "the largest gradient of a step is known only within bounds, from float16 overflow at its loss scale; "
                "the overflow may also have been in an activation's gradient or in the forward pass"
              : "no bounds on the largest gradient: the log has no loss scale of a float16 run");
  return std::make_unique<scale_log>(std::move(history), bounded);
}

}  // namespace ulp::io
