#include <ulp/model/causes/diagnosis.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "batches.hpp"
#include "divergence.hpp"
#include "loss_scales.hpp"
#include "places.hpp"
#include "vanishing.hpp"
#include "zeros.hpp"

namespace ulp {
namespace {

step_span span_of(const std::vector<step_survey>& steps, const lost_place& place) {
  return {steps[place.first].key.step, steps[place.last].key.step, place.length()};
}

step_span together(const step_span& a, const step_span& b) {
  return {std::min(a.first, b.first), std::max(a.last, b.last), a.steps + b.steps};
}

// The last weight gradient with NaN in the order of the model, and the next one, which is finite.
nan_source source_of(const survey& run, const std::vector<tensor_info>& tensors, const first_lost& lost) {
  nan_source n;
  n.with_nan = static_cast<std::uint32_t>(lost.with_nan.size());
  n.tensors = run.steps()[lost.step].tensors;
  const auto is_weight = [&](std::uint32_t i) { return tensors[i].kind != tensor_kind::activation_grad; };
  n.tensor = lost.with_nan.back();
  for (const std::uint32_t i : lost.with_nan)
    if (is_weight(i)) n.tensor = i;
  for (std::uint32_t i = n.tensor + 1; i < tensors.size() && !n.neighbour; ++i)
    if (tensors[i].kind == tensors[n.tensor].kind && run.tensors()[i].steps > 0) n.neighbour = i;
  return n;
}

// Whether a format needs a loss scale.
bool is_narrow(const std::optional<format>& to) {
  constexpr int of_float32 = 8;
  return to && to->exponent_bits < of_float32;
}

std::vector<std::size_t> told_by(const std::vector<step_survey>& steps) {
  std::vector<std::size_t> told;
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (tells(steps[i])) told.push_back(i);
  return told;
}

// What the run is looked at for, and what was found. Where it died is settled first; everything else is asked of the steps
// before that.
class examination {
 public:
  examination(const survey& run, const std::vector<tensor_info>& tensors)
      : run_(run), tensors_(tensors), told_(told_by(run.steps())) {
    if (told_.size() < run.steps().size()) {
      for (const std::size_t i : told_) chosen_.push_back(run.steps()[i]);
    }
    places_ = lost_places_of(steps_);
    for (const step_survey& s : steps_) {
      has_losses_ = has_losses_ || std::isfinite(s.loss);
      const double scale = scale_of(s);
      has_scaler_ = has_scaler_ || s.found_inf || (!std::isnan(scale) && scale != 1) || is_narrow(s.rounded_to);
      // Which of several steps overflowed, and so at which scale, is not told.
      is_placed_ = is_placed_ && !(is_lost(s) && !s.bound_is_certain);
      if (std::isnan(scale)) continue;
      is_constant_ = std::isnan(scale_) || (is_constant_ && scale == scale_);
      scale_ = scale;
    }
  }

  diagnosis result();

 private:
  void find_death();
  void see_places();
  void see_place(const lost_place& place, bool goes_on);
  void see_search(const high_initial_scale& search, bool starts_the_run);
  void see_handled(const step_span& span);
  void see_end();
  void judge_batches();
  void judge_scaler();
  void add_unhandled(const lost_place& place);
  [[nodiscard]] bool is_applied(const lost_place& place) const;
  [[nodiscard]] forward_overflow forward_of(std::size_t first, std::size_t last, std::size_t lost, std::size_t losses,
                                            bool has_infinities) const;
  [[nodiscard]] std::optional<found_divergence> diverged_before(std::size_t end) const;
  [[nodiscard]] std::optional<loss_overflow> lost_losses() const;
  // The index of the step where NaN begins in some tensors, without any infinity from there on.
  [[nodiscard]] std::optional<std::size_t> nan_source_at(const lost_place& place) const;
  [[nodiscard]] bool is_nan_alone(const lost_place& place) const;
  [[nodiscard]] bool is_thrown_back() const noexcept { return diverged_ || ruin_; }
  // nullptr where that was not kept. `step`: an index of steps_.
  [[nodiscard]] const first_lost* lost_at(std::size_t step) const {
    const auto& all = run_.lost_places();
    const auto at = std::ranges::find(all, told_[step], &first_lost::step);
    return at == all.end() ? nullptr : &*at;
  }

