#include "evidence.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>
#include <utility>

#include "initial_scale.hpp"
#include "scale_at_floor.hpp"
#include "vanished.hpp"

namespace ulp {
namespace {

constexpr std::size_t few = 5;
constexpr std::size_t short_place = 3;
constexpr std::size_t longest_hysteresis = 8;

step_span together(const step_span& a, const step_span& b) {
  return {std::min(a.first, b.first), std::max(a.last, b.last), a.steps + b.steps, a.is_assumed || b.is_assumed,
          a.is_within || b.is_within};
}

// Whether a format needs a loss scale.
bool is_narrow_format(const std::optional<format>& to) {
  constexpr int of_float32 = 8;
  return to && to->exponent_bits < of_float32;
}

// Where the loss was lost, the next finite one tells that it came back, whatever the scaler did.
std::vector<std::size_t> told_by(const std::vector<step_survey>& steps) {
  std::vector<std::size_t> told;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const bool was_lost = !told.empty() && has_lost_loss(steps[told.back()]);
    if (tells(steps[i]) || (was_lost && std::isfinite(steps[i].loss))) told.push_back(i);
  }
  return told;
}

}  // namespace

step_span evidence::span_of(const lost_place& place) const {
  step_span span{steps[place.first].key.step, steps[place.last].key.step, place.length()};
  const auto of_place = std::span(steps).subspan(place.first, place.length());
  span.is_assumed =
      std::ranges::any_of(of_place, [](const step_survey& s) { return s.found_inf == true && !s.bound_is_certain; });
  if (!span.is_assumed) return span;
  // The steps around, as far as it is not certain of them either that they did not.
  const std::vector<step_survey>& all = run.steps();
  std::size_t first = told_[place.first];
  std::size_t last = told_[place.last];
  while (first > 0 && !all[first - 1].bound_is_certain) --first;
  while (last + 1 < all.size() && !all[last + 1].bound_is_certain) ++last;
  if (last - first + 1 == all.size()) return span;  // that says nothing
  span.first = all[first].key.step;
  span.last = all[last].key.step;
  span.is_within = true;
  return span;
}

evidence::evidence(const survey& whole, const std::vector<tensor_info>& of)
    : run(whole), tensors(of), told_(told_by(whole.steps())) {
  if (told_.size() < run.steps().size())
    for (const std::size_t i : told_) chosen_.push_back(run.steps()[i]);
  places_ = lost_places_of(steps);
  bool is_dead = false;  // a scale of 0, or an infinite one
  for (const step_survey& s : steps) {
    has_losses_ = has_losses_ || std::isfinite(s.loss);
    const double scale = scale_of(s);
    const bool is_flag =
        s.found_inf && (s.tensors > 0 || (std::isnan(s.loss) && std::isnan(s.logged_norm) && !s.loss_is_lost));
    is_narrow = is_narrow || is_flag || (!std::isnan(scale) && scale != 1) || is_narrow_format(s.rounded_to);
    has_scaler = has_scaler || s.found_inf || (!std::isnan(scale) && scale != 1) || is_narrow_format(s.rounded_to);
    // Which of several steps overflowed, and so at which scale, is not told.
    is_placed_ = is_placed_ && !(is_lost(s) && !s.bound_is_certain);
    is_dead = is_dead || s.loss_scale == 0 || std::isinf(s.loss_scale);
    if (std::isnan(scale)) continue;
    is_constant_ = std::isnan(scale_) || (is_constant_ && scale == scale_);
    scale_ = scale;
  }
  is_constant_ = is_constant_ && !is_dead;
}

