#include "step_overflow.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <ulp/formats/catalog.hpp>
#include <ulp/formats/codec.hpp>
#include <ulp/formats/random_bits.hpp>
#include <ulp/model/machines/policy_analysis.hpp>
#include <ulp/model/outcomes/row_outcomes.hpp>

#include "cells/buckets.hpp"
#include "smallest_overflowing.hpp"

namespace ulp {
namespace {

constexpr overflow_answer surely{true, true, true};

constexpr overflow_answer surely_if(bool found) { return {found, found, found}; }

// What is not a number, delivered as infinity or NaN.
bool delivers_nonfinite(bool nan, const scenario& s) {
  return nan ? s.recipe.usual().format.has_nan() : keeps_infinity(s.recipe.usual()) && !hides_infinities(s);
}

// The largest magnitude is at least this.
double least_largest(const cell_table& t) {
  if (!std::isnan(t.max_abs)) return t.max_abs;
  double least = 0;
  for (const cell& c : t.cells) least = std::max(least, double_from(range_of(c).low));
  for_each_bucket(t, [&](const bucket_values& v) {
    if (!v.maybe_zero && v.count > 0) least = std::max(least, v.magnitudes.low);
  });
  return least;
}

// Drawn with what is discarded beyond the largest finite number.
overflow_answer drawn(double scaled, const scenario& s, std::int64_t step) {
  const std::uint64_t stream = stream_of("found_inf", step);
  const int bits = s.recipe.usual().rounding.random_bits;
  // With exact_probability two words: near the largest number fewer than 53 bits of a double are discarded.
  const std::array<std::uint32_t, 2> words{random_word(s.seed, stream, 0, 0), random_word(s.seed, stream, 0, 1)};
  const random_input random =
      bits == exact_probability ? random_input{words} : random_input{random_bits(s.seed, stream, 0, bits)};
  const drawn_overflow limits = drawn_overflow_of(s.recipe.usual().format);
  return {limits.of_every.in_double().reached_by(scaled),
          any(encode(s.recipe.usual().format, scaled, s.recipe.usual().rounding, random).flags, status::overflow),
          limits.of_some.in_double().reached_by(scaled)};
}

// The smallest magnitude that does not round to a finite number of the format.
threshold overflow_of(const format& f) {
  return thresholds_of({f, {.direction = direction::nearest_even}}, false).overflow;
}

// The smallest magnitude that overflows, where that is one number.
double undrawn_overflow(const scenario& s) {
  return double_from(thresholds_of(undrawn(s.recipe.usual()), false).overflow.at);
}

}  // namespace

step_overflow::step_overflow(const step& now, const recorded_run& run)
    : step_(&now),
      run_(&run),
      loss_scale_(now.scalars.loss_scale > 0 && std::isfinite(now.scalars.loss_scale) ? now.scalars.loss_scale
                                                                                      : not_known),
      loss_lost_(run.loss_is_lost()) {}

void step_overflow::add_lost(const tensor_row& row, bool is_scaled) {
  if (row.table.nonfinite() == 0) return;
  const format* const own = run_->rounded_to(row.tensor);
  lost_.push_back({.is_scaled = is_scaled,
                   .rounded_to = own != nullptr ? own : run_->rounded_to(),
                   .factor = row.unit(),
                   .nan = row.table.nans > 0,
                   .infinite = row.table.infinities() > 0});
}

void step_overflow::add_lost(const tensor_row& row) { add_lost(row, true); }

step_overflow::values step_overflow::values_of(const tensor_row& row, bool is_scaled) const {
  values v{.is_scaled = is_scaled,
           .factor = row.unit(),
           .rounded_to = run_->rounded_to(row.tensor),
           .parts = row.parts,
           .is_sum = row.parts.is_sum(),
           .reached = least_largest(row.table),
           .not_exceeded = row.table.largest_possible()};
  // Finite beyond the limit: a sum, whatever is known of it.
  if (v.is_scaled && v.rounded_to != nullptr && !std::isnan(loss_scale_) && v.reached > 0)
    v.is_sum = v.is_sum || reaches(overflow_of(*v.rounded_to), {.scale = loss_scale_, .factor = v.factor}, v.reached);
  return v;
}

void step_overflow::add(const tensor_row& row, bool is_scaled) {
  add_lost(row, is_scaled);
  any_value_ = any_value_ || row.table.numel > 0;
  any_zero_ = any_zero_ || row.table.zeros > 0;
  rows_.emplace_back(&row, is_scaled);
  const values now = values_of(row, is_scaled);
  if (now.not_exceeded == 0) return;
  const auto same = std::ranges::find_if(values_, [&](const values& v) {
    return v.is_scaled == now.is_scaled && v.factor == now.factor && v.rounded_to == now.rounded_to &&
           v.parts == now.parts && v.is_sum == now.is_sum;
  });
  if (same == values_.end()) {
    values_.push_back(now);
  } else {
    same->reached = std::max(same->reached, now.reached);
    same->not_exceeded = std::max(same->not_exceeded, now.not_exceeded);
  }
}

void step_overflow::add_log(std::optional<bool> found_inf, std::optional<double> max_abs,
                            const std::optional<max_abs_bounds>& bounds) {
  if (max_abs && !std::isfinite(*max_abs))
    lost_.push_back({.nan = std::isnan(*max_abs), .infinite = std::isinf(*max_abs)});
  else if (max_abs)
    logged_.push_back(*max_abs);
  else if (bounds)
    bounds_ = bounds;
  else if (found_inf)
    (*found_inf ? flagged_ : unflagged_) = true;
}

void step_overflow::add_log(const step& now) {
  for (const layer_row& layer : now.layers) add_log(layer.found_inf, layer.max_abs);
  if (!now.layers.empty()) return;
  const bool decides = !now.bounds && !std::isnan(loss_scale_);
  add_log(decides ? std::nullopt : now.scalars.found_inf, now.max_abs, now.bounds);
  if (decides) add_finding();
}

void step_overflow::add_finding() {
  found_ = step_->scalars.found_inf;
  // A scaler that applies what is not finite says nothing by it.
  if (!found_ && step_->scalars.applied && (!*step_->scalars.applied || lost_.empty()))
    found_ = !*step_->scalars.applied;
}

// Where what was rounded to a format begins to overflow in the scenario's, as a multiple of the scale it overflowed at.
struct step_overflow::limit {
  bool same = false;   // it is the scenario's own way of rounding
  double ratio = 0;    // 0: at every scale
  bool exact = false;  // no value that was finite overflows below
};

step_overflow::limit step_overflow::limit_of(const format* rounded_to, const scenario& s) const {
  const bool is_nearest = s.recipe.usual().rounding.direction == direction::nearest_even ||
                          s.recipe.usual().rounding.direction == direction::nearest_away;
  const bool is_delivered = overflow_is_infinite(s.recipe.usual(), false);
  if (!is_delivered && !overflow_is_infinite(s.recipe.usual(), true))
    return {.ratio = std::numeric_limits<double>::infinity()};
  if (rounded_to == nullptr && (std::isnan(loss_scale_) || loss_scale_ == 1))
    return {.same = s.recipe.usual().format == float16};
  const format& in = rounded_to == nullptr ? float16 : *rounded_to;
  return {.same = in == s.recipe.usual().format && is_nearest && is_delivered,
          .ratio = double_from(overflow_of(s.recipe.usual().format).at) / double_from(overflow_of(in).at),
          .exact = is_nearest && is_delivered};
}

overflow_answer step_overflow::of(const values& v, double scale, const scenario& s) const {
  const multiplier by{.scale = scale, .factor = v.factor};
  if (!by.usable() || hides_infinities(s) || !overflow_is_infinite(s.recipe.usual(), false)) return {};
  if (v.is_sum) return of_sum(v, scale, s);
  if (s.recipe.usual().rounding.direction == direction::stochastic)
    return v.reached > 0 ? of_magnitude(scale / v.factor * v.reached, s) : overflow_answer{};
  if (v.is_scaled && v.rounded_to != nullptr && scale <= loss_scale_ && limit_of(v.rounded_to, s).same) return {};
  const threshold overflow = thresholds_of(s.recipe.usual(), false).overflow;
  const auto found = [&](double magnitude) { return magnitude > 0 && reaches(overflow, by, magnitude); };
  return {found(v.reached), found(v.reached), found(v.not_exceeded)};
}

overflow_answer step_overflow::of_sum(const values& v, double scale, const scenario& s) const {
  const multiplier by{.scale = scale, .factor = v.factor};
  if (!by.usable() || hides_infinities(s)) return {};
  if (v.is_scaled && v.rounded_to != nullptr) {
    const limit at = limit_of(v.rounded_to, s);
    if (at.exact && scale <= at.ratio * loss_scale_) return {};
  }
  const auto of_part = [&](double magnitude) { return of_magnitude(scale / v.factor * magnitude, s); };
  // One of n parts is at least an n-th of their sum; independent ones are about a root of n smaller. Where nothing was
  // rounded yet, all parts may be.
  const double n = std::max<double>(1, v.parts.rounded > 0 ? v.parts.rounded : v.parts.kept);
  constexpr std::uint8_t or_more = std::numeric_limits<std::uint8_t>::max();
  const bool all_rounded = v.parts.rounded > 0 && v.parts.kept == 0 && v.parts.rounded < or_more;
  return {all_rounded && of_part(v.reached / n).certain, of_part(v.reached / std::sqrt(n)).likely, true};
}

overflow_answer step_overflow::of(const lost_values& v, double scale, const scenario& s) const {
  const bool nan = v.nan && delivers_nonfinite(true, s);
  if (!nan && !(v.infinite && delivers_nonfinite(false, s))) return {};
  const limit at = limit_of(v.rounded_to, s);
  if (!v.is_scaled) return {at.same, true, true};
  if (loss_lost_) return {at.same, true, true};
  if (!std::isnan(loss_scale_))
    return {at.same && scale >= loss_scale_, scale >= (at.same ? 1 : at.ratio) * loss_scale_, true};
  // A factor other than 1 is what the scale may have been.
  return {false, v.factor == 1 || scale >= v.factor, true};
}

// Each value where the signs overflow differently.
overflow_answer step_overflow::of_signs(const tensor_row& row, double scale, const scenario& s) const {
  const multiplier by{.scale = scale, .factor = row.unit()};
  if (!by.usable() || hides_infinities(s)) return {};
  const count_range infinite = outcomes_of(row, s.recipe.usual(), by).infinite;
  return {infinite.low > 0, infinite.low > 0, infinite.high > 0};
}

// Of the largest |scaled gradient|, its sign not known.
overflow_answer step_overflow::of_magnitude(double scaled, const scenario& s) const {
  if (!std::isfinite(scaled)) return surely_if(delivers_nonfinite(std::isnan(scaled), s));
  if (hides_infinities(s)) return {};
  const bool positive = overflow_is_infinite(s.recipe.usual(), false);
  const bool negative = overflow_is_infinite(s.recipe.usual(), true);
  if (!positive && !negative) return {};
  if (s.recipe.usual().rounding.direction == direction::stochastic) return drawn(scaled, s, step_->key.step);
  const bool found = thresholds_of(s.recipe.usual(), !positive).overflow.in_double().reached_by(scaled);
  return {found && positive == negative, found, found};
}

overflow_answer step_overflow::of(const max_abs_bounds& b, double scale, const scenario& s) const {
  const overflow_answer least = of_magnitude(scale * b.low, s);
  overflow_answer most = surely_if(delivers_nonfinite(true, s));
  if (std::isfinite(b.high))
    most = of_magnitude(scale * std::nextafter(b.high, 0.0), s);
  else
    most |= of_magnitude(b.high, s);
  return {least.certain && b.certain, least.likely, most.possible || !b.certain};
}

// Beyond sums of float16 numbers, in the scale of the run.
bool step_overflow::is_beyond_float16(double scale) const {
  return std::ranges::any_of(
      values_, [&](const values& v) { return v.is_scaled && v.reached / v.factor * scale > most_of_sum; });
}

// Nothing but what the run found tells of this step.
bool step_overflow::is_alone() const noexcept { return rows_.empty() && lost_.empty() && logged_.empty() && !bounds_; }

void step_overflow::settle(overflow_answer& answer, double scale, const scenario& s) const {
  if (!found_) return;
  const limit at = limit_of(run_->rounded_to(), s);
  const bool is_scaled = run_->rounded_to() != nullptr || loss_scale_ != 1;
  if (!*found_) {
    const bool holds = is_scaled && !run_->has_several_formats();
    if (!holds || !at.same || !(scale <= loss_scale_)) {
      const bool is_below = holds && at.exact && scale <= at.ratio * loss_scale_;
      if (is_alone() && !is_below) answer.possible = delivers_nonfinite(false, s);
    } else if (run_->rounded_to() != nullptr || !answer.possible) {
      answer = {};
    } else if (!is_beyond_float16(scale)) {
      answer = {false, false, true};
    }
    return;
  }
  if (!delivers_nonfinite(true, s) && !delivers_nonfinite(false, s)) return;
  answer.possible = true;
  if (hides_infinities(s) || run_->has_several_formats()) return;
  if (at.same && (loss_lost_ || scale >= loss_scale_)) answer = surely;
  if (std::isnan(loss_scale_) || (!at.same && scale >= at.ratio * loss_scale_)) answer.likely = true;
}

overflow_answer step_overflow::at(double scale, const scenario& s) const {
  overflow_answer answer;
  // At a scale that is not known.
  if (flagged_) answer |= {false, true, true};
  if (unflagged_) answer |= {false, false, delivers_nonfinite(false, s)};
  for (const double max_abs : logged_) answer |= of_magnitude(scale * max_abs, s);
  if (bounds_) {
    answer |= of(*bounds_, scale, s);
    if (loss_lost_)
      answer |= bounds_->certain ? of(lost_values{.nan = true}, scale, s) : overflow_answer{false, true, true};
  }
  if (!std::isfinite(scale) && any_value_) {
    // 0 times infinity is NaN.
    answer |= surely_if((std::isnan(scale) || any_zero_) && delivers_nonfinite(true, s));
    answer |= surely_if(delivers_nonfinite(false, s));
  }
  if (overflow_depends_on_sign(s.recipe.usual())) {
    for (const auto& [row, is_scaled] : rows_) {
      const double by = is_scaled ? scale : 1;
      const values v = values_of(*row, is_scaled);
      answer |= v.is_sum ? of_sum(v, by, s) : of_signs(*row, by, s);
    }
  } else {
    for (const values& v : values_) answer |= of(v, v.is_scaled ? scale : 1, s);
  }
  for (const lost_values& v : lost_) answer |= of(v, v.is_scaled ? scale : 1, s);
  settle(answer, scale, s);
  return answer;
}

double step_overflow::onset_near(const scenario& s) const {
  const double limit = undrawn_overflow(s);
  double near = std::numeric_limits<double>::infinity();
  for (const values& v : values_)
    if (v.is_scaled) near = std::min(near, limit * v.factor / v.reached);
  for (const double max_abs : logged_)
    if (max_abs > 0) near = std::min(near, limit / max_abs);
  if (bounds_ && bounds_->low > 0) near = std::min(near, limit / bounds_->low);
  if (!lost_.empty() && !std::isnan(loss_scale_)) near = std::min(near, loss_scale_);
  return near;
}

critical_answer step_overflow::critical(const largest_gradient& largest, const scenario& s) const {
  if (!largest.known()) return {};
  if (hides_infinities(s)) return {largest.nan() ? 0 : std::numeric_limits<double>::infinity()};
  const bool lost = !lost_.empty();
  double c = critical_scale_of(lost ? largest.largest_finite() : largest.value(), s.recipe.usual()).largest_safe;
  // The product with a logged maximum is one of doubles, and may be rounded up.
  constexpr int most_steps = 4;
  for (int i = 0; i < most_steps && !logged_.empty() && !lost && c > 0 && std::isfinite(c) && at(c, s).likely; ++i)
    c = std::nextafter(c, 0.0);
  const auto is_rounded = [](const values& v) { return v.rounded_to != nullptr; };
  if (!lost && !found_ && std::ranges::none_of(values_, is_rounded)) return {c};
  if (std::isnan(loss_scale_)) return lost ? critical_answer{} : critical_answer{c};
  // Values decide, or the run where it did: elsewhere the estimate begins to overflow.
  constexpr double least = std::numeric_limits<double>::denorm_min();
  const auto likely = [&](double scale) { return at(scale, s).likely; };
  const double above = std::nextafter(c, std::numeric_limits<double>::infinity());
  const bool as_values = !likely(std::max(c, least)) && (std::isinf(c) || likely(above));
  const double largest_safe = as_values ? c : std::nextafter(smallest_overflowing(onset_near(s), likely), 0.0);
  if (!(largest_safe >= least)) return {0, at(least, s).certain};
  if (std::isinf(largest_safe)) return {largest_safe, !at(std::numeric_limits<double>::max(), s).possible};
  return {largest_safe, !lost && at(largest_safe, s).decided() &&
                            at(std::nextafter(largest_safe, std::numeric_limits<double>::infinity()), s).decided()};
}

}  // namespace ulp
