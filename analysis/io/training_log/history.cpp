#include "history.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <ulp/io/bytes/printable.hpp>

#include "by_order.hpp"
#include "bytes/text.hpp"
#include "choice.hpp"
#include "numbered_runs.hpp"
#include "scale_place.hpp"
#include "source/scalar_table.hpp"

namespace ulp::io {
namespace {

using kind = scale_record::kind;

bool tells_of_steps(const scale_record& r) {
  return r.what == kind::overflow || r.what == kind::reached || r.what == kind::metrics;
}

// Whose the records are: a script's only where no framework has any.
std::string names_of(const std::vector<scale_record>& records) {
  std::vector<std::pair<const log_dialect*, std::string_view>> seen;
  const bool has_framework =
      std::ranges::any_of(records, [](const scale_record& r) { return r.from->is_framework() && tells_of_steps(r); });
  for (const scale_record& r : records) {
    const bool counts = !r.from->is_bare() && (r.from->is_framework() || !has_framework) && tells_of_steps(r);
    const bool is_new = std::ranges::none_of(seen, [&](const auto& s) { return s.second == r.from->name; });
    if (counts && is_new) seen.emplace_back(r.from, r.from->name);
  }
  std::ranges::sort(seen);  // as in the table of dialects
  std::string all;
  for (const auto& [from, name] : seen) all += (all.empty() ? "" : " and ") + std::string{name};
  return all;
}

// Which step a line means that counts in epochs: of the first that is not finite, else of the first.
void note_counting(const std::vector<scale_record>& records, scale_history& into) {
  const scale_record* shown = nullptr;
  bool by_epoch = false;
  bool by_line = std::ranges::any_of(records, tells_of_steps);
  for (const scale_record& r : records) {
    // The Trainer logs every so many steps.
    const bool is_of_line = r.what == kind::metrics || (r.what == kind::reached && r.step_is_of_line);
    if (tells_of_steps(r)) by_line = by_line && is_of_line && r.from->replaces_loss;
    if (r.what != kind::reached) continue;
    by_epoch = by_epoch || (r.from->is_by_epoch && !r.step_is_of_line);
    if (r.in_epoch < 0 || r.of_epoch < 0 || r.step == r.in_epoch) continue;
    if (shown == nullptr || (r.is_nonfinite() && !shown->is_nonfinite())) shown = &r;
  }
  if (shown != nullptr)
    into.notes.push_back("steps are counted over the epochs: step " + std::to_string(shown->step) + " is iteration " +
                         std::to_string(shown->in_epoch) + " of epoch " + std::to_string(shown->of_epoch));
  into.row_unit = by_epoch ? "epoch" : by_line ? "line" : "step";
  const auto rounded = std::ranges::count_if(records, &scale_record::step_is_rounded);
  if (rounded > 0)
    into.notes.push_back("the step is printed in thousands in " +
                         count_text(static_cast<std::uint64_t>(rounded), "line") +
                         ": it may be any of those that are rounded to it");
  if (by_epoch) into.notes.push_back("each line is of an epoch, which counts as one step; its loss is a mean");
  const auto counted = std::ranges::count_if(records, &scale_record::step_is_of_line);
  if (counted > 0)
    into.notes.push_back("the lines tell no number of a step, at most that of an epoch: " +
                         count_text(static_cast<std::uint64_t>(counted), "line") +
                         " are numbered from 1 in their order");
}

// What norms and losses that are not finite say.
void note_nonfinite(const std::vector<scale_record>& records, scale_history& into) {
  std::uint64_t nonfinite = 0;
  std::uint64_t contradicting = 0;
  std::uint64_t zero_loss = 0;
  std::uint64_t means = 0;
  std::uint64_t replaced = 0;
  std::uint64_t doubtful = 0;
  std::uint64_t negative = 0;
  bool has_other_norms = false;
  for (const scale_record& r : records) {
    negative += r.norm_is_negative ? 1 : 0;
    has_other_norms = has_other_norms || (!r.norm_is_negative && (r.grad_norm_is_nan || !std::isnan(r.grad_norm)));
    replaced += r.stands_for_nan ? 1 : 0;
    doubtful += r.may_stand_for_nan ? 1 : 0;
    contradicting += r.contradicts_itself() ? 1 : 0;
    nonfinite += r.has_nonfinite_value() && !r.norm_is_negative && !r.contradicts_itself() ? 1 : 0;
    zero_loss += r.from->replaces_loss && r.grad_norm_is_nan && r.loss == 0 ? 1 : 0;
    means += r.mean_is_nonfinite && !r.is_nonfinite() ? 1 : 0;
  }
  if (nonfinite > 0)
    into.notes.push_back("a loss or a gradient norm that is NaN or infinite stands in " +
                         count_text(nonfinite, "line") + ": the gradients were not finite there");
  if (contradicting > 0)
    into.notes.push_back("a loss that is NaN or infinite stands beside a finite gradient norm in " +
                         count_text(contradicting, "line") + ": whether the gradients were finite there is left open");
  if (negative > 0) into.notes.push_back(negative_norms_text(count_text(negative, "line"), has_other_norms));
  if (zero_loss > 0)
    into.notes.push_back(
        "a loss of 0 beside a norm that is NaN stands in " + count_text(zero_loss, "line") +
        ": in place of a loss that is not finite the Trainer takes the mean of those since the line before "
        "(logging_nan_inf_filter), 0 where there are none");
  if (replaced > 0)
    into.notes.push_back("a loss of 0 stands in the last " + count_text(replaced, "line") +
                         ", after losses far from 0: taken for what the Trainer writes in place of losses that are not "
                         "finite (logging_nan_inf_filter), and marked ~");
  if (doubtful > 0) {
    into.doubts.push_back(
        "the loss is logged as 0 in the last " + count_text(doubtful, "line") +
        ", after losses far from 0 and beside gradients that are not much smaller than before: the Trainer writes 0 in place of losses "
        "that are not finite (logging_nan_inf_filter=False shows them)");
    into.notes.push_back(into.doubts.back());
  }
  if (means > 0)
    into.notes.push_back("the mean of the gradient norm is not finite in " + count_text(means, "line") +
                         ": so was the norm of an earlier step of that epoch, which has no line");
}

// A part of the run that was done again, from an earlier step on, is not among the steps; its NaN is said.
void note_replaced(const std::vector<scale_record>& records, scale_history& into) {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();  // of those behind it
  const scale_record* first = nullptr;
  std::uint64_t n = 0;
  for (std::size_t i = records.size(); i-- > 0;) {
    const scale_record& r = records[i];
    if (r.what != kind::reached || r.step < 0) continue;
    if (r.is_nonfinite() && r.step > least) {
      first = &r;
      ++n;
    }
    least = std::min(least, r.step);
  }
  if (n > 0)
    into.notes.push_back(
        "a loss or a norm was not finite in " + count_text(n, "line") + ", the first of step " +
        std::to_string(first->step) +
        ", of a part of the run that was done again from an earlier step on: those steps are replaced");
}

// "rank3 printed a loss or a norm that is not finite in 35 lines, the first in line 104, of steps that are finite on rank0, which is
// read".
std::string lost_of_others_text(const left_out_lines& others, std::span<const std::string> ranks) {
  const auto name = [&](std::uint32_t label) { return label < ranks.size() ? ranks[label] : std::string{}; };
  const std::string other = name(others.label_of_nonfinite);
  const std::string own = name(others.label_that_is_read);
  const std::string lines =
      count_text(others.nonfinite, "line") + ", the first in line " + std::to_string(others.first_nonfinite);
  if (others.count == 0) return "a loss or a norm that is not finite stands in lines that were left out: in " + lines;
  return (other.empty() ? "another rank" : printable(other)) +
         (others.several_are_nonfinite ? " and others" : std::string{}) +
         " printed a loss or a norm that is not finite in " + lines + ", of steps that are finite on " +
         (own.empty() ? "the rank" : printable(own) + ",") + (own.empty() ? " that is read" : " which is read");
}

// Where NaN stays in a mean of the steps so far, only the first line that has it tells of a step.
void note_means(const std::vector<scale_record>& records, scale_history& into) {
  const auto hidden = std::ranges::count_if(records, &scale_record::is_hidden_by_mean);
  if (hidden == 0) return;
  const std::string lines = count_text(static_cast<std::uint64_t>(hidden), "line");
  into.doubts.push_back("the loss is a running mean, in which NaN stays: " + lines +
                        (hidden == 1 ? " tells" : " tell") + " nothing of " +
                        (hidden == 1 ? "its step" : "their steps"));
  into.notes.push_back(
      "the loss is a running mean, in which NaN stays: the first line that has it proves it of a step, " + lines +
      " after it " + (hidden == 1 ? "tells" : "tell") + " nothing");
}

void note_end(const std::vector<scale_record>& records, scale_history& into) {
  const auto last = std::find_if(records.rbegin(), records.rend(), [](const scale_record& r) { return r.ends_run; });
  if (last == records.rend()) return;
  const auto reached =
      std::find_if(last, records.rend(), [](const scale_record& r) { return r.what == kind::reached; });
  // A progress bar may print where it stopped once more.
  const auto goes_on = [&](const scale_record& r) {
    return tells_of_steps(r) && (r.what != kind::reached || reached == records.rend() || r.step != reached->step);
  };
  if (std::none_of(records.rbegin(), last, goes_on)) into.ended_at_scale = last->after;
  const bool is_alone = std::ranges::none_of(
      records, [](const scale_record& r) { return r.what == kind::overflow && !r.ends_run && !std::isnan(r.after); });
  into.notes.push_back("line " + std::to_string(last->line) +
                       " says that a run ended: a step overflowed at the least loss scale that was allowed" +
                       (is_alone && !std::isnan(last->after) ? ", taken for 1, which it is unless configured" : ""));
}

}  // namespace

void scale_run::describe(const scale_record& line) {
  loss = line.loss;
  grad_norm = line.grad_norm;
  learning_rate = line.learning_rate;
  loss_is_nan = line.loss_is_nan;
  grad_norm_is_nan = line.grad_norm_is_nan;
  nonfinite = line.is_nonfinite() && !line.contradicts_itself();
  sure = !line.stands_for_nan;
  decided = nonfinite || (!std::isnan(line.grad_norm) && !line.contradicts_itself());
}

namespace {

std::int64_t last_step_of(const scale_run& run) {
  return run.retries ? run.step : run.step + std::int64_t{run.count} - 1;
}

// The loss scale that all lines print, where nothing says that it ever changes or may; NaN elsewhere.
double constant_scale_of(const std::vector<scale_record>& records) {
  double seen = not_known;
  for (const scale_record& r : records) {
    if (r.what != kind::reached && r.what != kind::metrics) {
      if (!std::isnan(r.before) || !std::isnan(r.after)) return not_known;
      continue;
    }
    if (std::isnan(r.after)) continue;
    if (!std::isnan(seen) && r.after != seen) return not_known;
    seen = r.after;
  }
  return seen;
}

}  // namespace

void keep_replaced(std::vector<replaced_runs>& to, const std::vector<scale_run>& runs, std::int64_t from) {
  constexpr std::size_t most = 100;
  constexpr std::uint64_t enough = 2000;  // steps before
  if (to.size() >= most || runs.empty() || last_step_of(runs.back()) <= from) return;
  const auto first = std::ranges::find_if(runs, [&](const scale_run& run) { return last_step_of(run) > from; });
  auto begin = first;
  for (std::uint64_t before = 0; begin != runs.begin() && before < enough; before += begin->count) --begin;
  to.push_back({from, {begin, runs.end()}});
}

void split_last(std::vector<scale_run>& runs) {
  if (runs.back().count == 1) return;
  scale_run last = runs.back();
  last.step += last.count - 1;
  last.count = 1;
  last.used = not_known;
  last.after_gap = false;
  scale_run& rest = runs.back();
  --rest.count;
  rest.after = rest.after_at_most = rest.loss = rest.grad_norm = rest.learning_rate = not_known;
  rest.loss_is_nan = rest.grad_norm_is_nan = false;
  runs.push_back(last);
}

scale_history history_of(std::vector<scale_record> records, const std::string& path,
                         std::span<const std::string> ranks) {
  scale_history all;
  const left_out_lines others = choose_records(records, path);
  const settled_scales scales = settle_scales(records);
  all.frameworks = names_of(records);
  if (all.frameworks.empty()) return all;
  if (std::ranges::none_of(records, [](const scale_record& r) { return r.what == kind::reached; })) {
    add_runs_by_order(records, all);
  } else {
    const bool is_odd = scales.changes || scales.is_contradicted || scales.no_scales > 0 || !scales.zeros.empty();
    if (!is_odd) all.constant_scale = constant_scale_of(records);
    add_numbered_runs(records, path, all);
    apply(scales, all);
  }
  note_nonfinite(records, all);
  note_replaced(records, all);
  note_end(records, all);
  note_counting(records, all);
  all.float16 = std::ranges::none_of(records, [](const scale_record& r) { return r.what == kind::bfloat16; });
  for (const scale_record& r : records) {
    if (r.what == kind::window && r.after >= 1) all.window = r.after;
    if (r.from->window > 0) all.window = r.from->window;
    all.resets_scale = all.resets_scale || r.from->resets_scale || r.scale_is_rounded;
  }
  if (others.count > 0)
    all.notes.push_back(count_text(others.count, "line") + " of other ranks or other scalers: left out");
  if (others.of_scalers > 0)
    all.notes.push_back(
        count_text(others.of_scalers, "line") +
        " of these tell of overflows of other scalers than the first: give the log without the lines of that to see them");
  if (others.contradicted_skips > 0)
    all.notes.push_back(
        count_text(others.contradicted_skips, "line") +
        " speak of skipped steps or of overflows beside norms that are finite: that is not used, and may be of something "
        "else than the loss scaler");
  all.unread += others.of_scalers + others.contradicted_skips;
  if (others.own_lines > 0) {
    all.doubts.push_back(count_text(others.own_lines, "line") + " of the script's own, with losses, " +
                         (others.own_lines == 1 ? "counts" : "count") + " otherwise than the lines of " +
                         all.frameworks + ", as micro-batches or the steps of an epoch are, and left out");
    all.notes.push_back(all.doubts.back());
  }
  if (!others.numbers_fit)
    all.notes.emplace_back(
        "the steps of the progress bar contradict the epochs of the lines beside it, as where the output came late and in "
        "blocks: they are not used");
  if (others.evaluations > 0)
    all.notes.push_back(
        count_text(others.evaluations, "line") +
        (others.evaluations == 1
             ? " that starts counting again between training steps, as an evaluation does, is left out"
             : " that start counting again between training steps, as an evaluation does, are left out"));
  if (others.epochs > 0)
    all.notes.push_back(count_text(others.epochs, "line") + " of whole epochs, beside those of steps: left out");
  if (others.nonfinite > 0) {
    all.lost_elsewhere.push_back(lost_of_others_text(others, ranks));
    all.notes.push_back(all.lost_elsewhere.back());
  }
  if (others.own_nonfinite > 0) {
    all.lost_elsewhere.push_back("a loss or a norm that is not finite stands in lines that were left out: in " +
                                 count_text(others.own_nonfinite, "line") + ", the first in line " +
                                 std::to_string(others.first_own_nonfinite));
    all.notes.push_back(all.lost_elsewhere.back());
  }
  if (all.constant_scale > 0 && std::ranges::any_of(all.runs, &scale_run::is_assumed))
    all.notes.emplace_back(
        "the loss scale is the same in every line, as a constant one is whatever overflows: steps of which nothing else tells are "
        "taken to be applied, and are marked ~");
  note_means(records, all);
  return all;
}

}  // namespace ulp::io
