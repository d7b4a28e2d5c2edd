#include <ulp/model/diagnosis.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <ulp/formats/catalog.hpp>

#include "divergence.hpp"
#include "places.hpp"
#include "vanishing.hpp"

namespace ulp {
namespace {

step_span span_of(const std::vector<step_survey>& steps, const lost_place& place) {
  return {steps[place.first].key.step, steps[place.last].key.step, place.length()};
}

// Whether what was lost stands alone, and would have fitted the scale by far by what the steps around it hold.
bool is_far_from_scale(const std::vector<step_survey>& steps, const lost_place& place) {
  constexpr double far = 64;
  constexpr std::size_t around = 5;
  const step_survey& lost = steps[place.first];
  if (!(lost.loss_scale > 0)) return false;
  const format& to = lost.rounded_to ? *lost.rounded_to : float16;
  const double limit = std::ldexp(1.0, to.emax() + 1);
  std::size_t seen = 0;
  const auto fits = [&](std::size_t i) {
    const step_survey& s = steps[i];
    if (is_lost(s)) return false;
    if (!s.known) return true;
    ++seen;
    return s.max_abs * lost.loss_scale * far < limit;
  };
  for (std::size_t i = place.first - std::min(place.first, around); i < place.first; ++i)
    if (!fits(i)) return false;
  for (std::size_t i = place.last + 1; i < std::min(place.last + 1 + around, steps.size()); ++i)
    if (!fits(i)) return false;
  return seen > 1;
}

using indexed_sizes = std::vector<std::pair<std::size_t, double>>;

// What 95 % of the hundred steps before and after one do not exceed.
double high_of(const indexed_sizes& sizes, std::size_t i) {
  constexpr std::size_t around = 100;
  std::vector<double> values;
  for (std::size_t j = i - std::min(i, around); j < std::min(i + around + 1, sizes.size()); ++j)
    if (j != i) values.push_back(sizes[j].second);
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(values.size() * 95 / 100);
  std::ranges::nth_element(values, at);
  return *at;
}

// Steps whose gradients are finite and far larger than those of the steps around them.
bad_batches outliers_of(const std::vector<step_survey>& steps, std::size_t end) {
  constexpr double far = 100;
  constexpr double beyond_spread = 30;
  constexpr std::size_t around = 5;
  const gradient_size of = size_kept(steps);
  indexed_sizes sizes;
  for (std::size_t i = 0; i < end; ++i)
    if (const double size = size_of(steps[i], of); !is_lost(steps[i]) && std::isfinite(size) && size > 0)
      sizes.emplace_back(i, size);
  bad_batches bad{.is_finite = true};
  for (std::size_t i = around; i + around < sizes.size(); ++i) {
    double largest = 0;
    for (std::size_t j = i - around; j <= i + around; ++j)
      if (j != i) largest = std::max(largest, sizes[j].second);
    const double times = sizes[i].second / largest;
    if (!(times >= far) || !(sizes[i].second >= beyond_spread * high_of(sizes, i))) continue;
    bad.steps.push_back(steps[sizes[i].first].key.step);
    bad.outlier = std::isnan(bad.outlier) ? times : std::max(bad.outlier, times);
  }
  // What comes again and again belongs to the data: sparse rewards, rare tokens.
  const std::size_t rare = std::max<std::size_t>(3, sizes.size() / 100);
  if (bad.steps.size() > rare) bad.steps.clear();
  return bad;
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

// From the index `begin` on.
std::optional<scale_at_floor> floor_of(const std::vector<step_survey>& steps, std::size_t begin) {
  constexpr double deep = 0x1p10;
  constexpr std::uint64_t few = 20;
  scale_at_floor f{.floor = std::numeric_limits<double>::infinity()};
  std::uint64_t finite = 0;
  double greatest = 0;
  double last = not_known;
  for (std::size_t i = begin; i < steps.size(); ++i) {
    const step_survey& s = steps[i];
    if (!(s.loss_scale > 0)) continue;
    last = s.loss_scale;
    greatest = std::max(greatest, s.loss_scale);
    if (s.loss_scale < f.floor) {
      f.floor = s.loss_scale;
      f.greatest = greatest;
      f.at_floor = {s.key.step, s.key.step, 0};
      finite = 0;
    }
    if (s.loss_scale > f.floor) continue;
    f.at_floor.last = s.key.step;
    ++f.at_floor.steps;
    finite += is_lost(s) ? 0 : 1;
  }
  constexpr double near = 4;  // it may try to rise
  const bool stays = f.at_floor.steps >= few && 10 * f.at_floor.steps >= steps.size() && last <= near * f.floor;
  if (!(f.greatest >= deep * f.floor) || !stays || finite == 0) return std::nullopt;
  return f;
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
      has_scaler_ = has_scaler_ || s.found_inf || (std::isfinite(scale) && scale != 1) || s.rounded_to;
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
  [[nodiscard]] bool is_search(const lost_place& place) const;
  [[nodiscard]] bool is_applied(const lost_place& place) const;
  [[nodiscard]] forward_overflow forward_of(std::size_t first, std::size_t last, std::size_t lost, std::size_t losses,
                                            bool has_infinities) const;
  [[nodiscard]] bool is_nan_source(const lost_place& place) const;
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
  bad_batches bad_;       // that stand far from the scale
  bad_batches bad_loss_;  // whose loss is lost
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

bool examination::is_search(const lost_place& place) const {
  constexpr std::size_t long_search = 5;
  constexpr std::int64_t early = 100;
  if (place.first != 0 || place.losses > 0 || place.length() < long_search || is_nan_source(place)) return false;
  const double first = scale_of(steps_.front());
  const double then = scale_of(steps_[place.last + 1]);
  const bool is_start = steps_.front().key.step <= early || first > 0x1p17;
  const bool falls = then < first || (std::isnan(then) && scale_of(steps_[place.last]) < first);
  const bool is_unlogged = std::isnan(first) && std::isnan(then) && steps_.front().found_inf;
  return is_start && (falls || is_unlogged);
}

void examination::see_place(const lost_place& place) {
  constexpr std::size_t few = 5;
  constexpr std::size_t short_place = 3;
  const bool goes_on = place.last + 1 < steps_.size();
  const step_span span = span_of(steps_, place);
  const double scale = scale_of(steps_[place.first]);
  const auto numbers = [&](std::vector<std::int64_t>& into) {
    for (std::size_t i = place.first; i <= place.last; ++i) into.push_back(steps_[i].key.step);
  };
  if (goes_on && is_search(place)) {
    initial_ = {span, scale, scale_of(steps_[place.last + 1])};
  } else if (place.length() >= few && is_nan_source(place)) {
    if (nan_) return;
    nan_ = source_of(run_, tensors_, *lost_at(place.first));
    nan_->lost = span;
  } else if (goes_on && place.losses > 0 && place.length() > short_place) {
    if (forward_) return;
    forward_ = forward_of(place.first, place.last, place.length(), place.losses, place.has_infinities);
  } else if (goes_on && place.losses > 0) {
    numbers(bad_loss_.steps);
  } else if (goes_on && place.length() <= short_place && is_far_from_scale(steps_, place)) {
    numbers(bad_.steps);
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
  for (std::size_t i = place.first; i <= place.last; ++i)
    unhandled_->applied += steps_[i].applied.value_or(false) ? 1 : 0;
}

forward_overflow examination::forward_of(std::size_t first, std::size_t last, std::size_t lost, std::size_t losses,
                                         bool has_infinities) const {
  const step_survey& s = steps_[first];
  forward_overflow f{.lost = {s.key.step, steps_[last].key.step, lost},
                     .losses_lost = losses,
                     .loss_is_logged =
                         std::ranges::any_of(steps_, [](const auto& one) { return std::isfinite(one.loss); }),
                     .starts_the_run = first == 0,
                     .ends_the_run = last + 1 == steps_.size(),
                     .in_all_tensors = s.tensors > 0 && s.lost == s.tensors,
                     .has_infinities = has_infinities};
  for (std::size_t i = first; i <= last; ++i) {
    const double scale = scale_of(steps_[i]);
    f.loss_is_logged = f.loss_is_logged || std::isfinite(steps_[i].loss);
    if (!is_lost(steps_[i]) || std::isnan(scale)) continue;
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

  const std::optional<found_divergence> diverged = divergence_of(steps_, alive);
  if (diverged)
    d.died_at = diverged->what.growing.first;
  else if (end)
    d.died_at = steps_[alive].key.step;

  // Losses that are lost again and again are no single batches.
  constexpr std::size_t many = 10;
  bad_loss_.loss_is_lost = true;
  constexpr std::size_t few = 3;
  const bool comes_again = end && end->losses > 0 && end->lost <= few && bad_loss_.steps.size() > many;
  if (comes_again) {
    bad_loss_.steps.push_back(forward_->lost.last);
    forward_.reset();
    if (!diverged) d.died_at.reset();
  }
  if (bad_loss_.steps.size() > std::max(many, alive / 100) && !forward_)
    forward_ = forward_overflow{.lost = {bad_loss_.steps.front(), bad_loss_.steps.back(), bad_loss_.steps.size()},
                                .losses_lost = bad_loss_.steps.size(),
                                .loss_is_logged = true};
  else if (forward_)
    forward_->before.insert(forward_->before.end(), bad_loss_.steps.begin(), bad_loss_.steps.end());
  if (forward_) bad_loss_.steps.clear();
  // Hysteresis may hold a scale once; one that is held again and again is constant.
  constexpr std::uint64_t once = 2;
  if (held_ > once) {
    unhandled_ = unhandled_overflow{.lost = handled_.skipped, .has_scaler = true, .scale = scale_};
    handled_ = {};
  }
  if (diverged) d.causes.emplace_back(diverged->what);
  if (initial_) d.causes.emplace_back(*initial_);
  if (!bad_loss_.steps.empty()) d.causes.emplace_back(bad_loss_);
  if (!bad_.steps.empty()) d.causes.emplace_back(bad_);
  if (bad_batches outliers = outliers_of(steps_, diverged ? diverged->onset : alive); !outliers.steps.empty())
    d.causes.emplace_back(std::move(outliers));
  // What comes after a divergence is its consequence.
  if (forward_ && !diverged) d.causes.emplace_back(*forward_);
  if (open_ && !diverged) d.causes.emplace_back(*open_);
  if (unhandled_ && !diverged) d.causes.emplace_back(*unhandled_);
  if (nan_ && !diverged) d.causes.emplace_back(*nan_);
  const std::int64_t last_alive = alive == 0 ? std::numeric_limits<std::int64_t>::min() : steps_[alive - 1].key.step;
  const std::int64_t last = diverged ? diverged->what.growing.first - 1 : last_alive;
  const std::optional<vanished_in_depth> depth = vanished_in_depth_of(run_, tensors_, last);
  if (!diverged)
    if (const auto v = vanished_in_time_of(run_, tensors_, last)) d.causes.emplace_back(*v);
  if (depth) d.causes.emplace_back(*depth);
  if (!end && !diverged)
    if (const auto f = floor_of(steps_, initial_ ? places_.front().last + 1 : 0)) d.causes.emplace_back(*f);
  if (!depth)
    if (const auto dead = dead_tensors_of(run_, tensors_, last)) d.causes.emplace_back(*dead);
  if (handled_.places > 0) d.causes.emplace_back(handled_);
  return d;
}

}  // namespace

std::string name_of(const cause& of) {
  constexpr std::array<const char*, std::variant_size_v<cause>> names{
      "recorded_wrongly",  "divergence",     "initial_scale",      "bad_batch",  "gradient_overflow",
      "forward_overflow",  "open_overflow",  "unhandled_overflow", "nan_source", "vanished",
      "vanished_in_depth", "scale_at_floor", "dead_layer"};
  return names.at(of.index());
}

diagnosis diagnosis_of(const survey& run, const std::vector<tensor_info>& tensors) {
  if (run.steps().empty()) return {};
  return examination(run, tensors).result();
}

}  // namespace ulp
