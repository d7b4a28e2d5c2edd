#include <ulp/model/diagnosis.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

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

class examination {
 public:
  examination(const survey& run, const std::vector<tensor_info>& tensors) : run_(run), tensors_(tensors) {
    for (std::size_t i = 0; i < run.steps().size(); ++i)
      if (tells(run.steps()[i])) told_.push_back(i);
    for (const std::size_t i : told_) steps_.push_back(run.steps()[i]);
    places_ = lost_places_of(steps_);
    for (const step_survey& s : steps_) {
      const double scale = scale_of(s);
      has_scaler_ = has_scaler_ || s.found_inf || (!std::isnan(scale) && scale != 1) || s.rounded_to;
      if (std::isnan(scale)) continue;
      is_constant_ = std::isnan(scale_) || (is_constant_ && scale == scale_);
      scale_ = scale;
    }
  }

  diagnosis result();

 private:
  void see_place(const lost_place& place);
  void see_end(const lost_end& end);
  void add_unhandled(const lost_place& place);
  [[nodiscard]] bool is_applied(const lost_place& place) const;
  [[nodiscard]] forward_overflow forward_of(std::size_t first, std::size_t last, std::size_t lost, std::size_t losses,
                                            bool has_infinities) const;
  void see_search(const high_initial_scale& search, bool starts_the_run);
  [[nodiscard]] bool judge_lost_losses(const std::optional<lost_end>& end, std::size_t alive);
  [[nodiscard]] std::optional<found_divergence> diverged_before(std::size_t end) const;
  [[nodiscard]] std::optional<loss_overflow> lost_losses_before(std::size_t end) const;
  [[nodiscard]] bool is_nan_source(const lost_place& place) const;
  [[nodiscard]] bool is_nan_alone(const lost_place& place) const;
  // nullptr where that was not kept. `step`: an index of steps_.
  [[nodiscard]] const first_lost* lost_at(std::size_t step) const {
    const auto& all = run_.lost_places();
    const auto at = std::ranges::find(all, told_[step], &first_lost::step);
    return at == all.end() ? nullptr : &*at;
  }

  const survey& run_;
  const std::vector<tensor_info>& tensors_;
  std::vector<std::size_t> told_;   // indices of the run's steps that tell something
  std::vector<step_survey> steps_;  // these
  std::vector<lost_place> places_;
  bool has_scaler_ = false;
  bool is_constant_ = false;  // the scale, wherever it is known
  double scale_ = not_known;  // the last one
  std::optional<high_initial_scale> initial_;
  std::optional<high_initial_scale> jump_;  // the longest after one
  bad_batches bad_;                         // that stand far from the scale
  bad_batches bad_loss_;                    // whose loss is lost
  std::vector<std::int64_t> nan_alone_;     // steps where nothing tells more
  std::optional<unhandled_overflow> unhandled_;
  handled_overflow handled_;
  std::uint64_t held_ = 0;  // of these, at a scale that is the same throughout
  std::optional<forward_overflow> forward_;
  std::optional<open_overflow> open_;
  std::optional<nan_source> nan_;
};

bool examination::is_nan_source(const lost_place& place) const {
  const first_lost* const first = lost_at(place.first);
  if (first == nullptr || place.has_infinities || first->with_nan.empty()) return false;
  // The loss may be lost after it: NaN that is applied reaches everything.
  const step_survey& s = steps_[place.first];
  return s.lost < s.tensors && !s.loss_is_lost;
}

// NaN in all tensors and no infinity, which gradients that grow too large would leave.
bool examination::is_nan_alone(const lost_place& place) const {
  const step_survey& s = steps_[place.first];
  return place.length() == 1 && s.tensors > 1 && s.with_nan == s.tensors && s.with_infinities == 0;
}

void examination::see_search(const high_initial_scale& search, bool starts_the_run) {
  std::optional<high_initial_scale>& kept = starts_the_run ? initial_ : jump_;
  if (!kept || search.skipped.steps > kept->skipped.steps) kept = search;
}