void evidence::look() {
  find_death();
  see_places();
  if (end_ && !is_thrown_back()) see_end();
  collapse = collapse_of(steps);
  is_scale_dead = is_lost_to_scale();
  judge_batches();
  judge_scaler();
  for (bad_batch* const batches : {&bad_loss, &bad_nan, &bad, &outliers})
    batches->period = period_of(batches->steps, steps);
  see_finite_norms();
  const bool may_go_on = forward && (forward->untold_after > 0 || forward->is_contradicted());
  // A scale that the run did not have killed nothing.
  const bool is_other = is_scale_dead && (collapse->is_alive || collapse->loss_moves);
  died = (end_ && !may_go_on && !is_other) || is_thrown_back();
  if (healthy > 0) last = steps[healthy - 1].key.step;
  depth = vanished_in_depth_of(run, tensors, last);
  high_floor = died ? std::nullopt : high_floor_of(steps);
  if (!high_floor) return;
  initial.reset();
  open.reset();
  unhandled.reset();
  handled = {};
}

std::optional<std::size_t> evidence::nan_source_at(const lost_place& place) const {
  // Ordinary overflow may come just before it.
  std::size_t first = place.last + 1;
  while (first > place.first && steps[first - 1].with_infinities == 0 && !std::isinf(steps[first - 1].max_abs)) --first;
  if (first > place.last || (first > place.first && place.last - first + 1 < few)) return std::nullopt;
  const first_lost* const found = lost_at(first);
  if (found == nullptr || found->with_nan.empty()) return std::nullopt;
  // The loss may be lost after it: NaN that is applied reaches everything.
  const step_survey& s = steps[first];
  return s.lost < s.tensors && !s.loss_is_lost ? std::optional{first} : std::nullopt;
}

// NaN in all tensors and no infinity, which gradients that grow too large would leave.
bool evidence::is_nan_alone(const lost_place& place) const {
  const step_survey& s = steps[place.first];
  return place.length() == 1 && s.tensors > 1 && s.with_nan == s.tensors && s.with_infinities == 0;
}

bool evidence::is_applied(const lost_place& place) const {
  for (std::size_t i = place.first; i <= place.last; ++i)
    if (steps[i].applied.value_or(false)) return true;
  return false;
}

std::optional<found_divergence> evidence::diverged_before(std::size_t end) const {
  if (auto found = divergence_of(steps, end)) return found;
  std::optional<found_divergence> peak = peak_of(steps, end);
  if (!peak) return std::nullopt;
  // Gradients that come down again say nothing; with a loss that does not, or units that are dead, they do.
  if (has_losses_ ? stays_above_all_before(steps, peak->onset, end)
                  : units_die_at(run, tensors, steps[peak->onset].key.step))
    return peak;
  return std::nullopt;
}

void evidence::find_death() {
  end_ = lost_end_of(steps, places_);
  const auto source = end_ ? nan_source_at(places_.back()) : std::nullopt;
  const std::size_t lost_from = !end_ ? steps.size() : source ? *source : end_->first;
  const std::optional<found_divergence> found = diverged_before(lost_from);
  healthy = found ? found->onset : lost_from;
  if (found) diverged = found->what;
  if (const auto ruined = found ? ruinous_batch_of(steps, *found, lost_from) : std::nullopt) {
    ruin = ruined->what;
    healthy = ruined->last;
  }
  // One step above all others, and no growth before it, is no divergence.
  const bool is_sudden = !found || found->onset + 1 >= lost_from;
  const bool is_open = end_ && end_->losses > 0 && is_sudden && !source && !is_ruinous(places_.back());
  outlier_before_ = is_open ? outlier_before(steps, lost_from) : std::nullopt;
  if (outlier_before_ && outlier_before_->is_alone && outlier_before_->at + 1 == lost_from) {
    diverged.reset();
    healthy = outlier_before_->at;
    ruin = bad_batch{.steps = {steps[healthy].key.step},
                     .is_finite = true,
                     .outlier = outlier_before_->times,
                     .ends_the_run = true,
                     .lost_at = steps[lost_from].key.step};
  }
  if (diverged) outlier_before_.reset();
  const found_batches far = outliers_of(steps, healthy);
  if (far.what.ends_the_run) {
    ruin = far.what;
    healthy = far.last;
  } else {
    outliers = far.what;
  }
}

