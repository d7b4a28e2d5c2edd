#include "choice.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include <ulp/io/bytes/error.hpp>

#include "other_norms.hpp"
#include "own_lines.hpp"
#include "scanner.hpp"
#include "skip_counts.hpp"
#include "twins.hpp"

namespace ulp::io {
namespace {

using kind = scale_record::kind;

// Lines of one rank and one scaler: of each framework the first that printed one.
std::uint64_t drop_other_ranks(std::vector<scale_record>& records, std::uint64_t& of_scalers) {
  std::map<std::pair<const log_dialect*, kind>, std::uint32_t> rank;
  std::optional<std::uint32_t> scaler;
  return std::erase_if(records, [&](const scale_record& r) {
    if (r.from->has_scalers && scaler.value_or(r.part) != r.part) {
      ++of_scalers;
      return true;
    }
    if (r.from->has_scalers) scaler = r.part;
    return rank.try_emplace({r.from, r.what}, r.label).first->second != r.label;
  });
}

// Two logs in one file: steps of one program, and behind the last of them such steps of another. Which of the two is meant nobody
// can tell, and skipped steps are looked for in one.
void expect_one_program(const std::vector<scale_record>& records, const std::string& path) {
  constexpr std::uint64_t few = 3;
  struct stretch {
    std::uint64_t count = 0;
    std::uint64_t first_line = 0;
    std::uint64_t last_line = 0;
    std::int64_t least = 0;
    std::int64_t most = 0;
  };
  std::map<const log_dialect*, stretch> told;
  for (const scale_record& r : records) {
    if (r.what != kind::reached || r.from->is_bar || r.from->is_bare() || r.is_validation) continue;
    stretch& s = told[r.from];
    if (s.count++ == 0) s = {1, r.line, r.line, r.step, r.step};
    s.first_line = std::min(s.first_line, r.line);
    s.last_line = std::max(s.last_line, r.line);
    s.least = std::min(s.least, r.step);
    s.most = std::max(s.most, r.step);
  }
  for (const auto& [first, a] : told)
    for (const auto& [second, b] : told)
      if (a.count >= few && b.count >= few && a.last_line < b.first_line && a.least <= b.most && b.least <= a.most)
        throw input_error(path, "line " + std::to_string(b.first_line),
                          "steps " + std::to_string(b.least) + " to " + std::to_string(b.most) + " of " +
                              std::string{second->name} + " stand behind steps " + std::to_string(a.least) + " to " +
                              std::to_string(a.most) + " of " + std::string{first->name} +
                              ": give the log of each run for itself");
}

// The progress bar under which steps were skipped, by its length.
std::optional<std::uint32_t> bar_of_steps(const std::vector<scale_record>& records) {
  std::map<std::uint32_t, std::uint64_t> overflows;
  std::optional<std::uint32_t> now;
  for (const scale_record& r : records) {
    if (r.from->is_bar) now = r.part;
    if ((r.what == kind::overflow || r.what == kind::metrics) && now) ++overflows[*now];
  }
  const auto most = std::ranges::max_element(overflows, {}, [](const auto& o) { return o.second; });
  return most == overflows.end() ? std::nullopt : std::optional(most->first);
}

// The one that ended the run, whichever ranks and tracebacks say so: the scale stood at its least value already.
void add_fatal_overflow(std::vector<scale_record>& records) {
  double scale = not_known;
  std::int64_t step = -1;
  bool seen = false;
  for (scale_record& r : records) {
    if (r.what == kind::overflow) {
      scale = r.after;
      seen = false;
    }
    // A progress bar may print where it stopped once more.
    if (r.what == kind::reached && std::exchange(step, r.step) != r.step) seen = false;
    if (r.what != kind::fatal || std::exchange(seen, true)) continue;
    r.what = kind::overflow;
    r.ends_run = true;
    r.before = r.after = std::isnan(scale) ? r.after : scale;
  }
  std::erase_if(records, [](const scale_record& r) { return r.what == kind::fatal; });
}

// A bar that came to "400/400" counts steps that are done: what it shows at the next "0/400" is of none.
void leave_out_empty_bars(std::vector<scale_record>& records) {
  bool was_full = false;
  auto kept = records.begin();
  for (auto r = records.begin(); r != records.end(); ++r) {
    const bool counts = r->from->counts_in_epochs && r->what == kind::reached && r->per_epoch > 0;
    const bool is_empty = counts && was_full && r->step == 0;
    if (counts) was_full = r->step == r->per_epoch;
    if (is_empty) continue;
    if (kept != r) *kept = std::move(*r);
    ++kept;
  }
  records.erase(kept, records.end());
}

// Where lines of a layout whose epochs begin with 1 have an epoch 0, all of the others come an epoch later.
void count_from_epoch_zero(std::vector<scale_record>& records) {
  const auto is_at = [](const scale_record& r, std::int64_t epochs) {
    return r.what == kind::reached && !r.from->counts_in_epochs && r.per_epoch > 0 && r.in_epoch >= 0 &&
           r.step == epochs * r.per_epoch + r.in_epoch;
  };
  std::set<const log_dialect*> zero;
  for (const scale_record& r : records)
    if (r.of_epoch == 0 && is_at(r, 0)) zero.insert(r.from);
  for (scale_record& r : records)
    if (r.of_epoch > 0 && zero.contains(r.from) && is_at(r, r.of_epoch - 1)) r.step += r.per_epoch;
}

// Steps that are counted anew in each epoch, from the first of the log on; numbers that go on are left as they are.
void count_over_epochs(std::vector<scale_record>& records, const std::string& path) {
  constexpr std::int64_t most = std::int64_t{1} << 53;
  std::int64_t before = 0;  // steps of earlier epochs
  std::int64_t last = 0;
  std::int64_t printed = -1;
  std::int64_t length = 0;
  std::uint32_t epoch = 0;
  for (scale_record& r : records) {
    if (!r.from->counts_in_epochs || r.what != kind::reached) continue;
    const bool is_new = r.part > epoch || (r.from->restarts && r.of_epoch < 0 && r.step < printed);
    const std::int64_t first = r.step == 0 ? 1 : 0;  // counted from 0
    if (printed >= 0 && is_new && r.step <= printed) before = std::max(last + first, before + length);
    epoch = r.part;
    printed = r.step;
    length = std::max<std::int64_t>(r.per_epoch, 0);
    if (before > most || r.step > most)
      throw input_error(path, "line " + std::to_string(r.line),
                        "counts more steps over its epochs than can be numbered");
    r.step += before;
    last = r.step;
  }
}

std::vector<scale_record> compacted(std::vector<scale_record> records) {
  std::vector<scale_record> all;
  for (scale_record& r : records) add_compactly(all, std::move(r));
  return all;
}

// What a section's lines say is put into the one record of its step.
void gather_sections(std::vector<scale_record>& records, bool are_last) {
  std::map<const log_dialect*, scale_record*> section;
  const auto gather = [&](scale_record& r) {
    if (!r.from->in_sections || r.from->section_is_last != are_last) return;
    if (r.what == kind::section) section[r.from] = &r;
    const auto open = section.find(r.from);
    if (r.what != kind::metrics || open == section.end()) return;
    scale_record& into = *open->second;
    into.what = kind::reached;
    into.is_mean = into.is_mean || r.from->is_by_epoch;
    if (r.loss_is_nan || !std::isnan(r.loss)) into.put(&scale_record::loss, r.loss);
    if (r.grad_norm_is_nan || !std::isnan(r.grad_norm)) into.put(&scale_record::grad_norm, r.grad_norm);
    if (!std::isnan(r.after)) into.after = r.after;
    into.scale_is_rounded = into.scale_is_rounded || r.scale_is_rounded;
    r.what = kind::section;
  };
  if (are_last)
    std::ranges::for_each(records.rbegin(), records.rend(), gather);
  else
    std::ranges::for_each(records, gather);
}

double unit_of(std::int64_t step, int digits) {
  return std::pow(10, std::max(0.0, std::floor(std::log10(static_cast<double>(step))) + 1 - digits));
}

// Steps in thousands of which several that follow one another are equal, as in an excerpt: evenly spaced, by the roundest number
// with which all round to what is printed.
void space_evenly(const std::vector<scale_record*>& all) {
  const auto is_again = [](const scale_record* a, const scale_record* b) { return a->step == b->step; };
  if (all.size() < 2 || std::ranges::adjacent_find(all, is_again) == all.end()) return;
  const auto first_for = [&](std::int64_t spacing) {
    std::int64_t low = 0;
    std::int64_t high = std::numeric_limits<std::int64_t>::max();
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::int64_t begin = all[i]->step - static_cast<std::int64_t>(i) * spacing;
      low = std::max(low, begin - all[i]->step_unit / 2);
      high = std::min(high, begin + all[i]->step_unit / 2);
    }
    return low <= high ? std::optional(std::clamp(all.front()->step, low, high)) : std::nullopt;
  };
  const auto gaps = static_cast<std::int64_t>(all.size()) - 1;
  const std::int64_t rise = all.back()->step - all.front()->step;
  const std::int64_t unit = all.back()->step_unit;
  for (const std::int64_t round : {1000, 500, 200, 100, 50, 20, 10, 5, 2, 1}) {
    const std::int64_t least = std::max<std::int64_t>(1, (rise - unit) / gaps);
    for (std::int64_t spacing = (least + round - 1) / round * round; spacing * gaps <= rise + unit; spacing += round) {
      const auto first = first_for(spacing);
      if (!first) continue;
      for (std::size_t i = 0; i < all.size(); ++i) {
        all[i]->step = *first + static_cast<std::int64_t>(i) * spacing;
        all[i]->step_is_rounded = true;
      }
      return;
    }
  }
}

// The steps of a program that prints few of their digits: they go on as they did while all were printed.
void number_rounded_steps(std::vector<scale_record>& records, const std::string& path) {
  std::vector<scale_record*> own;
  for (scale_record& r : records)
    if (r.from->is_own && r.what == kind::reached) own.push_back(&r);
  if (std::ranges::all_of(own, [](const scale_record* r) { return r->step_unit > 1; })) space_evenly(own);
  std::map<const log_dialect*, std::pair<std::int64_t, std::int64_t>>
      last;  // and how many it was behind the one before
  for (scale_record& r : records) {
    const bool in_thousands = r.step_unit > 1;
    if ((r.from->step_digits == 0 && !r.from->is_own) || r.what != kind::reached) continue;
    const auto [known, is_new] = last.try_emplace(r.from, r.step, 0);
    auto& [step, since] = known->second;
    const double unit =
        r.from->step_digits == 0 ? static_cast<double>(r.step_unit) : unit_of(r.step, r.from->step_digits);
    const std::int64_t next = step + since;
    const bool goes_on = unit > 1 && since > 0 && std::fabs(static_cast<double>(next - r.step)) <= unit / 2;
    if (in_thousands && !goes_on && (is_new || r.step != step)) {
      r.step_is_rounded = true;
    } else if (in_thousands && !goes_on) {
      throw input_error(
          path, "line " + std::to_string(r.line),
          "prints its step in thousands, as the line before it, and nothing tells them apart; print whole "
          "steps, or leave the number out");
    } else if (unit > 1 && !goes_on)
      throw input_error(
          path, "line " + std::to_string(r.line),
          "prints its step with " + std::to_string(r.from->step_digits) +
              " digits, and the lines before it do not tell the others; give progress.csv of the same folder, which has all");
    if (goes_on) r.step = next;
    if (!is_new) since = r.step - step;
    step = r.step;
  }
}

// A script's lines with the number of an epoch alone are of whole epochs, which lines of steps tell more of. Where more of one epoch
// follow one another than ranks print, or some are lost and others not, they are of steps that have no number: they are numbered in
// their order.
void settle_epochs(std::vector<scale_record>& records, left_out_lines& others) {
  constexpr std::size_t most_ranks = 16;
  const auto is_own = [](const scale_record& r) {
    return r.what == kind::reached && r.from->is_own && !r.from->restarts;
  };
  const auto own = std::ranges::find_if(records, is_own);
  // A number that never changes is none of a step.
  const bool is_one = own != records.end() && std::ranges::all_of(records, [&](const scale_record& r) {
                        return !is_own(r) || r.step == own->step;
                      });
  const bool tells_none = is_one && static_cast<std::size_t>(std::ranges::count_if(records, is_own)) > most_ranks;
  const auto is_epoch = [&](const scale_record& r) { return is_own(r) && (r.from->is_by_epoch || tells_none); };
  const auto tells_steps = [&](const scale_record& r) {
    return r.what == kind::reached && !is_epoch(r) && !r.is_validation && !r.from->is_bar &&
           (r.has_values() || r.from->is_framework());
  };
  if (std::ranges::any_of(records, tells_steps)) {
    const bool is_nonfinite_elsewhere =
        std::ranges::any_of(records, [&](const scale_record& r) { return !is_epoch(r) && r.is_nonfinite(); });
    const auto lost =
        std::ranges::find_if(records, [&](const scale_record& r) { return is_epoch(r) && r.is_nonfinite(); });
    if (lost != records.end() && !is_nonfinite_elsewhere && others.nonfinite++ == 0)
      others.first_nonfinite = lost->line;
    others.epochs = std::erase_if(records, is_epoch);
    return;
  }
  struct row {
    std::int64_t epoch = -1;
    std::size_t lines = 0;
    std::size_t lost = 0;
  };
  std::map<std::uint32_t, row> rows;  // the last of each rank
  bool is_numbered = true;
  for (const scale_record& r : records) {
    if (!is_epoch(r)) continue;
    row& now = rows[r.label];
    if (now.epoch != r.step) now = {.epoch = r.step};
    ++now.lines;
    now.lost += r.is_nonfinite() ? 1 : 0;
    is_numbered = is_numbered && now.lines <= most_ranks && (now.lost == 0 || now.lost == now.lines);
  }
  if (is_numbered) return;
  std::map<std::uint32_t, std::int64_t> numbers;
  for (scale_record& r : records)
    if (is_epoch(r)) {
      r.step = ++numbers[r.label];
      r.step_is_of_line = true;
    }
}

// Losses of validations count where no other is logged.
void drop_validations(std::vector<scale_record>& records) {
  const bool has_losses = std::ranges::any_of(
      records, [](const scale_record& r) { return !r.is_validation && (r.loss_is_nan || !std::isnan(r.loss)); });
  if (has_losses) std::erase_if(records, [](const scale_record& r) { return r.is_validation; });
}

// Lines of a script that count anew from 0 or 1 before the training goes on where it was: an evaluation's, which skips no step.
// A run that was started again goes on from its own last step; a single line may be that.
std::uint64_t drop_evaluations(std::vector<scale_record>& records) {
  std::vector<scale_record*> told;
  for (scale_record& r : records)
    if (r.what == kind::reached && r.from->is_own && !r.from->restarts) told.push_back(&r);
  const auto step = [&](std::size_t i) { return told[i]->step; };
  std::size_t longest = 0;
  const auto end_of = [&](std::size_t begin, std::int64_t next) {
    for (std::size_t i = begin + 1; i < told.size(); ++i) {
      const bool goes_on = i > begin + 1 && step(i) - step(i - 1) == step(i - 1) - step(i - 2);
      if (step(i) == next && !goes_on) return i;
      if (step(i) <= step(i - 1)) return begin;
    }
    return told.size() - begin <= longest ? told.size() : begin;  // the last one of several
  };
  constexpr std::size_t few = 2;
  const auto skips_between = [](const scale_record* first, const scale_record* behind) {
    return std::any_of(first, behind, [](const scale_record& r) { return r.what == kind::overflow; });
  };
  std::int64_t last = -1;   // of the training
  std::int64_t since = -1;  // the one before it
  for (std::size_t i = 0; i < told.size(); ++i) {
    const bool begins = step(i) <= 1 && step(i) <= last && since > 0;
    std::size_t end = begins ? end_of(i, last + since) : i;
    if (end < i + few || skips_between(told[i], told[end - 1])) end = i;
    longest = std::max(longest, end - i);
    for (; i < end; ++i) told[i]->what = kind::section;
    if (i == told.size()) break;
    since = last >= 0 ? step(i) - last : -1;
    last = step(i);
  }
  return std::erase_if(records, [](const scale_record& r) { return r.what == kind::section; });
}

// A scale that does not change from one overflow to the next is a constant one; of a single overflow it is not known.
void settle_constant_scales(std::vector<scale_record>& records) {
  std::vector<scale_record*> overflows;
  for (scale_record& r : records)
    if (r.what == kind::overflow && r.from->scale_may_stay && std::isnan(r.before)) overflows.push_back(&r);
  for (std::size_t i = 0; i < overflows.size(); ++i) {
    scale_record& r = *overflows[i];
    const double next = i + 1 < overflows.size() ? overflows[i + 1]->after : not_known;
    const double previous = i > 0 ? overflows[i - 1]->after : not_known;
    if (r.after == next || r.after == previous)
      r.before = r.after;
    else if (r.after * 2 == previous)
      r.before = previous;
    else
      r.after = not_known;
  }
}

// Whether the gradient norms of these records are not much smaller than those of the others before them, at the median.
bool are_norms_as_before(std::span<scale_record* const> before, std::span<scale_record* const> these) {
  constexpr double much_smaller = 0.1;
  const auto median = [](std::span<scale_record* const> of) {
    std::vector<double> norms;
    for (const scale_record* const r : of)
      if (std::isfinite(r->grad_norm)) norms.push_back(r->grad_norm);
    if (norms.empty()) return not_known;
    const auto middle = norms.begin() + static_cast<std::ptrdiff_t>(norms.size() / 2);
    std::ranges::nth_element(norms, middle);
    return *middle;
  };
  return median(these) > much_smaller * median(before);
}

// The Trainer's 0 stands for losses that are not finite. Without a norm of its own beside it, it does where it is the last that is
// logged, and the losses before it were far from 0: rounded to four digits they would pass smaller ones first. Beside norms as
// before it is not known what it stands for.
void distrust_zero_losses(std::vector<scale_record>& records) {
  constexpr double far_from_zero = 0.05;
  constexpr std::ptrdiff_t some = 3;
  const auto has_norm = [](const scale_record& r) {
    return r.grad_norm_is_nan || (!std::isnan(r.grad_norm) && !r.norm_is_repeated);
  };
  std::vector<scale_record*> told;
  for (scale_record& r : records)
    if (r.from->replaces_loss && !r.is_validation && r.has_values()) told.push_back(&r);
  const auto last =
      std::ranges::find_if(told.rbegin(), told.rend(), [](const scale_record* r) { return r->loss != 0; });
  if (last == told.rend() || last - told.rbegin() < some || !((*last)->loss >= far_from_zero)) return;
  // The first may have that of a step which was applied before it.
  if (std::any_of(told.rbegin(), std::prev(last), [&](const scale_record* r) { return has_norm(*r); })) {
    const std::span all(told);
    const std::span zeros = all.last(static_cast<std::size_t>(last - told.rbegin()));
    const bool has_nan = std::ranges::any_of(zeros, &scale_record::grad_norm_is_nan);
    if (!has_nan && are_norms_as_before(all.first(all.size() - zeros.size()), zeros))
      for (scale_record* const zero : zeros) zero->may_stand_for_nan = true;
    return;
  }
  for (auto zero = told.rbegin(); zero != last; ++zero) (*zero)->is_overflow = (*zero)->stands_for_nan = true;
}

// Beside a norm that is NaN the Trainer's loss may be that of other steps: it leaves out what is not finite.
void distrust_means_of_others(std::vector<scale_record>& records) {
  for (scale_record& r : records)
    if (r.from->replaces_loss && r.grad_norm_is_nan && r.loss != 0) r.loss = not_known;
}

// Under DeepSpeed Megatron's norm is DeepSpeed's, which stays that of the step before where one was skipped.
void distrust_norms(std::vector<scale_record>& records) {
  if (std::ranges::any_of(records, [](const scale_record& r) { return r.from->skipped_in_all; }))
    for (scale_record& r : records)
      if (r.skipped >= 0) r.is_applied = false;
}

// Where no norm is anything but negative none was computed.
void drop_absent_norms(std::vector<scale_record>& records) {
  const auto has_norm = [](const scale_record& r) {
    return !r.norm_is_negative && (r.grad_norm_is_nan || !std::isnan(r.grad_norm));
  };
  if (std::ranges::any_of(records, has_norm)) return;
  for (scale_record& r : records)
    if (r.norm_is_negative) r.grad_norm_is_nan = false;
}

struct numbered_epoch {
  std::int64_t step = -1;
  double epoch = not_known;
};

// Whether steps rise as epochs do, which are rounded to two digits, from where a run starts again on. Where the steps of an
// epoch are no whole number, they are off by up to one.
bool fit_epochs(const std::vector<numbered_epoch>& all, double off) {
  constexpr double rounded = 0.005 + 1e-9;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  double least = 0;  // steps in an epoch
  double most = infinity;
  double before = 0;
  for (const numbered_epoch& e : all) {
    if (std::isnan(e.epoch)) continue;
    if (e.step < 0) return false;
    if (e.epoch < before) {
      least = 0;
      most = infinity;
    }
    before = e.epoch;
    const auto step = static_cast<double>(e.step);
    least = std::max(least, (step - off) / (e.epoch + rounded));
    if (e.epoch > rounded) most = std::min(most, (step + off) / (e.epoch - rounded));
    if (least > most) return false;
  }
  return true;
}

// Metrics have the step that a progress bar or the script prints next, else the last; the one before, where only that fits their
// epochs. Bars remain where overflows need them. False where none fits, as where what was printed came late and in blocks:
// then metrics have no step.
bool number_metrics(std::vector<scale_record>& records) {
  const auto numbers = [](const scale_record& r) { return r.what == kind::reached && !r.from->is_framework(); };
  const auto is_metrics = [](const scale_record& r) { return r.what == kind::metrics; };
  if (std::ranges::none_of(records, is_metrics)) return true;
  if (std::ranges::any_of(records,
                          [](const scale_record& r) { return r.what == kind::reached && r.from->is_framework(); }))
    std::erase_if(records, is_metrics);
  if (std::ranges::none_of(records, numbers)) return true;
  std::vector<numbered_epoch> above;
  std::vector<numbered_epoch> below;
  std::int64_t step = -1;
  for (const scale_record& r : records) {
    if (numbers(r)) step = r.step;
    if (is_metrics(r)) above.push_back({step, r.epoch});
  }
  for (std::size_t i = records.size(); i-- > 0;) {
    if (numbers(records[i])) step = records[i].step;
    if (is_metrics(records[i])) below.push_back({step, records[i].epoch});
  }
  std::ranges::reverse(below);
  const bool has_overflows =
      std::ranges::any_of(records, [](const scale_record& r) { return r.what == kind::overflow; });
  const bool fits_above = !fit_epochs(below, 0) && fit_epochs(above, 0);
  if (!fits_above && !has_overflows && !fit_epochs(below, 1)) {
    std::erase_if(records, numbers);
    return false;
  }
  auto at = (fits_above ? above : below).begin();
  for (scale_record& r : records) {
    if (!is_metrics(r)) continue;
    r.what = kind::reached;
    r.step = (at++)->step;
  }
  if (!has_overflows) std::erase_if(records, numbers);
  return true;
}

// Leaves the step numbers of the framework where it prints them, else of the script's own lines, of the progress bar, or of
// whatever else has a number.
void choose_steps(std::vector<scale_record>& records) {
  const auto any = [&](bool is_wanted(const scale_record&)) { return std::ranges::any_of(records, is_wanted); };
  const bool prints_steps =
      any([](const scale_record& r) { return r.what == kind::reached && r.from->is_framework(); });
  // Of accumulated steps a bar shows more.
  const bool positions = any([](const scale_record& r) { return r.what == kind::position; });
  const bool framework = positions || prints_steps;
  const bool own = any([](const scale_record& r) { return r.what == kind::reached && r.from->is_own; });
  const bool own_lines =
      any([](const scale_record& r) { return r.what == kind::reached && r.from->is_own && !r.from->restarts; });
  const auto bar = framework || own ? std::nullopt : bar_of_steps(records);
  std::erase_if(records, [&](const scale_record& r) {
    if (r.from->is_bar) return framework || own || bar != r.part;
    if (r.from->is_own) return framework || (own_lines && r.from->restarts);
    return r.from->is_bare() && (framework || own || bar);
  });
}

// Where no line says how far a run came, but each overflow in which step it was: up to the last of them.
void reach_positions(std::vector<scale_record>& records) {
  if (std::ranges::any_of(records, [](const scale_record& r) { return r.what == kind::reached; })) return;
  std::vector<scale_record> numbered;
  scale_record reached{.what = kind::reached, .skipped = 0};
  for (const scale_record& r : records) {
    if (r.what == kind::overflow && reached.step < 0) continue;  // of a step before the first that is told
    if (r.what == kind::position && r.step != reached.step) {
      if (reached.step >= 0) numbered.push_back(reached);
      reached.from = r.from;
      reached.steps = reached.step < 0 ? 1 : -1;  // of the steps before it the log says nothing
      reached.step = r.step;
      ++reached.skipped;
    }
    reached.label = r.label;
    reached.line = r.line;
    numbered.push_back(r);
  }
  if (reached.step < 0) return;
  numbered.push_back(reached);
  records = std::move(numbered);
}

struct numbered_line {
  std::uint64_t line = 0;
  std::int64_t step = -1;
  std::uint32_t label = 0;
};
std::vector<numbered_line> nonfinite_lines(const std::vector<scale_record>& records) {
  std::vector<numbered_line> all;
  for (const scale_record& r : records)
    if (r.is_nonfinite()) all.push_back({r.line, r.step, r.label});
  return all;
}

// Every rank may print the same NaN: what counts is one that the chosen rank does not have.
void note_nonfinite(const std::vector<numbered_line>& before, const std::vector<scale_record>& left,
                    left_out_lines& into) {
  std::set<std::uint64_t> lines;
  std::set<std::int64_t> steps;
  for (const numbered_line& r : nonfinite_lines(left)) {
    lines.insert(r.line);
    steps.insert(r.step);
  }
  for (const numbered_line& r : before) {
    if (lines.contains(r.line) || steps.contains(r.step)) continue;
    if (into.nonfinite++ == 0) {
      into.first_nonfinite = r.line;
      into.label_of_nonfinite = r.label;
    }
    into.several_are_nonfinite = into.several_are_nonfinite || r.label != into.label_of_nonfinite;
  }
  if (!left.empty()) into.label_that_is_read = left.front().label;
}

// A mean of earlier steps, too, keeps the NaN of any of them: while it may, it tells nothing of later ones.
void doubt_running_means(std::vector<scale_record>& records) {
  std::map<const log_dialect*, std::int64_t> lost_at;  // the step that is proved to be; -1 where the mean is finite
  for (scale_record& r : records) {
    if (!r.has_values() || r.mean_of == 0) continue;
    const bool is_lost = r.loss_is_nan || std::isinf(r.loss);
    std::int64_t& proved = lost_at.try_emplace(r.from, -1).first->second;
    const bool is_kept = is_lost && proved >= 0 && r.step - proved < r.mean_of;
    if (!is_kept) proved = is_lost ? r.step : -1;
    if (!is_kept) continue;
    r.loss = not_known;
    r.loss_is_nan = false;
    r.is_hidden_by_mean = true;
  }
}

}  // namespace