void examination::see_place(const lost_place& place) {
  constexpr std::size_t few = 5;
  constexpr std::size_t short_place = 3;
  const bool goes_on = place.last + 1 < steps_.size();
  const step_span span = span_of(steps_, place);
  const double scale = scale_of(steps_[place.first]);
  const bool is_nan = is_nan_source(place);
  const auto search = goes_on && !is_nan ? search_of(steps_, place) : std::nullopt;
  const auto numbers = [&](std::vector<std::int64_t>& into) {
    for (std::size_t i = place.first; i <= place.last; ++i) into.push_back(steps_[i].key.step);
  };
  if (search) {
    see_search(*search, place.first == 0);
  } else if (place.length() >= few && is_nan) {
    if (nan_) return;
    nan_ = source_of(run_, tensors_, *lost_at(place.first));
    nan_->lost = span;
  } else if (goes_on && place.losses > 0 && place.length() > short_place) {
    if (forward_) return;
    forward_ = forward_of(place.first, place.last, place.length(), place.losses, place.has_infinities);
  } else if (goes_on && place.losses > 0) {
    numbers(bad_loss_.steps);
  } else if (goes_on && is_batch(steps_, place)) {
    numbers(bad_.steps);
  } else if (goes_on && is_nan_alone(place)) {
    numbers(nan_alone_);
  } else if (!has_scaler_ || is_applied(place) || (is_constant_ && place.length() >= few)) {
    add_unhandled(place);
  } else if (!goes_on && !(place.length() <= short_place && place.first >= 10 && scale >= 1)) {
    open_ = {span, place.first == 0, scale, scale_of(steps_[place.last])};
  } else {
    if (handled_.places++ == 0) handled_.skipped.first = span.first;
    handled_.skipped.last = span.last;
    handled_.skipped.steps += span.steps;
    handled_.longest = std::max<std::uint64_t>(handled_.longest, span.steps);
    if (!goes_on) handled_.at_end = span.steps;
    if (goes_on && !(scale_of(steps_[place.last + 1]) < scale)) handled_.fell = false;
    held_ += goes_on && is_constant_ ? span.steps : 0;
  }
}

bool examination::is_applied(const lost_place& place) const {
  for (std::size_t i = place.first; i <= place.last; ++i)
    if (steps_[i].applied.value_or(false)) return true;
  return false;
}

