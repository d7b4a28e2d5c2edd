// Whether a step overflows, as a function of the loss scale.
//
// Three things tell: the finite values of the checked tensors; values that were infinite or NaN; and what the run itself
// found. The latter two hold at the loss scale S of the step and in the format F that its gradients were rounded to. In F
// what was not finite overflows from S on, whichever value overflowed on the way (this one, a part of its sum, a gradient
// before it, another rank), and what was finite overflows at no scale up to S, be a sum as large as it may. The
// finite parts of a sum do not overflow in another format either, up to where the limit of F would be its own. Everything
// else is not decided: below S, in other formats, or where S is not known. The estimate there: no overflow below S in F,
// in another format from the scale on at which the limit of F would be its own; where S is not known, overflow. If the
// loss itself was lost, every scale of F overflows.
// Of a step of which nothing but a finding is known, what was found is all: what did not overflow may at other scales.
//
// F is unknown for values that are not known to have been rounded, and of a run that used several formats. If the loss was
// scaled, infinities of the former are taken to be float16's; that the run found no overflow is, too, unless values are
// beyond any sum of float16 numbers, and where they are beyond one it is not decided.
//
// The answer never turns from overflow to none as the scale grows.
#ifndef ULP_MODEL_REPLAY_STEP_OVERFLOW_HPP
#define ULP_MODEL_REPLAY_STEP_OVERFLOW_HPP

#include <optional>
#include <utility>
#include <vector>

#include <ulp/model/cells/step.hpp>
#include <ulp/model/outcomes/outcome.hpp>
#include <ulp/model/replay/recorded_run.hpp>
#include <ulp/model/replay/scenario.hpp>

#include "step_accumulator.hpp"

namespace ulp {

struct overflow_answer {
  bool certain = false;
  bool likely = false;  // the estimate: between the two
  bool possible = false;

  [[nodiscard]] constexpr bool decided() const noexcept { return certain || !possible; }
  constexpr overflow_answer& operator|=(const overflow_answer& other) noexcept {
    certain = certain || other.certain;
    likely = likely || other.likely;
    possible = possible || other.possible;
    return *this;
  }
  friend constexpr bool operator==(const overflow_answer&, const overflow_answer&) = default;
};

struct critical_answer {
  double scale = not_known;
  bool certain = true;
};

// What a scaler sees of one step. Refers to the step and the formats it was made from.
class step_overflow {
 public:
  step_overflow(const step& now, const recorded_run& run);

  // A checked tensor, and whether the loss scale multiplies it.
  void add(const tensor_row& row, bool is_scaled);
  // Of one that is not checked, only what is not finite: it tells of an overflow elsewhere.
  void add_lost(const tensor_row& row);
  // What a log says of the step or a layer: the largest unscaled gradient, else bounds on it, else whether it overflowed,
  // at a scale that is not known.
  void add_log(std::optional<bool> found_inf, std::optional<double> max_abs,
               const std::optional<max_abs_bounds>& bounds = std::nullopt);
  // The same of a whole step without tensors, whose finding holds at its scale where that is known.
  void add_log(const step& now);
  // The run's own finding holds for the step: not for a scaler that sees a part of it.
  void add_finding();

  // Under stochastic rounding drawn from (s.seed, step) between the limits that decide.
  [[nodiscard]] overflow_answer at(double scale, const scenario& s) const;

  // About the smallest scale that is likely to overflow; infinite where none is. Where to look for it.
  [[nodiscard]] double onset_near(const scenario& s) const;

  // See trajectory_row::critical_scale; `largest` is that of what was added.
  [[nodiscard]] critical_answer critical(const largest_gradient& largest, const scenario& s) const;

 private:
  struct values {
    bool is_scaled = true;
    double factor = 1;
    const format* rounded_to = nullptr;
    gradient_parts parts;
    bool is_sum = false;      // of parts, as recorded or as values tell
    double reached = 0;       // by some magnitude
    double not_exceeded = 0;  // by any
  };
  struct lost_values {
    bool is_scaled = true;
    const format* rounded_to = nullptr;
    double factor = 1;
    bool nan = false;
    bool infinite = false;
  };
  struct limit;

  void add_lost(const tensor_row& row, bool is_scaled);
  [[nodiscard]] overflow_answer of(const values& v, double scale, const scenario& s) const;
  [[nodiscard]] overflow_answer of(const lost_values& v, double scale, const scenario& s) const;
  [[nodiscard]] values values_of(const tensor_row& row, bool is_scaled) const;
  [[nodiscard]] overflow_answer of_sum(const values& v, double scale, const scenario& s) const;
  [[nodiscard]] overflow_answer of_signs(const tensor_row& row, double scale, const scenario& s) const;
  [[nodiscard]] overflow_answer of_magnitude(double scaled, const scenario& s) const;
  [[nodiscard]] overflow_answer of(const max_abs_bounds& b, double scale, const scenario& s) const;
  [[nodiscard]] limit limit_of(const format* rounded_to, const scenario& s) const;
  [[nodiscard]] bool is_beyond_float16(double scale) const;
  [[nodiscard]] bool is_alone() const noexcept;
  void settle(overflow_answer& answer, double scale, const scenario& s) const;

  const step* step_;
  const recorded_run* run_;
  double loss_scale_;
  bool loss_lost_;
  bool any_value_ = false;
  bool any_zero_ = false;
  bool flagged_ = false;  // by a finding at a scale that is not known; or that there was none
  bool unflagged_ = false;
  std::optional<bool> found_;
  std::vector<double> logged_;
  std::optional<max_abs_bounds> bounds_;
  std::vector<values> values_;
  std::vector<lost_values> lost_;
  std::vector<std::pair<const tensor_row*, bool>> rows_;
};

// Infinities become the bound of value clipping before anyone looks for them.
[[nodiscard]] inline bool hides_infinities(const scenario& s) { return s.clip_value && s.order.clip_before_check; }

// Where one sign overflows and the other does not.
[[nodiscard]] inline bool overflow_depends_on_sign(const treatment& how) {
  return overflow_is_infinite(how, false) != overflow_is_infinite(how, true);
}

}  // namespace ulp

#endif