left_out_lines choose_records(std::vector<scale_record>& records, const std::string& path) {
  expect_one_program(records, path);
  drop_absent_norms(records);
  left_out_lines others;
  settle_epochs(records, others);
  const std::vector<numbered_line> nonfinite = nonfinite_lines(records);
  others.count = drop_other_ranks(records, others.of_scalers);
  others.count += put_in_order(records);
  if (others.count > 0) note_nonfinite(nonfinite, records, others);
  records = compacted(std::move(records));
  gather_sections(records, false);
  gather_sections(records, true);
  std::erase_if(records, [](const scale_record& r) {
    return r.what == kind::section || (r.what == kind::metrics && r.from->section_is_last);
  });
  count_from_epoch_zero(records);
  number_rounded_steps(records, path);
  add_fatal_overflow(records);
  settle_constant_scales(records);
  drop_validations(records);
  others.evaluations = drop_evaluations(records);
  mark_other_norms(records);
  distrust_zero_losses(records);
  distrust_means_of_others(records);
  others.own_lines = settle_own_lines(records);
  distrust_norms(records);
  const std::vector<numbered_line> before_choice = nonfinite_lines(records);
  choose_steps(records);
  if (nonfinite_lines(records).empty()) {
    left_out_lines own;
    note_nonfinite(before_choice, records, own);
    others.own_nonfinite = own.nonfinite;
    others.first_own_nonfinite = own.first_nonfinite;
  }
  others.numbers_fit = number_metrics(records);
  leave_out_empty_bars(records);
  count_over_epochs(records, path);
  doubt_running_means(records);
  others.contradicted_skips = take_own_skips(records);
  reach_positions(records);
  for (scale_record& r : records)
    for (double* const scale : {&r.before, &r.after})
      if (!std::isinf(*scale)) *scale = exact_scale(*scale);
  return others;
}

}  // namespace ulp::io