void evidence::see_places() {
  for (std::size_t i = 0; i < places_.size(); ++i) {
    lost_place place = places_[i];
    if (place.first >= healthy) break;
    if (place.first < searched) continue;
    const bool goes_on = place.last + 1 < steps.size();
    const lost_place wide = with_assumed_after(steps, places_, i);
    if (wide.last > place.last && wide.last < healthy && is_search(wide)) continue;
    if (place.last < healthy) {
      see_place(place, goes_on);
      continue;
    }
    // Its end is what killed the run.
    place.last = healthy - 1;
    place.losses = 0;
    if (!end_ || is_thrown_back() || !is_ruinous(places_.back())) see_handled(span_of(place));
  }
}

void evidence::see_search(const initial_scale& search, bool starts_the_run) {
  std::optional<initial_scale>& kept = starts_the_run ? initial : jump;
  if (kept && search.skipped.steps <= kept->skipped.steps) return see_handled(search.skipped);
  if (kept) see_handled(kept->skipped);
  kept = search;
}

void evidence::see_handled(const step_span& span) {
  if (handled.places++ == 0) handled.skipped = {span.first, span.last, 0};
  handled.skipped = together(handled.skipped, span);
  handled.longest = std::max(handled.longest, span.steps);
}

void evidence::see_place(const lost_place& place, bool goes_on) {
  const bool is_seen = (goes_on && is_search(place)) || is_nan_source(place) || (goes_on && has_lost_losses(place)) ||
                       (goes_on && is_single_batch(place)) || is_unhandled(place) || (!goes_on && is_open(place));
  if (!is_seen) see_skipped(place, goes_on);
}

bool evidence::is_search(const lost_place& place) {
  const auto search = nan_source_at(place) ? std::nullopt : search_of(steps, place);
  if (!search) return false;
  see_search(*search, place.first == 0);
  searched = place.last + 1;
  return true;
}

bool evidence::is_nan_source(const lost_place& place) {
  const std::optional<std::size_t> first = nan_source_at(place);
  if (place.length() < few || !first) return false;
  if (!nan) {
    nan = nan_source_of(run, tensors, *lost_at(*first));
    nan->lost = span_of({.first = *first, .last = place.last});
  }
  return true;
}

// Several in a row are the forward pass, few a batch.
bool evidence::has_lost_losses(const lost_place& place) {
  if (!has_losses_ || place.losses == 0) return false;
  if (place.length() <= short_place) {
    add_steps(place, bad_loss);
    return true;
  }
  const forward_overflow f =
      forward_overflow_of(*this, place.first, place.last, place.length(), place.losses, place.has_infinities);
  if (!forward) {
    forward = f;
    return true;
  }
  forward->lost = together(forward->lost, f.lost);
  forward->losses_lost += f.losses_lost;
  forward->losses_finite += f.losses_finite;
  return true;
}

bool evidence::is_single_batch(const lost_place& place) {
  if (!is_skipped(place)) return false;
  const bool stands_alone = is_batch(steps, place);
  if (!stands_alone && !is_nan_alone(place)) return false;
  add_steps(place, stands_alone ? bad : bad_nan);
  return true;
}

bool evidence::is_unhandled(const lost_place& place) {
  if (is_skipped(place) && !(is_constant_ && is_placed_ && place.length() >= few)) return false;
  add_unhandled(place);
  return true;
}

// Steps follow of which nothing is told; a scale that went on falling would tell of them.
bool evidence::goes_on_untold(const lost_place& place) const {
  constexpr std::size_t several = 3;
  const bool may_fall = scale_of(steps[place.last]) >= 2 && place.length() <= short_place;
  return may_fall && run.steps().size() - told_[place.last] > several;
}