void examination::add_unhandled(const lost_place& place) {
  const step_span span = span_of(steps_, place);
  if (!unhandled_) unhandled_ = unhandled_overflow{.lost = {span.first, span.last, 0}, .has_scaler = has_scaler_};
  unhandled_->lost.last = span.last;
  unhandled_->lost.steps += span.steps;
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

void examination::see_end(const lost_end& end) {
  if (is_nan_source(places_.back())) {
    nan_ = source_of(run_, tensors_, *lost_at(places_.back().first));
    nan_->lost = span_of(steps_, places_.back());
    nan_->ends_the_run = true;
    return;
  }
  // What was applied just before explains the rest.
  const lost_place& last = places_.back();
  if (last.first < end.first && is_applied(last)) {
    unhandled_.reset();
    add_unhandled(last);
    return;
  }
  std::vector<std::int64_t> before;
  if (forward_) before.push_back(forward_->lost.first);
  forward_ = forward_of(end.first, steps_.size() - 1, end.lost, end.losses, end.has_infinities);
  forward_->before = std::move(before);
}

// Losses that are lost again and again are no single batches. Returns whether the end of the run is one more of them.
bool examination::judge_lost_losses(const std::optional<lost_end>& end, std::size_t alive) {
  constexpr std::size_t many = 10;
  constexpr std::size_t few = 3;
  const bool comes_again = end && end->losses > 0 && end->lost <= few && bad_loss_.steps.size() > many;
  if (comes_again) {
    bad_loss_.steps.push_back(forward_->lost.last);
    forward_.reset();
  }
  if (bad_loss_.steps.empty()) std::swap(bad_loss_.steps, nan_alone_);
  bad_loss_.loss_is_lost = std::ranges::any_of(places_, [](const lost_place& p) { return p.losses > 0; });
  if (bad_loss_.steps.size() > std::max(many, alive / 100) && !forward_)
    forward_ = forward_overflow{.lost = {bad_loss_.steps.front(), bad_loss_.steps.back(), bad_loss_.steps.size()},
                                .losses_lost = bad_loss_.steps.size(),
                                .has_scaler = has_scaler_};
  else if (forward_)
    forward_->before.insert(forward_->before.end(), bad_loss_.steps.begin(), bad_loss_.steps.end());
  if (forward_) bad_loss_.steps.clear();
  return comes_again;
}

std::optional<found_divergence> examination::diverged_before(std::size_t end) const {
  if (auto found = divergence_of(steps_, end)) return found;
  std::optional<found_divergence> peak = peak_of(steps_, end);
  if (!peak) return std::nullopt;
  // Gradients that come down again say nothing; with the loss above where it was, or units dead, they do.
  constexpr double far_above = 1.5;
  double highest = 0;
  for (std::size_t i = 0; i < peak->onset; ++i)
    if (std::isfinite(steps_[i].loss)) highest = std::max(highest, steps_[i].loss);
  const bool is_thrown_back = highest > 0 && peak->what.loss_after > far_above * highest;
  const bool has_loss = !std::isnan(peak->what.loss_after) && !std::isnan(peak->what.loss_before);
  const bool left_zeros = units_die_at(run_, tensors_, steps_[peak->onset].key.step);
  return is_thrown_back || (!has_loss && left_zeros) ? peak : std::nullopt;
}

// Infinite, while every gradient is finite.
std::optional<loss_overflow> examination::lost_losses_before(std::size_t end) const {
  loss_overflow all;
  for (std::size_t i = 0; i < end; ++i) {
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
  const std::optional<lost_end> end = lost_end_of(steps_, places_);
  const bool begins_with_nan = end && is_nan_source(places_.back());
  const std::size_t alive = begins_with_nan ? places_.back().first : end ? end->first : steps_.size();
  for (const lost_place& place : places_)
    if (place.first < alive) see_place(place);
  if (end) see_end(*end);
  const bool goes_on = judge_lost_losses(end, alive);
  // Hysteresis may hold a scale once; one that is held again and again is constant.
  constexpr std::uint64_t once = 2;
  if (held_ > once) {
    if (!unhandled_)
      unhandled_ = unhandled_overflow{.lost = handled_.skipped, .has_scaler = true, .scale = scale_};
    else
      unhandled_->lost = together(unhandled_->lost, handled_.skipped);
    handled_ = {};
  }
  const std::optional<scale_at_floor> high_floor = end ? std::nullopt : high_floor_of(steps_);
  if (high_floor) {
    initial_.reset();
    open_.reset();
    unhandled_.reset();
    handled_ = {};
  }

  const std::optional<found_divergence> diverged = diverged_before(alive);
  const std::size_t healthy = diverged ? diverged->onset : alive;
  if (diverged)
    d.died_at = diverged->what.growing.first;
  else if (end && !goes_on)
    d.died_at = steps_[alive].key.step;
  const std::optional<bad_batches> ruin = diverged ? ruinous_batch_of(steps_, *diverged, alive) : std::nullopt;
  const auto add = [&](const auto& found) {
    if (found) d.causes.emplace_back(*found);
  };
  if (ruin)
    d.causes.emplace_back(*ruin);
  else if (diverged)
    d.causes.emplace_back(diverged->what);
  add(initial_);
  add(jump_);
  for (bad_batches bad : {bad_loss_, bad_, outliers_of(steps_, healthy)}) {
    if (diverged) std::erase_if(bad.steps, [&](std::int64_t step) { return step >= *d.died_at; });
    if (bad.steps.empty()) continue;
    if (bad.ends_the_run && !d.died_at) d.died_at = bad.steps.front();
    d.causes.emplace_back(std::move(bad));
  }
  const std::int64_t last = healthy == 0 ? std::numeric_limits<std::int64_t>::min() : steps_[healthy - 1].key.step;
  const std::optional<vanished_in_depth> depth = vanished_in_depth_of(run_, tensors_, last);
  const std::optional<underflow_before_recording> underflow =
      depth || end || forward_ || nan_ || unhandled_ ? std::nullopt : underflow_before_recording_of(run_, tensors_);
  // What comes after a divergence is its consequence.
  if (!diverged) {
    add(forward_);
    add(lost_losses_before(alive));
    add(open_);
    add(unhandled_);
    add(nan_);
    const std::optional<zero_gradients> zero = end ? std::nullopt : zero_gradients_of(steps_);
    add(zero);
    add(underflow);
    if (!zero && !underflow) add(vanished_in_time_of(run_, tensors_, last));
  }
  add(depth);
  add(high_floor);
  if (!end && !diverged && !high_floor) add(floor_of(steps_, initial_ ? places_.front().last + 1 : 0));
  if (!depth && !underflow) add(dead_tensors_of(run_, tensors_, last));
  if (handled_.places > 0) d.causes.emplace_back(handled_);
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
