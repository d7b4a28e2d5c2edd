// What the gradients of a step amount to before any format or scale is chosen: replay, sweep and survey ask the same.
#ifndef ULP_MODEL_REPLAY_STEP_ACCUMULATOR_HPP
#define ULP_MODEL_REPLAY_STEP_ACCUMULATOR_HPP

#include <algorithm>
#include <cmath>
#include <limits>

#include <ulp/model/cells/step.hpp>
#include <ulp/model/machines/scaler.hpp>
#include <ulp/model/replay/tensor_choice.hpp>

namespace ulp {

// The largest magnitude of unscaled gradients.
class largest_gradient {
 public:
  void add(const tensor_row& t) {
    known_ = true;
    nan_ = nan_ || t.table.nans > 0;
    infinite_ = infinite_ || t.table.infinities() > 0;
    finite_ = std::max(finite_, t.table.largest_possible() / t.unit());
  }
  // As a log has it.
  void add(double max_abs) {
    known_ = true;
    nan_ = nan_ || std::isnan(max_abs);
    infinite_ = infinite_ || std::isinf(max_abs);
    if (std::isfinite(max_abs)) finite_ = std::max(finite_, max_abs);
  }

  [[nodiscard]] bool known() const noexcept { return known_; }
  [[nodiscard]] bool nan() const noexcept { return nan_; }
  [[nodiscard]] bool infinite() const noexcept { return infinite_; }
  [[nodiscard]] bool is_lost() const noexcept { return nan_ || infinite_; }
  [[nodiscard]] double largest_finite() const noexcept { return known_ ? finite_ : not_known; }
  // NaN once one is NaN, else infinite once one is.
  [[nodiscard]] double value() const noexcept {
    if (!known_ || nan_) return not_known;
    return infinite_ ? std::numeric_limits<double>::infinity() : finite_;
  }

 private:
  bool known_ = false;
  bool nan_ = false;
  bool infinite_ = false;
  double finite_ = 0;
};

// The L2 norm of unscaled gradients.
class gradient_norm {
 public:
  void add(const value_sum& squares) {
    known_ = true;
    exact_ = exact_ && squares.quality != sum_quality::estimated;
    squares_ += squares.value;
  }

  [[nodiscard]] bool known() const noexcept { return known_; }
  [[nodiscard]] bool exact() const noexcept { return exact_; }
  [[nodiscard]] double value() const { return known_ ? std::sqrt(squares_) : not_known; }
  // As a scaler sees it: a norm that is NaN fails every "is finite" as an infinite one does.
  [[nodiscard]] double as_seen() const {
    const double norm = value();
    return known_ && std::isnan(norm) ? std::numeric_limits<double>::infinity() : norm;
  }

 private:
  bool known_ = false;
  bool exact_ = true;
  double squares_ = 0;
};

// What a policy gets of a step in which overflow is found, or is not; `norm` is that of the unscaled gradients as a scaler
// sees it. Infinities of another scale are none where it is not.
[[nodiscard]] inline scaler_input input_of(const largest_gradient& largest, double norm, bool found) {
  if (!found && largest.is_lost()) return {.found_inf = false, .max_abs = largest.largest_finite()};
  return {.found_inf = found, .unscaled_norm = norm, .max_abs = largest.value()};
}

struct step_accumulator {
  largest_gradient largest;  // of the checked tensors, or of what was logged
  gradient_norm norm;        // of the tensors that are in it

  void add(const tensor_row& t, const tensor_choice::membership& m) {
    if (m.checked && m.is_scaled) largest.add(t);
    if (m.in_norm) norm.add(squares_of(t));
  }
  void add_log(const step& now) {
    if (now.max_abs) largest.add(*now.max_abs);
    for (const layer_row& layer : now.layers)
      if (layer.max_abs) largest.add(*layer.max_abs);
  }
};

}  // namespace ulp

#endif