// Long enough, or early enough, that it may be more than a scaler at work; at the scale 1 no scaler is, unless the run
// went on after such a step before.
bool evidence::is_open(const lost_place& place) {
  constexpr std::size_t early = 10;
  if (goes_on_untold(place)) return false;
  const double scale = scale_of(steps[place.first]);
  const auto was_lost = [&](const step_survey& s) { return s.loss_scale == scale && is_lost(s); };
  const auto before = steps.begin() + static_cast<std::ptrdiff_t>(place.first);
  const bool may_help = scale > 1 || (scale == 1 && std::any_of(steps.begin(), before, was_lost));
  if (place.length() <= short_place && place.first >= early && may_help) return false;
  const bool at_one_scale =
      place.length() > short_place &&
      std::all_of(before, before + static_cast<std::ptrdiff_t>(place.length()),
                  [&](const step_survey& s) { return scale_of(s) == scale && !s.bound_is_certain; });
  open = {span_of(place), place.first == 0, scale, scale_of(steps[place.last]), at_one_scale};
  return true;
}

std::size_t evidence::held_of(const lost_place& place) const {
  const step_survey& next = steps[place.last + 1];
  const double scale = scale_of(next);
  std::size_t held = 0;
  const auto is_at_it = [&](const step_survey& s, std::int64_t after) {
    return s.bound_is_certain && scale_of(s) == scale && s.key.step == next.key.step - after;
  };
  if (!next.bound_is_certain || !is_placed_) return 0;
  while (held < place.length() && is_at_it(steps[place.last - held], static_cast<std::int64_t>(held) + 1)) ++held;
  return held > longest_hysteresis && held < place.length() ? held : 0;
}

void evidence::see_skipped(const lost_place& place, bool goes_on) {
  if (const std::size_t held = goes_on ? held_of(place) : 0; held > 0) {
    lost_place last = place;
    last.first = place.last + 1 - held;
    add_unhandled(last);
    unhandled->scale = scale_of(steps[place.last]);
    unhandled->is_held = true;
    lost_place before = place;
    before.last = last.first - 1;
    see_handled(span_of(before));
    return;
  }
  const step_span span = span_of(place);
  see_handled(span);
  if (!goes_on) {
    if (goes_on_untold(place))
      handled.fell = false;  // of what followed nothing is told
    else
      handled.at_end = span.steps;
    return;
  }
  // At the scale of the last of them the next step may be finite, too.
  const double after = scale_of(steps[place.last + 1]);
  if (!(after < scale_of(steps[place.first])) || after == scale_of(steps[place.last])) handled.fell = false;
  held_ += is_constant_ && is_placed_ ? span.steps : 0;
}

void evidence::add_steps(const lost_place& place, bad_batch& to) const {
  for (std::size_t i = place.first; i <= place.last; ++i) to.steps.push_back(steps[i].key.step);
}

void evidence::add_unhandled(const lost_place& place) {
  const step_span span = span_of(place);
  if (!unhandled) unhandled = unhandled_overflow{.lost = {span.first, span.last, 0}, .has_scaler = has_scaler};
  unhandled->lost = together(unhandled->lost, span);
  if (is_constant_) unhandled->scale = scale_;
  unhandled->ends_the_run = place.last + 1 == steps.size();
  for (std::size_t i = place.first; i <= place.last; ++i)
    unhandled->applied += steps[i].applied.value_or(false) ? 1 : 0;
}

