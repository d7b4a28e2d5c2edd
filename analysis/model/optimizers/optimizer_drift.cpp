#include <ulp/model/optimizers/optimizer_drift.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <ulp/formats/codec.hpp>
#include <ulp/formats/convert.hpp>
#include <ulp/formats/neighbours.hpp>

namespace ulp {
namespace {

// States that hold what rounded weights lack: what Kahan's summation adds to the next update, or a float32 copy.
constexpr std::array<std::string_view, 3> beside_weights{"kahan", "comp", "master"};

constexpr double infinity = std::numeric_limits<double>::infinity();

std::vector<float> rounded(std::span<const float> x, const format& to) {
  std::vector<float> made(x.begin(), x.end());
  if (!(to == float32)) round_array(to, made);
  return made;
}

// The earlier of two steps from 1, where 0 is none.
std::int64_t earlier(std::int64_t a, std::int64_t b) { return a == 0 || (b != 0 && b < a) ? b : a; }

}  // namespace

double weight_drift::relative() const noexcept {
  if (nonfinite > 0) return infinity;
  if (deviation == 0) return 0;
  return movement == 0 ? infinity : std::sqrt(deviation / movement);
}

weight_drift& weight_drift::operator+=(const weight_drift& other) noexcept {
  if (numel > 0 && other.numel > 0)
    median_ratio = not_known;
  else if (numel == 0)
    median_ratio = other.median_ratio;
  numel += other.numel;
  movement += other.movement;
  deviation += other.deviation;
  first_rounding += other.first_rounding;
  loss_change += other.loss_change;
  largest_move = std::max(largest_move, other.largest_move);
  largest_twin_move = std::max(largest_twin_move, other.largest_twin_move);
  runaway += other.runaway;
  nonfinite += other.nonfinite;
  twin_nonfinite += other.twin_nonfinite;
  nonfinite_gradients += other.nonfinite_gradients;
  first_nonfinite_gradient = earlier(first_nonfinite_gradient, other.first_nonfinite_gradient);
  updates += other.updates;
  lost += other.lost;
  zeroed += other.zeroed;
  first_zeroed = earlier(first_zeroed, other.first_zeroed);
  falling += other.falling;
  stuck += other.stuck;
  fell += other.fell;
  twin_fell += other.twin_fell;
  return *this;
}

drifting_tensor::drifting_tensor(const optimizer_recipe& recipe, std::string name, std::span<const float> first_weights,
                                 std::uint64_t seed, const std::vector<std::size_t>& parts)
    : name_(std::move(name)),
      low_(make_optimizer(recipe, first_weights.size(), name_, seed)),
      twin_(make_optimizer(float32_twin(recipe), first_weights.size(), name_, seed)),
      kept_in_(recipe.weights),
      first_(first_weights.begin(), first_weights.end()),
      w_(rounded(first_weights, recipe.weights)),
      twin_w_(first_) {
  if (low_.micro_batches() != 1)
    throw std::invalid_argument(std::string{recipe.dialect->name} + " takes the gradients of " +
                                std::to_string(low_.micro_batches()) + " micro-batches; set micro_batches=1");
  const std::size_t n = first_.size();
  std::size_t first = 0;
  for (const std::size_t size : parts.empty() ? std::vector{n} : parts) {
    parts_.push_back({.first = first, .end = first + size, .sum = {.numel = size}, .loss_changes = {}});
    first += size;
  }
  if (first != n) throw std::invalid_argument("the parts of " + name_ + " do not add up to its elements");
  m_.resize(n);
  v_.resize(n);
  before_.resize(n);
  twin_before_.resize(n);
  was_zeroed_.resize(n);
  twin_reach_.resize(n);
  has_moments_ = has_parameter(*recipe.dialect, "beta2");
  kept_.resize(n);
  for (const std::string_view state : beside_weights)
    if (read_state(low_, state, kept_)) kept_name_ = state;
  if (kept_name_ == "master") kept_ = w_;  // as the first step begins
  kept_.resize(kept_name_.empty() ? 0 : n);
  kept_before_.resize(kept_.size());
}

void drifting_tensor::step(std::span<const float> gradient, std::span<const std::uint16_t> random) {
  if (gradient.size() != w_.size()) throw std::invalid_argument("a gradient of another size than " + name_);
  see_gradient(gradient);
  std::copy(w_.begin(), w_.end(), before_.begin());
  std::copy(twin_w_.begin(), twin_w_.end(), twin_before_.begin());
  kept_before_.swap(kept_);
  low_.step(gradient, w_, random);
  const bool keeps = read_state(low_, kept_name_, kept_);
  twin_.step(gradient, twin_w_);
  for (part& p : parts_)
    for (std::size_t i = p.first; i < p.end; ++i) {
      if (!std::isfinite(twin_w_[i])) continue;
      twin_reach_[i] = std::max(twin_reach_[i], std::fabs(twin_w_[i] - first_[i]));
      if (twin_w_[i] == twin_before_[i]) continue;
      ++p.sum.updates;
      if (w_[i] == before_[i] && (!keeps || kept_[i] == kept_before_[i])) ++p.sum.lost;
    }
  if (has_moments_) see_moments(gradient);
}

void drifting_tensor::see_gradient(std::span<const float> gradient) {
  for (part& p : parts_) {
    double change = 0;
    for (std::size_t i = p.first; i < p.end; ++i) {
      const bool is_finite = std::isfinite(gradient[i]);
      if (is_finite && std::isfinite(twin_w_[i])) change += double{gradient[i]} * (double{w_[i]} - double{twin_w_[i]});
      if (is_finite) continue;
      ++p.sum.nonfinite_gradients;
      p.sum.first_nonfinite_gradient = earlier(p.sum.first_nonfinite_gradient, low_.steps() + 1);
    }
    p.loss_changes.push_back(change);
  }
}

void drifting_tensor::see_moments(std::span<const float> gradient) {
  std::vector<float>& v_before = before_;  // no longer needed
  std::copy(v_.begin(), v_.end(), v_before.begin());
  if (!read_state(low_, "m", m_) || !read_state(low_, "v", v_)) {
    has_moments_ = false;
    return;
  }
  for (part& p : parts_)
    for (std::size_t i = p.first; i < p.end; ++i) {
      if (v_[i] == 0 && m_[i] != 0 && !was_zeroed_[i]) {
        was_zeroed_[i] = true;
        ++p.sum.zeroed;
        if (p.sum.first_zeroed == 0) p.sum.first_zeroed = low_.steps();
      }
      if (gradient[i] * gradient[i] < v_before[i]) {
        ++p.sum.falling;
        if (v_[i] == v_before[i]) ++p.sum.stuck;
      }
    }
}

void drifting_tensor::mark() {
  marked_.resize(w_.size());
  twin_marked_.resize(w_.size());
  if (!read_state(low_, "v", marked_) || !read_state(twin_, "v", twin_marked_)) marked_.clear();
}

void drifting_tensor::see_end(const part& of, weight_drift& into) const {
  const std::size_t judged = std::max<std::size_t>(of.loss_changes.size() / 10, 1);
  for (std::size_t i = of.loss_changes.size(); i > 0 && i + judged > of.loss_changes.size(); --i)
    into.loss_change += of.loss_changes[i - 1] / static_cast<double>(judged);
  const std::vector<float> own_first = rounded(std::span{first_}.subspan(of.first, of.end - of.first), kept_in_);
  std::vector<double> moves(own_first.size());
  std::vector<double> apart(own_first.size());  // from the twin's; 0 where they are not judged
  for (std::size_t i = of.first; i < of.end; ++i) {
    const double own = double{own_first[i - of.first]};
    const double twin_move = double{twin_w_[i]} - double{first_[i]};
    const double move = double{w_[i]} - own;
    if (!std::isfinite(twin_move)) {
      ++into.twin_nonfinite;
      continue;
    }
    into.largest_twin_move = std::max(into.largest_twin_move, double{twin_reach_[i]});
    if (!std::isfinite(move)) {
      ++into.nonfinite;
      continue;
    }
    into.largest_move = std::max(into.largest_move, std::fabs(move));
    moves[i - of.first] = std::fabs(move);
    apart[i - of.first] = std::fabs(move - twin_move);
    const double end = double{w_[i]} - double{twin_w_[i]};
    const double rounding = own - double{first_[i]};
    into.movement += twin_move * twin_move;
    into.deviation += end * end;
    into.first_rounding += rounding * rounding;
  }
  into.runaway = into.nonfinite;
  for (std::size_t i = 0; i < apart.size(); ++i)
    if (std::min(moves[i], apart[i]) > into.largest_twin_move && apart[i] > rounding_reach(of.first + i))
      ++into.runaway;
}

// Each rounding of a weight is wrong by less than a spacing of the format, with a standard deviation of at most half of
// one: six of these after so many steps, where float32's weight is.
double drifting_tensor::rounding_reach(std::size_t i) const {
  const float at = std::max(std::fabs(first_[i]), std::fabs(twin_w_[i]));
  const double spacing = std::ldexp(1.0, ulp_exponent(kept_in_, decode(at)));
  return 3 * std::sqrt(static_cast<double>(low_.steps())) * spacing;
}

void drifting_tensor::see_second_moments(const part& of, weight_drift& into) const {
  std::vector<float> low(w_.size());
  std::vector<float> exact(w_.size());
  if (!read_state(low_, "v", low) || !read_state(twin_, "v", exact)) return;
  std::vector<float> ratios;
  for (std::size_t i = of.first; i < of.end; ++i) {
    if (exact[i] > 0 && !std::isnan(low[i])) ratios.push_back(low[i] / exact[i]);
    if (marked_.empty()) continue;
    into.fell += low[i] < marked_[i] ? 1 : 0;
    into.twin_fell += exact[i] < twin_marked_[i] ? 1 : 0;
  }
  into.median_ratio = median_of(ratios);
}

weight_drift drifting_tensor::drift(std::size_t part) const {
  weight_drift made = parts_.at(part).sum;
  see_end(parts_[part], made);
  see_second_moments(parts_[part], made);
  return made;
}

weight_drift drifting_tensor::drift() const {
  weight_drift all;
  for (std::size_t i = 0; i < parts_.size(); ++i) all += drift(i);
  if (parts_.size() == 1) return all;
  std::vector<float> ratios;
  append_ratios(ratios);
  all.median_ratio = median_of(ratios);
  return all;
}

void drifting_tensor::append_ratios(std::vector<float>& to) const {
  std::vector<float> low(w_.size());
  std::vector<float> exact(w_.size());
  if (!read_state(low_, "v", low) || !read_state(twin_, "v", exact)) return;
  for (std::size_t i = 0; i < low.size(); ++i)
    if (exact[i] > 0 && !std::isnan(low[i])) to.push_back(low[i] / exact[i]);
}

double median_of(std::span<float> values) {
  if (values.empty()) return not_known;
  const std::size_t half = values.size() / 2;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(half);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 != 0) return double{*middle};
  return (double{*middle} + double{*std::max_element(values.begin(), middle)}) / 2;
}

second_moment_decay decay_of(const format& kept_in, double beta2) {
  const auto factor = static_cast<float>(beta2);
  const auto next = [&](float v) {
    float product = v * factor;
    round_array(kept_in, std::span{&product, 1});
    return product;
  };
  second_moment_decay made;
  const int significands = 1 << kept_in.fraction_bits;
  int stuck = 0;
  for (int s = 0; s < significands; ++s) {
    const float v = 1.0F + static_cast<float>(s) / static_cast<float>(significands);
    if (next(v) == v) ++stuck;
  }
  made.stuck = static_cast<double>(stuck) / significands;
  float v = 1;
  for (std::uint64_t steps = 1;; ++steps) {
    const float fallen = next(v);
    if (fallen == v) return made;
    v = fallen;
    if (v > 0.5F) continue;
    made.half_life = steps;
    return made;
  }
}

}  // namespace ulp