  const survey& run_;
  const std::vector<tensor_info>& tensors_;
  std::vector<std::size_t> told_;    // indices of the run's steps that tell something
  std::vector<step_survey> chosen_;  // these, where they are not all
  const std::vector<step_survey>& steps_ = told_.size() < run_.steps().size() ? chosen_ : run_.steps();
  std::vector<lost_place> places_;
  bool has_losses_ = false;  // finite ones
  bool has_scaler_ = false;
  bool is_placed_ = true;     // what overflowed
  bool is_constant_ = false;  // the scale, wherever it is known
  double scale_ = not_known;  // the last one
  // How it died, and the index up to which it was healthy.
  std::optional<lost_end> end_;
  std::optional<divergence> diverged_;
  std::optional<bad_batches> ruin_;
  std::size_t healthy_ = 0;
  bad_batches outliers_;
  // What was lost before that.
  std::optional<high_initial_scale> initial_;
  std::optional<high_initial_scale> jump_;  // the longest after one
  std::size_t searched_ = 0;                // the index after the last search
  bad_batches bad_;                         // that stand far from the scale
  bad_batches bad_loss_;                    // whose loss is lost
  bad_batches bad_nan_;                     // of which NaN in all tensors is all that is known
  std::optional<unhandled_overflow> unhandled_;
  handled_overflow handled_;
  std::uint64_t held_ = 0;  // of these, at a scale that is the same throughout
  std::optional<forward_overflow> forward_;
  std::optional<open_overflow> open_;
  std::optional<nan_source> nan_;
};

std::optional<std::size_t> examination::nan_source_at(const lost_place& place) const {
  // Ordinary overflow may come just before it.
  std::size_t first = place.last + 1;
  while (first > place.first && steps_[first - 1].with_infinities == 0 && !std::isinf(steps_[first - 1].max_abs))
    --first;
  constexpr std::size_t few = 5;
  if (first > place.last || (first > place.first && place.last - first + 1 < few)) return std::nullopt;
  const first_lost* const found = lost_at(first);
  if (found == nullptr || found->with_nan.empty()) return std::nullopt;
  // The loss may be lost after it: NaN that is applied reaches everything.
  const step_survey& s = steps_[first];
  return s.lost < s.tensors && !s.loss_is_lost ? std::optional{first} : std::nullopt;
}

// NaN in all tensors and no infinity, which gradients that grow too large would leave.
bool examination::is_nan_alone(const lost_place& place) const {
  const step_survey& s = steps_[place.first];
  return place.length() == 1 && s.tensors > 1 && s.with_nan == s.tensors && s.with_infinities == 0;
}

bool examination::is_applied(const lost_place& place) const {
  for (std::size_t i = place.first; i <= place.last; ++i)
    if (steps_[i].applied.value_or(false)) return true;
  return false;
}

std::optional<found_divergence> examination::diverged_before(std::size_t end) const {
  if (auto found = divergence_of(steps_, end)) return found;
  std::optional<found_divergence> peak = peak_of(steps_, end);
  if (!peak) return std::nullopt;
  // Gradients that come down again say nothing; with a loss that does not, or units that are dead, they do.
  if (has_losses_ ? stays_above_all_before(steps_, peak->onset, end)
                  : units_die_at(run_, tensors_, steps_[peak->onset].key.step))
    return peak;
  return std::nullopt;
}

void examination::find_death() {
  end_ = lost_end_of(steps_, places_);
  const auto nan = end_ ? nan_source_at(places_.back()) : std::nullopt;
  const std::size_t lost_from = !end_ ? steps_.size() : nan ? *nan : end_->first;
  const std::optional<found_divergence> found = diverged_before(lost_from);
  healthy_ = found ? found->onset : lost_from;
  if (found) diverged_ = found->what;
  if (const auto ruined = found ? ruinous_batch_of(steps_, *found, lost_from) : std::nullopt) {
    ruin_ = ruined->what;
    healthy_ = ruined->last;
  }
  const found_batches outliers = outliers_of(steps_, healthy_);
  if (outliers.what.ends_the_run) {
    ruin_ = outliers.what;
    healthy_ = outliers.last;
  } else {
    outliers_ = outliers.what;
  }
}

void examination::see_places() {
  for (lost_place place : places_) {
    if (place.first >= healthy_) break;
    const bool goes_on = place.last + 1 < steps_.size();
    if (place.last < healthy_) {
      see_place(place, goes_on);
      continue;
    }
    // Its end is what killed the run.
    place.last = healthy_ - 1;
    place.losses = 0;
    see_handled(span_of(steps_, place));
  }
}

void examination::see_search(const high_initial_scale& search, bool starts_the_run) {
  std::optional<high_initial_scale>& kept = starts_the_run ? initial_ : jump_;
  if (kept && search.skipped.steps <= kept->skipped.steps) return see_handled(search.skipped);
  if (kept) see_handled(kept->skipped);
  kept = search;
}

void examination::see_handled(const step_span& span) {
  if (handled_.places++ == 0) handled_.skipped = {span.first, span.last, 0};
  handled_.skipped = together(handled_.skipped, span);
  handled_.longest = std::max(handled_.longest, span.steps);
}

void examination::see_place(const lost_place& place, bool goes_on) {
  constexpr std::size_t few = 5;
  constexpr std::size_t short_place = 3;
  const step_span span = span_of(steps_, place);
  const double scale = scale_of(steps_[place.first]);
  const std::optional<std::size_t> nan = nan_source_at(place);
  const bool is_skipped = has_scaler_ && !is_applied(place);
  const auto search = goes_on && !nan ? search_of(steps_, place) : std::nullopt;
  const auto numbers = [&](std::vector<std::int64_t>& into) {
    for (std::size_t i = place.first; i <= place.last; ++i) into.push_back(steps_[i].key.step);
  };
  if (search) {
    see_search(*search, place.first == 0);
    searched_ = place.last + 1;
  } else if (place.length() >= few && nan) {
    if (nan_) return;
    nan_ = source_of(run_, tensors_, *lost_at(*nan));
    nan_->lost = span_of(steps_, {.first = *nan, .last = place.last});
  } else if (goes_on && has_losses_ && place.losses > 0 && place.length() > short_place) {
    const forward_overflow f = forward_of(place.first, place.last, place.length(), place.losses, place.has_infinities);
    if (!forward_) {
      forward_ = f;
      return;
    }
    forward_->lost = together(forward_->lost, f.lost);
    forward_->losses_lost += f.losses_lost;
    forward_->losses_finite += f.losses_finite;
  } else if (goes_on && has_losses_ && place.losses > 0) {
    numbers(bad_loss_.steps);
  } else if (goes_on && is_skipped && is_batch(steps_, place)) {
    numbers(bad_.steps);
  } else if (goes_on && is_skipped && is_nan_alone(place)) {
    numbers(bad_nan_.steps);
  } else if (!is_skipped || (is_constant_ && is_placed_ && place.length() >= few)) {
    add_unhandled(place);
  } else if (!goes_on && !(place.length() <= short_place && place.first >= 10 && scale >= 1)) {
    open_ = {span, place.first == 0, scale, scale_of(steps_[place.last])};
  } else {
    see_handled(span);
    if (!goes_on) handled_.at_end = span.steps;
    if (goes_on && !(scale_of(steps_[place.last + 1]) < scale)) handled_.fell = false;
    held_ += goes_on && is_constant_ && is_placed_ ? span.steps : 0;
  }
}

void examination::add_unhandled(const lost_place& place) {
  const step_span span = span_of(steps_, place);
  if (!unhandled_) unhandled_ = unhandled_overflow{.lost = {span.first, span.last, 0}, .has_scaler = has_scaler_};
  unhandled_->lost = together(unhandled_->lost, span);
  if (is_constant_) unhandled_->scale = scale_;
  unhandled_->ends_the_run = place.last + 1 == steps_.size();
  for (std::size_t i = place.first; i <= place.last; ++i)
    unhandled_->applied += steps_[i].applied.value_or(false) ? 1 : 0;
}

forward_overflow examination::forward_of(std::size_t first, std::size_t last, std::size_t lost, std::size_t losses,
                                         bool has_infinities) const {
  const step_survey& s = steps_[first];
  forward_overflow f{.lost = {s.key.step, steps_[last].key.step, lost},
                     .losses_lost = losses,
                     .starts_the_run = first == 0,
                     .ends_the_run = last + 1 == steps_.size(),
                     .first_was_applied = s.applied.value_or(false),
                     .has_scaler = has_scaler_,
                     .in_all_tensors = s.tensors > 0 && s.lost == s.tensors,
                     .has_infinities = has_infinities};
  for (std::size_t i = first; i <= last; ++i) {
    const double scale = scale_of(steps_[i]);
    if (!is_lost(steps_[i])) continue;
    f.losses_zero += steps_[i].loss == 0 ? 1 : 0;
    f.losses_finite += std::isfinite(steps_[i].loss) && steps_[i].loss != 0 ? 1 : 0;
    if (std::isnan(scale)) continue;
    f.first_scale = std::isnan(f.first_scale) ? scale : std::max(f.first_scale, scale);
    f.last_scale = std::isnan(f.last_scale) ? scale : std::min(f.last_scale, scale);
  }
  return f;
}

void examination::see_end() {
  const lost_place& last = places_.back();
  if (const auto nan = nan_source_at(last)) {
    nan_ = source_of(run_, tensors_, *lost_at(*nan));
    nan_->lost = span_of(steps_, {.first = *nan, .last = last.last});
    nan_->ends_the_run = true;
    return;
  }
  // What was applied just before explains the rest.
  if (last.first < end_->first && is_applied(last)) {
    unhandled_.reset();
    add_unhandled(last);
    return;
  }
  std::vector<std::int64_t> before;
  if (forward_) before.push_back(forward_->lost.first);
  forward_ = forward_of(end_->first, steps_.size() - 1, end_->lost, end_->losses, end_->has_infinities);
  forward_->before = std::move(before);
}

// Losses that are lost again and again are no single batches, and one more of them at the end is no death.
void examination::judge_batches() {
  constexpr std::size_t many = 10;
  constexpr std::size_t few = 3;
  bad_loss_.loss_is_lost = true;
  std::vector<std::int64_t>& single = bad_loss_.steps;
  const bool is_end_one = forward_ && forward_->ends_the_run && end_->losses > 0 && end_->lost <= few;
  if (is_end_one && single.size() > many) {
    for (std::size_t i = end_->first; i < steps_.size(); ++i)
      if (steps_[i].loss_is_lost) single.push_back(steps_[i].key.step);
    forward_.reset();
    end_.reset();
  }
  if (single.size() > std::max(many, healthy_ / 100) && !forward_) {
    forward_ = forward_overflow{.lost = {single.front(), single.back(), single.size()},
                                .losses_lost = single.size(),
                                .has_scaler = has_scaler_};
    single.clear();
  }
  if (!forward_) return;
  // The same, before it went on and on.
  for (bad_batches* const batches : {&bad_loss_, &bad_nan_}) {
    std::vector<std::int64_t>& before = forward_->before;
    std::ranges::copy_if(batches->steps, std::back_inserter(before),
                         [&](std::int64_t step) { return step < forward_->lost.first; });
    std::erase_if(batches->steps, [&](std::int64_t step) { return step < forward_->lost.first; });
  }
  std::ranges::sort(forward_->before);
}

// Whether what was skipped is what the scaler is there for.
void examination::judge_scaler() {
  handled_.is_placed = is_placed_;
  // What comes again and again as the scale falls is what it falls for, whatever the tensors that were recorded show.
  constexpr std::size_t several = 3;
  if (bad_.steps.size() >= several && handled_.places > bad_.steps.size()) {
    see_handled({bad_.steps.front(), bad_.steps.back(), bad_.steps.size()});
    bad_.steps.clear();
  }
  // Hysteresis may hold a scale once; one that is held again and again is constant.
  constexpr std::uint64_t once = 2;
  if (held_ > once) {
    const step_span lost = unhandled_ ? together(unhandled_->lost, handled_.skipped) : handled_.skipped;
    if (!unhandled_) unhandled_ = unhandled_overflow{.has_scaler = true, .scale = scale_};
    unhandled_->lost = lost;
    handled_ = {};
  }
}

// Infinite, while every gradient is finite.
std::optional<loss_overflow> examination::lost_losses() const {
  loss_overflow all;
  for (std::size_t i = 0; i < healthy_; ++i) {
    const step_survey& s = steps_[i];
    if (!std::isinf(s.loss) || is_lost(s) || s.tensors == 0) continue;
    if (all.lost.steps++ == 0) all.lost.first = s.key.step;
    all.lost.last = s.key.step;
  }
  return all.lost.steps > 0 ? std::optional{all} : std::nullopt;
}

diagnosis examination::result() {
  diagnosis d;
  d.told_steps = static_cast<std::uint64_t>(std::ranges::count_if(steps_, tells_of_overflow));
  if (steps_.empty()) return d;
  if (std::string why = run_.doubts().gravest(); !why.empty()) {
    d.causes.emplace_back(recorded_wrongly{std::move(why)});
    return d;
  }
  find_death();
  see_places();
  if (end_ && !is_thrown_back()) see_end();
  judge_batches();
  judge_scaler();
  const bool died = end_ || is_thrown_back();
  if (died && healthy_ < steps_.size()) d.died_at = steps_[healthy_].key.step;
  const std::int64_t last = healthy_ == 0 ? std::numeric_limits<std::int64_t>::min() : steps_[healthy_ - 1].key.step;
  const std::optional<scale_at_floor> high_floor = died ? std::nullopt : high_floor_of(steps_);
  if (high_floor) {
    initial_.reset();
    open_.reset();
    unhandled_.reset();
    handled_ = {};
  }
  const std::optional<zero_gradients> zero = died ? std::nullopt : zero_gradients_of(steps_);
  const std::optional<vanished_in_depth> depth = vanished_in_depth_of(run_, tensors_, last);
  const bool is_clear = !died && !depth && !forward_ && !nan_ && !unhandled_;
  const std::optional<underflow_before_recording> underflow =
      is_clear ? underflow_before_recording_of(run_, tensors_) : std::nullopt;

  const auto add = [&](const auto& found) {
    if (found) d.causes.emplace_back(*found);
  };
  const auto add_batches = [&](const bad_batches& bad) {
    if (!bad.steps.empty()) d.causes.emplace_back(bad);
  };
  if (ruin_)
    add(ruin_);
  else
    add(diverged_);
  add(initial_);
  add(jump_);
  add_batches(bad_loss_);
  add_batches(bad_);
  add_batches(bad_nan_);
  add_batches(outliers_);
  add(forward_);
  add(lost_losses());
  add(open_);
  add(unhandled_);
  add(nan_);
  add(zero);
  add(underflow);
  if (!is_thrown_back() && !zero && !underflow) add(vanished_in_time_of(run_, tensors_, last));
  add(depth);
  add(high_floor);
  if (!died && !high_floor) add(floor_of(steps_, searched_));
  if (!depth && !underflow) add(dead_tensors_of(run_, tensors_, last));
  if (handled_.places > 0) d.causes.emplace_back(handled_);
  if (!died) d.rise = lasting_rise_of(steps_);
  return d;
}

}  // namespace

std::string name_of(const cause& of) {
  constexpr std::array<const char*, std::variant_size_v<cause>> names{
      "recorded_wrongly",   "divergence",        "initial_scale",  "bad_batch",
      "gradient_overflow",  "forward_overflow",  "loss_overflow",  "open_overflow",
      "unhandled_overflow", "nan_source",        "zero_gradients", "underflow",
      "vanished",           "vanished_in_depth", "scale_at_floor", "dead_layer"};
  return names.at(of.index());
}

diagnosis diagnosis_of(const survey& run, const std::vector<tensor_info>& tensors) {
  if (run.steps().empty()) return {};
  return examination(run, tensors).result();
}

}  // namespace ulp