void evidence::see_end() {
  const lost_place& ending = places_.back();
  if (const auto first = nan_source_at(ending)) {
    nan = nan_source_of(run, tensors, *lost_at(*first));
    nan->lost = span_of({.first = *first, .last = ending.last});
    nan->ends_the_run = true;
    return;
  }
  // What was applied just before explains the rest.
  const bool ruins = is_ruinous(ending);
  if (ending.first < end_->first && (is_applied(ending) || ruins)) {
    unhandled.reset();
    add_unhandled(ending);
    if (!ruins) return;
    unhandled->has_scaler = is_constant_ && scale_ != 1;
    unhandled->ruined_at = steps[end_->first - 1].key.step;
    unhandled->lost_from = steps[end_->first].key.step;
    return;
  }
  std::vector<std::int64_t> before;
  if (forward) before.push_back(forward->lost.first);
  forward = forward_overflow_of(*this, end_->first, steps.size() - 1, end_->lost, end_->losses, end_->has_infinities);
  forward->before = std::move(before);
  if (end_->losses > 0) see_rising_losses(*forward, steps, end_->first);
  if (outlier_before_) {
    forward->outlier_at = steps[outlier_before_->at].key.step;
    forward->outlier = outlier_before_->times;
    forward->outlier_is_alone = outlier_before_->is_alone;
  }
  forward->untold_after = run.steps().size() - told_.back() - 1;
  if (forward->untold_after > 0) forward->ends_the_run = false;
}

// Gradients that are not finite directly in front of a loss that is lost to the end, where nothing tells that a scaler skipped them: none
// is at work, or its scale stays where a hysteresis would not hold it.
bool evidence::is_ruinous(const lost_place& ending) const {
  const auto was_skipped = [](const step_survey& s) { return s.applied == false; };
  const bool never_moves = is_constant_ && !std::isnan(scale_of(steps.back())) && end_->lost > longest_hysteresis;
  const bool may_skip = !std::isnan(scale_) && !never_moves;
  if (ending.first == end_->first || end_->losses == 0 || may_skip || std::ranges::any_of(steps, was_skipped))
    return false;
  // Of an update that is not finite no loss comes back.
  const auto is_survived = [&](std::size_t i) {
    return is_lost(steps[i]) && std::isfinite(steps[i].loss) && std::isfinite(steps[i + 1].loss);
  };
  for (std::size_t i = 0; i + 1 < end_->first; ++i)
    if (is_survived(i)) return false;
  const step_survey& before = steps[end_->first - 1];
  return is_lost(before) && before.tensors == 0 && std::isfinite(before.loss);
}

// At a scale of 0 gradients are 0, and divided by it NaN; at an infinite one none is finite either.
bool evidence::is_lost_to_scale() const {
  if (!collapse || collapse->dead == 0 || places_.empty() || places_.back().last + 1 != steps.size()) return false;
  const auto is_dead = [&](std::size_t i) {
    const step_survey& s = steps[i];
    return std::isinf(s.loss_scale) || (s.loss_scale == 0 && !has_lost_loss(s));
  };
  return is_dead(places_.back().first) || (end_ && is_dead(end_->first));
}

// Losses that are lost again and again are no single batches, and one more of them at the end is no death.
void evidence::judge_batches() {
  constexpr std::size_t many = 10;
  constexpr std::size_t at_the_end = 3;
  bad_loss.loss_is_lost = true;
  std::vector<std::int64_t>& single = bad_loss.steps;
  const bool is_end_one = forward && forward->ends_the_run && end_->losses > 0 && end_->lost <= at_the_end;
  std::vector<std::int64_t> with_end = single;
  for (std::size_t i = is_end_one ? end_->first : steps.size(); i < steps.size(); ++i)
    if (has_lost_loss(steps[i])) with_end.push_back(steps[i].key.step);
  if (is_end_one && (single.size() > many || period_of(with_end, steps) > 0)) {
    single = std::move(with_end);
    forward.reset();
    end_.reset();
  }
  // What comes once in every pass over the data is of the data, however often.
  if (single.size() > std::max(many, healthy / 100) && period_of(single, steps) == 0 && !forward) {
    forward = forward_overflow{
        .lost = {single.front(), single.back(), single.size()}, .losses_lost = single.size(), .has_scaler = has_scaler};
    single.clear();
  }
  if (!forward) return;
  // The same, before it went on and on.
  for (bad_batch* const batches : {&bad_loss, &bad_nan}) {
    std::vector<std::int64_t>& before = forward->before;
    std::ranges::copy_if(batches->steps, std::back_inserter(before),
                         [&](std::int64_t step) { return step < forward->lost.first; });
    std::erase_if(batches->steps, [&](std::int64_t step) { return step < forward->lost.first; });
  }
  std::ranges::sort(forward->before);
}

