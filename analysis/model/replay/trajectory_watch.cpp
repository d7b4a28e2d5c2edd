#include <ulp/model/replay/trajectory_watch.hpp>

#include <algorithm>
#include <cmath>

#include <ulp/model/machines/policy_probe.hpp>

namespace ulp {
namespace {

// From here down 1 / scale is infinite in float32.
constexpr double infinite_inverse = 0x1p-128;
// So many NaN steps in a row are no accident.
constexpr std::uint64_t many_nans = 5;
// Of a scale during longest_search.
constexpr double deep_fall = 0x1p20;
// Halvings at the start: that of 2^16 is not taken for too high where 2^12 would do.
constexpr std::uint64_t long_search = 5;
constexpr std::uint64_t few_overflows_at_floor = 3;
constexpr std::uint64_t many_steps_at_floor = 1000;
constexpr std::uint64_t least_rows_of_a_run = 100;

std::string scale_text(double scale) {
  int exponent = 0;
  if (scale > 0 && std::isfinite(scale) && std::frexp(scale, &exponent) == 0.5 && std::abs(exponent - 1) > 3)
    return "2^" + std::to_string(exponent - 1);
  return to_string(parameter_value{scale});
}

std::string count(std::uint64_t n, const char* what) { return std::to_string(n) + " " + what + (n == 1 ? "" : "s"); }

std::string from(std::int64_t step) { return "from step " + std::to_string(step) + " on "; }

}  // namespace

void trajectory_watch::tally::add(const trajectory_row& row) {
  if (rows++ == 0) first_step = row.key.step;
}

void trajectory_watch::streak::extend(const trajectory_row& row) {
  if (rows++ == 0) {
    first_step = row.key.step;
    first_scale = row.scale_used;
    all_nan = true;
    all_certain = true;
    has_fitting = true;
  }
  last_step = row.key.step;
  last_scale = row.scale_used;
  all_nan = all_nan && row.recorded_nan;
  all_certain = all_certain && row.found_inf_certain;
  has_fitting = has_fitting && row.critical_scale > 0 && !row.at_every_scale;
  if (row.critical_scale > 0) least_critical = std::min(least_critical, row.critical_scale);
}

trajectory_watch::trajectory_watch(scaler start) : start_(std::move(start)), floor_(floor_of(start_)) {}

bool trajectory_watch::streak::beyond_scaling() const {
  return rows >= longest_search && first_scale >= deep_fall * last_scale && !has_fitting;
}

void trajectory_watch::add(const trajectory_row& row) {
  if (rows_++ == 0) first_scale_ = row.scale_used;
  as_recorded_ = as_recorded_ || row.as_recorded;
  overflowing_ += row.found_inf ? 1 : 0;
  if (row.critical_scale > 0) least_critical_ = std::min(least_critical_, row.critical_scale);
  if (row.skipped && !first_skip_) first_skip_ = row.key.step;
  raised_ = raised_ || !row.error.empty();
  if (row.scale_used > greatest_) {
    greatest_ = row.scale_used;
    at_greatest_ = {};
  }
  if (row.scale_used == greatest_) at_greatest_.add(row);

  last_scale_ = row.scale_next;
  if (std::isnan(row.scale_next)) nan_.add(row);
  if (row.poisoned) poisoned_.add(row);
  if (row.scale_next == 0) zero_.add(row);
  if (std::isinf(row.scale_next)) infinite_.add(row);
  if (row.scale_next > 0 && row.scale_next <= infinite_inverse) {
    least_tiny_ = tiny_.rows == 0 ? row.scale_next : std::min(least_tiny_, row.scale_next);
    tiny_.add(row);
  }
  // What was infinite when it was recorded at a higher scale need not be at this one.
  if (row.found_inf && row.found_inf_certain && !row.at_every_scale && row.scale_used < 1) below_one_.add(row);
  if (floor_ > 0 && row.scale_used <= floor_) {
    at_floor_.add(row);
    if (row.found_inf && !row.at_every_scale) overflows_at_floor_.add(row);
  }

  const auto follow = [&](streak& now, bool goes_on, std::optional<streak>& longest, auto&& counts) {
    if (!goes_on) {
      now = {};
      return;
    }
    now.extend(row);
    if (counts(now) && (!longest || now.rows > longest->rows)) longest = now;
  };
  follow(nans_, row.skipped && row.recorded_nan && row.at_every_scale, longest_nans_,
         [](const streak& s) { return s.rows >= many_nans; });
  const bool goes_on = row.skipped && row.found_inf;
  if (goes_on && (rows_ == 1 || (first_ && first_->rows + 1 == rows_))) {
    if (!first_) first_.emplace();
    first_->extend(row);
  }
  follow(overflows_, goes_on, hopeless_, [](const streak& s) { return s.beyond_scaling(); });
}

bool trajectory_watch::can_grow_within_run() const {
  constexpr std::uint64_t patience = 2'000'000;
  return rows_ > patience || grows_back_within(start_, rows_);
}

std::optional<std::string> trajectory_watch::start_warning() const {
  if (!first_ || first_->rows < long_search || !first_->has_fitting || as_recorded_) return std::nullopt;
  const bool is_known = std::isfinite(first_->least_critical);
  return "the initial scale " + scale_text(first_->first_scale) + " is too high: " + count(first_->rows, "step") +
         " (steps " + std::to_string(first_->first_step) + " to " + std::to_string(first_->last_step) +
         ") are lost until it has fallen" +
         (is_known ? ". Start at " + scale_text(std::ldexp(1.0, std::ilogb(first_->least_critical))) +
                         ", the largest power of two at which none of them overflows"
                   : " far enough. Start lower");
}

// Values that were recorded under a scale, and are scaled once more.
std::string trajectory_watch::factor_warning() const {
  std::string line =
      "the factor of the recorded values is not known, and at the scales of this replay they overflow in " +
      count(overflowing_, "step") + ": they may have been recorded under a loss scale";
  if (std::isfinite(least_critical_) && least_critical_ > 0 && first_scale_ > least_critical_)
    line += ". A factor of " + scale_text(std::exp2(std::ceil(std::log2(first_scale_ / least_critical_)))) +
            " or more would explain it";
  return line + ": give --factor, or the logged scale with --scalars FILE --factor scale; --factor 1 if they were not";
}

std::vector<std::string> trajectory_watch::warnings() const {
  std::vector<std::string> all;
  if (zero_.rows > 0 && last_scale_ == 0)
    all.push_back(from(zero_.first_step) +
                  "the scale is 0 and never recovers: 0 times any factor is 0, and gradients divided by it are NaN. "
                  "Find what overflowed before that, then restart from a scale above 0 with a policy that has a floor");
  if (infinite_.rows > 0 && std::isinf(last_scale_))
    all.push_back(from(infinite_.first_step) +
                  "the scale is infinite and never recovers: infinity times any factor is infinite, and every gradient "
                  "overflows. Set a ceiling, or choose a policy that keeps the scale in float32");
  if (nan_.rows > 0)
    all.push_back(from(nan_.first_step) +
                  "the scale is NaN and makes every gradient NaN: the policy computed it from a gradient that is zero, "
                  "infinite or NaN. Find that step, and choose a policy that does not follow statistics");
  if (tiny_.rows > 0 && zero_.rows == 0)
    all.push_back(from(tiny_.first_step) + "the scale is as low as " + scale_text(least_tiny_) +
                  ": from 2^-128 down its inverse is infinite in float32, so unscaling itself produces infinities. "
                  "Find what overflowed before that, then restart with a policy that has a floor");

  const bool nans = longest_nans_.has_value();
  if (nans)
    all.push_back(
        count(longest_nans_->rows, "step") + " in a row are skipped because their gradients hold NaN (steps " +
        std::to_string(longest_nans_->first_step) + " to " + std::to_string(longest_nans_->last_step) +
        "): NaN, not overflow, and scaling cannot help. Look for the first NaN of the forward pass, at step " +
        std::to_string(longest_nans_->first_step) + " or, if the loss was already lost before, at that step");
  const bool is_unexplained = hopeless_ && !(nans && hopeless_->all_nan);
  const bool hopeless = is_unexplained && !as_recorded_;
  const bool searches = first_ && first_->rows >= long_search;
  if (as_recorded_ && (is_unexplained || below_one_.rows > 0 || searches)) all.push_back(factor_warning());
  if (const std::optional<std::string> start = start_warning()) all.push_back(*start);
  if (hopeless)
    all.push_back(
        count(hopeless_->rows, "step") + " in a row overflow" + (hopeless_->all_certain ? "" : ", by estimate,") +
        " at every scale from " + scale_text(hopeless_->first_scale) + " down to " + scale_text(hopeless_->last_scale) +
        " (steps " + std::to_string(hopeless_->first_step) + " to " + std::to_string(hopeless_->last_step) +
        (hopeless_->all_certain ? "): that is " : "): if they do, that is ") +
        "NaN, or infinity in the forward pass, and scaling cannot help. Log the loss and the first layer that is not "
        "finite at step " +
        std::to_string(hopeless_->first_step));
  if (poisoned_.rows > 0)
    all.push_back(
        "infinities or NaN are applied in " + count(poisoned_.rows, "step") + ", first at step " +
        std::to_string(poisoned_.first_step) +
        ": the policy does not look for them, and the weights are NaN or infinite from there on. Choose one that skips, "
        "or a format and scale that do not overflow");
  if (below_one_.rows > 0 && !hopeless && !as_recorded_)
    all.push_back("overflow at a scale below one in " + count(below_one_.rows, "step") + ", first at step " +
                  std::to_string(below_one_.first_step) +
                  ": gradients that overflow unscaled come from a forward pass that overflows. Look for the largest "
                  "activations, keep that layer in float32 or bfloat16, or lower the learning rate");
  const std::string at_floor = scale_text(floor_) + ", the least scale of the policy";
  if (overflows_at_floor_.rows >= few_overflows_at_floor)
    all.push_back("pinned at the floor: overflow in " + count(overflows_at_floor_.rows, "step") + " at " + at_floor +
                  ", first at step " + std::to_string(overflows_at_floor_.first_step) +
                  (floor_ > 1
                       ? ". Lower the floor or the scale where that is a parameter, or choose another policy"
                       : ": NaN, or gradients that overflow unscaled. Look at the loss and the forward pass there "
                         "first; a lower floor helps against neither NaN nor infinity in the forward pass"));
  else if (at_floor_.rows >= many_steps_at_floor && floor_ < greatest_)
    all.push_back(
        "pinned at the floor: " + count(at_floor_.rows, "step") + " of " + std::to_string(rows_) + " are at " +
        at_floor + ", where small gradients are lost. Shorten the growth interval" +
        (first_skip_ ? ", or find out what overflowed from step " + std::to_string(*first_skip_) + " on" : ""));

  const bool rides =
      rows_ >= least_rows_of_a_run && at_greatest_.rows * 2 >= rows_ && floor_ < greatest_ && std::isfinite(greatest_);
  const bool falls = first_skip_ && !raised_;
  constexpr std::uint64_t longest = 1'000'000;
  if ((rides || falls) && !grows_back_within(start_, longest)) {
    if (falls)
      all.push_back(
          "the scale does not grow back: a million good steps in a row do not raise it with these parameters, so that "
          "what overflows take from it stays lost. A growth interval of 0 or less never comes: set it above 0");
    return all;
  }
  if (rides) {
    const std::optional<double> ceiling = ceiling_of(start_);
    if (ceiling && greatest_ >= *ceiling)
      all.push_back("rides at the ceiling: " + count(at_greatest_.rows, "step") + " of " + std::to_string(rows_) +
                    " are at " + scale_text(greatest_) +
                    ", the largest scale of the policy. If gradients underflow there, raise the ceiling");
  }
  if (falls && !can_grow_within_run())
    all.push_back(
        "the run is too short for its policy: " + count(rows_, "good step") +
        " in a row would not make the scale grow back after an overflow, so here it can only fall. In a longer run it grows "
        "where so many good steps come in a row; a shorter growth interval needs fewer");
  return all;
}

}  // namespace ulp
