#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "findings.hpp"

namespace ulp {
namespace {

// Steps in a row, as the log has them.
struct stretch {
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::uint64_t steps = 0;
  bool is_assumed = false;  // where they lie

  void add(std::int64_t step, bool assumed) {
    if (steps++ == 0) first = step;
    last = step;
    is_assumed = is_assumed || assumed;
  }
};

struct log_account {
  stretch skipped;
  stretch lost;     // not finite by their loss or norm, and not told to be skipped
  stretch longest;  // of those skipped or lost
  std::uint64_t applied = 0;
  std::uint64_t open = 0;
  std::uint64_t marked = 0;               // skipped or lost there or near there
  const step_survey* largest = nullptr;   // skipped, with the largest gradient that an overflow proves
  const step_survey* smallest = nullptr;  // applied, at the largest scale that is known to have held
  bool ends_overflowing = false;
  bool tells_more = false;  // than which steps overflowed
};

log_account account_of(const survey& run) {
  log_account a;
  stretch now;
  for (const step_survey& s : run.steps()) {
    const bool bad = s.found_inf.value_or(false);
    const bool is_marked = bad && s.bounds() && !s.bounds()->certain;
    if (bad && s.applied == false) a.skipped.add(s.key.step, is_marked);
    if (bad && s.applied != false) a.lost.add(s.key.step, is_marked);
    a.applied += s.found_inf == false ? 1 : 0;
    a.open += s.found_inf ? 0 : 1;
    a.marked += is_marked ? 1 : 0;
    if (!bad) now = {};
    if (bad) now.add(s.key.step, is_marked);
    if (now.steps > a.longest.steps) a.longest = now;
    a.ends_overflowing = bad;
    a.tells_more = a.tells_more || s.bounds() || (s.known && !std::isfinite(s.max_abs));
    if (bad && s.bounds() && s.bounds()->low > 0 &&
        (a.largest == nullptr || s.bounds()->low >= a.largest->bounds()->low))
      a.largest = &s;
    if (s.found_inf == false && s.bounds() && s.bounds()->certain && std::isfinite(s.bounds()->high) &&
        (a.smallest == nullptr || s.bounds()->high < a.smallest->bounds()->high))
      a.smallest = &s;
  }
  return a;
}

// At which the bound on the gradient holds: the step's own, or the largest that it may have had.
double scale_of(const step_survey& s) { return std::isnan(s.loss_scale) ? s.bounds()->scale_at_most() : s.loss_scale; }

// "8", "2^16", "2^-7", "0.1"
std::string scale_text(double scale) {
  int exponent = 0;
  constexpr double plain = 1024;
  const bool is_power = std::frexp(scale, &exponent) == 0.5;
  return is_power && (scale < 1 || scale > plain) ? power(exponent - 1) : fmt::format("{:.6g}", scale);
}

std::string stretch_text(const stretch& s) {
  return fmt::format("{} ({}{})", steps_text(s.steps), s.is_assumed ? "about " : "", places_text(s.first, s.last));
}

table_value numbers_of(const stretch& s) {
  if (s.steps == 0) return {};
  return named_values{
      {{"steps", integer(s.steps)}, {"first_step", s.first}, {"last_step", s.last}, {"places_certain", !s.is_assumed}}};
}

}  // namespace

std::optional<finding> what_log_shows(const survey& run) {
  const log_account a = account_of(run);
  if (!a.tells_more || a.skipped.steps + a.lost.steps + a.applied == 0) return std::nullopt;
  finding f{.topic = "log", .question = "What does the log show?"};
  std::vector<std::string> parts;
  if (a.skipped.steps > 0) parts.push_back("overflow in " + stretch_text(a.skipped) + ", skipped");
  if (a.lost.steps > 0) parts.push_back("gradients that were not finite in " + stretch_text(a.lost));
  if (parts.empty()) parts.push_back("no overflow in the " + steps_text(a.applied) + " that it describes");
  if (a.largest != nullptr)
    parts.push_back(fmt::format("at the scale {} a gradient was >= {:.6g}", scale_text(scale_of(*a.largest)),
                                a.largest->bounds()->low));
  f.conclusion = fmt::format("{}", fmt::join(parts, "; "));
  if (a.lost.steps > 0 || skips_often(a.skipped.steps, run.steps().size())) f.grade = finding_grade::notable;
  // Of steps that are only assumed nothing follows of how many came in a row.
  if (a.longest.steps > 1 && a.marked == 0)
    f.evidence.push_back(fmt::format(
        "longest in a row: {}{}{}", a.open > 0 ? "at least " : "", stretch_text(a.longest),
        a.ends_overflowing && a.longest.last == run.steps().back().key.step ? ", with which the log ends" : ""));
  if (a.largest != nullptr) {
    const double least = a.largest->bounds()->low;
    f.evidence.push_back(fmt::format(
        "step {}: in float16 magnitudes from {:.6g} on overflow, so without the scale {} a gradient was >= {:.6g}, "
        "infinite or NaN",
        a.largest->key.step, float16_overflows_at, scale_text(scale_of(*a.largest)), least));
    if (least >= float16_overflows_at)
      f.evidence.emplace_back("that is beyond float16 without any scale: no loss scale of 1 or more helps");
  }
  if (a.smallest != nullptr)
    f.evidence.push_back(fmt::format("step {}: applied, so its gradients were below {:.6g}", a.smallest->key.step,
                                     a.smallest->bounds()->high));
  if (a.open > 0) f.evidence.push_back(fmt::format("the log leaves open whether {} overflowed", steps_text(a.open)));
  if (a.marked > 0)
    f.evidence.push_back(fmt::format("marked ~: {}, by the order of lines or as the first of an interval",
                                     count_text(a.marked, "overflow")));
  f.limits =
      "An overflow says that some value was too large or NaN, not where: in the forward pass, no scale cures it. The "
      "log holds no gradients, so what underflows is not known.";
  f.numbers = {{"steps", integer(run.steps().size())},
               {"skipped", numbers_of(a.skipped)},
               {"not_finite", numbers_of(a.lost)},
               {"longest_in_a_row", a.marked == 0 ? numbers_of(a.longest) : table_value{}},
               {"open", integer(a.open)},
               {"marked", integer(a.marked)},
               {"max_abs_at_least", a.largest == nullptr ? table_value{} : table_value{a.largest->bounds()->low}},
               {"max_abs_below", a.smallest == nullptr ? table_value{} : table_value{a.smallest->bounds()->high}}};
  return f;
}

}  // namespace ulp
