#include <ulp/model/optimizer_drift.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include <ulp/formats/convert.hpp>

namespace ulp {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

std::vector<float> rounded(std::span<const float> x, const format& to) {
  std::vector<float> made(x.begin(), x.end());
  if (!(to == float32)) round_array(to, made);
  return made;
}

bool takes(const optimizer_entry& entry, std::string_view name) {
  return std::any_of(entry.parameters.begin(), entry.parameters.end(),
                     [&](const optimizer_parameter& p) { return p.name == name; });
}

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
  largest_move = std::max(largest_move, other.largest_move);
  largest_twin_move = std::max(largest_twin_move, other.largest_twin_move);
  runaway += other.runaway;
  nonfinite += other.nonfinite;
  updates += other.updates;
  lost += other.lost;
  zeroed += other.zeroed;
  if (first_zeroed == 0 || (other.first_zeroed != 0 && other.first_zeroed < first_zeroed))
    first_zeroed = other.first_zeroed;
  falling += other.falling;
  stuck += other.stuck;
  fell += other.fell;
  twin_fell += other.twin_fell;
  return *this;
}

drifting_tensor::drifting_tensor(const optimizer_recipe& recipe, std::string name, std::span<const float> first_weights,
                                 std::uint64_t seed)
    : name_(std::move(name)),
      low_(make_optimizer(recipe, first_weights.size(), name_, seed)),
      twin_(make_optimizer(float32_twin(recipe), first_weights.size(), name_, seed)),
      first_(first_weights.begin(), first_weights.end()),
      w_(rounded(first_weights, recipe.weights)),
      twin_w_(first_) {
  if (low_.micro_batches() != 1)
    throw std::invalid_argument(std::string{recipe.dialect->name} + " takes the gradients of " +
                                std::to_string(low_.micro_batches()) + " micro-batches; set micro_batches=1");
  const std::size_t n = first_.size();
  sum_.numel = n;
  m_.resize(n);
  v_.resize(n);
  before_.resize(n);
  twin_before_.resize(n);
  was_zeroed_.resize(n);
  has_moments_ = takes(*recipe.dialect, "beta2");
}

void drifting_tensor::step(std::span<const float> gradient) {
  std::copy(w_.begin(), w_.end(), before_.begin());
  std::copy(twin_w_.begin(), twin_w_.end(), twin_before_.begin());
  low_.step(gradient, w_);
  twin_.step(gradient, twin_w_);
  for (std::size_t i = 0; i < w_.size(); ++i) {
    if (twin_w_[i] == twin_before_[i]) continue;
    ++sum_.updates;
    if (w_[i] == before_[i]) ++sum_.lost;
  }
  if (has_moments_) see_moments(gradient);
}

void drifting_tensor::see_moments(std::span<const float> gradient) {
  std::vector<float>& v_before = before_;  // no longer needed
  std::copy(v_.begin(), v_.end(), v_before.begin());
  if (!read_state(low_, "m", m_) || !read_state(low_, "v", v_)) {
    has_moments_ = false;
    return;
  }
  for (std::size_t i = 0; i < v_.size(); ++i) {
    if (v_[i] == 0 && m_[i] != 0 && !was_zeroed_[i]) {
      was_zeroed_[i] = true;
      ++sum_.zeroed;
      if (sum_.first_zeroed == 0) sum_.first_zeroed = low_.steps();
    }
    if (gradient[i] * gradient[i] < v_before[i]) {
      ++sum_.falling;
      if (v_[i] == v_before[i]) ++sum_.stuck;
    }
  }
}

void drifting_tensor::mark() {
  marked_.resize(w_.size());
  twin_marked_.resize(w_.size());
  if (!read_state(low_, "v", marked_) || !read_state(twin_, "v", twin_marked_)) marked_.clear();
}

weight_drift drifting_tensor::drift() const {
  weight_drift made = sum_;
  for (std::size_t i = 0; i < w_.size(); ++i) {
    const double twin_move = double{twin_w_[i]} - double{first_[i]};
    const double move = double{w_[i]} - double{first_[i]};
    made.largest_twin_move = std::max(made.largest_twin_move, std::isnan(twin_move) ? infinity : std::fabs(twin_move));
    made.largest_move = std::max(made.largest_move, std::isnan(move) ? infinity : std::fabs(move));
    if (!std::isfinite(move) && std::isfinite(twin_move)) ++made.nonfinite;
    if (!std::isfinite(move) || !std::isfinite(twin_move)) continue;
    const double apart = double{w_[i]} - double{twin_w_[i]};
    made.movement += twin_move * twin_move;
    made.deviation += apart * apart;
  }
  made.runaway = made.nonfinite;
  for (std::size_t i = 0; i < w_.size(); ++i)
    if (std::fabs(double{w_[i]} - double{twin_w_[i]}) > made.largest_twin_move && std::isfinite(w_[i])) ++made.runaway;
  if (!marked_.empty()) {
    std::vector<float> now(w_.size());
    if (read_state(low_, "v", now))
      for (std::size_t i = 0; i < now.size(); ++i) made.fell += now[i] < marked_[i] ? 1 : 0;
    if (read_state(twin_, "v", now))
      for (std::size_t i = 0; i < now.size(); ++i) made.twin_fell += now[i] < twin_marked_[i] ? 1 : 0;
  }
  std::vector<float> ratios;
  append_ratios(ratios);
  made.median_ratio = median_of(ratios);
  return made;
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