void evidence::see_finite_norms() {
  for (const step_survey& s : steps) {
    if (!has_finite_norm(s)) continue;
    const std::int64_t step = s.key.step;
    if (std::ranges::binary_search(bad_loss.steps, step))
      ++bad_loss.finite_norms;
    else if (forward && forward->lost.first <= step && step <= forward->lost.last)
      ++forward->finite_norms;
  }
}

// Steps whose place is assumed are taken for the first of what their line tells of.
void evidence::see_how_it_may_end() {
  constexpr std::uint64_t several = 3;
  constexpr std::uint64_t many_of = 20;
  const auto is_assumed = [](const step_survey& s) { return !s.bound_is_certain; };
  std::size_t last = healthy;
  while (last > 0 && is_lost(steps[last - 1])) --last;
  const std::uint64_t at_end = healthy - last;
  while (last > 0 && is_assumed(steps[last - 1]) && !is_lost(steps[last - 1])) --last;
  std::size_t first = last;
  while (first > 0 && is_assumed(steps[first - 1]) && is_lost(steps[first - 1])) --first;
  const std::uint64_t lost = last - first, of = healthy - first;
  if (lost < several || lost * many_of < of || lost + at_end == of) return;
  handled.may_end = lost + at_end;
  handled.may_end_of = of;
}

void evidence::see_how_far_it_fell() {
  constexpr std::uint64_t several = 4;
  constexpr double far = 64;
  constexpr double least_of_use = 2;
  constexpr double from_high = 1024;
  double greatest = not_known;
  double last = not_known;
  double back = not_known;  // the greatest after the last
  for (std::size_t i = searched; i < healthy; ++i) {
    const double scale = scale_of(steps[i]);
    if (std::isnan(scale)) continue;
    if (!is_lost(steps[i])) {
      back = std::fmax(back, scale);
      continue;
    }
    greatest = std::fmax(greatest, scale);
    last = scale;
    back = not_known;
  }
  // In one go, too, where it ends at a scale that does nothing.
  const bool is_deep = last <= least_of_use && greatest >= from_high;
  if ((handled.places < several && !is_deep) || !(last * far <= greatest) || back > last) return;
  handled.fell_from = greatest;
  handled.fell_to = last;
  handled.stayed_there = back == last;
}

// Whether what was skipped is what the scaler is there for.
void evidence::judge_scaler() {
  handled.is_placed = is_placed_;
  see_how_it_may_end();
  handled.is_said = std::ranges::any_of(
      steps, [](const step_survey& s) { return is_lost(s) && (!std::isnan(scale_of(s)) || s.tensors > 0); });
  if (diverged)
    diverged->applied_lost = static_cast<std::uint64_t>(
        std::ranges::count_if(steps, [](const step_survey& s) { return is_lost(s) && s.applied.value_or(false); }));
  // What comes again and again as the scale falls is what it falls for, whatever the tensors that were recorded show.
  constexpr std::size_t several = 3;
  if (bad.steps.size() >= several && handled.places > bad.steps.size()) {
    see_handled({bad.steps.front(), bad.steps.back(), bad.steps.size()});
    bad.steps.clear();
  }
  // Hysteresis may hold a scale once; one that is held again and again is constant.
  constexpr std::uint64_t once = 2;
  if (held_ > once) {
    const step_span lost = unhandled ? together(unhandled->lost, handled.skipped) : handled.skipped;
    if (!unhandled) unhandled = unhandled_overflow{.has_scaler = true, .scale = scale_};
    unhandled->lost = lost;
    handled = {};
  }
  see_how_far_it_fell();
}

}  // namespace ulp
