// The scaler that fairseq, metaseq and fairscale each have a copy of: it tolerates a share of overflows since the scale
// last changed. With tolerance 0 fairseq's is of class A; the copies differ from it where `fairseq_copy` says.
#ifndef ULP_MODEL_MACHINES_LOSS_SCALE_FAIRSEQ_HPP
#define ULP_MODEL_MACHINES_LOSS_SCALE_FAIRSEQ_HPP

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include "policy.hpp"

namespace ulp::scalers {

struct fairseq_arguments {
  double init_scale = 32768;
  double scale_factor = 2;
  double scale_window = 2000;
  double tolerance = 0;
  std::optional<double> threshold;
  double min_loss_scale = 1e-4;

  template <typename Visitor>
  void fields(Visitor&& v) {
    v("init_scale", init_scale, "scale of the first step");
    v("scale_factor", scale_factor, "factor of growth, divisor of backoff");
    v("scale_window", scale_window, "good steps in a row before the scale grows");
    v("tolerance", tolerance, "share of overflowed steps since the last change from which the scale is lowered");
    v("threshold", threshold, "floor of the scale; none: no floor");
    v("min_loss_scale", min_loss_scale, "least scale that is allowed, see the rules");
  }
};

enum class fairseq_copy {
  fairseq,    // reaching the minimum raises
  fairscale,  // the same, and the update of a good step follows on skipped steps too
  metaseq,    // the window grows and shrinks with the scale, and the scale stays above the minimum
};

template <fairseq_copy Copy>
class fairseq_runner {
 public:
  struct state {
    double loss_scale = 1;
    double scale_window = 1;  // a float where it was multiplied; changes in metaseq only
    std::int64_t iter = 0;
    std::int64_t last_overflow_iter = -1;
    std::int64_t last_rescale_iter = -1;
    std::int64_t overflows_since_rescale = 0;
    template <typename Visitor>
    void fields(Visitor&& v) {
      v("loss_scale", loss_scale);
      if constexpr (Copy == fairseq_copy::metaseq) v("scale_window", scale_window);
      v("_iter", iter);
      v("_last_overflow_iter", last_overflow_iter);
      v("_last_rescale_iter", last_rescale_iter);
      v("_overflows_since_rescale", overflows_since_rescale);
    }
  };

  explicit fairseq_runner(const fairseq_arguments& arguments) : p_(arguments) {}

  [[nodiscard]] state start() const { return {.loss_scale = p_.init_scale, .scale_window = p_.scale_window}; }
  [[nodiscard]] double scale(const state& s) const { return s.loss_scale; }

  [[nodiscard]] transition<state> next(state s, const scaler_input& input) const {
    if (!found_inf(s, input)) {
      if (window_is_zero(s)) return {s, {.skipped = false, .error = no_modulo}};
      update(s);
      return {s, {}};
    }
    const double before = s.loss_scale;
    const std::int64_t since = s.iter - s.last_rescale_iter;
    s.last_overflow_iter = s.iter;
    ++s.overflows_since_rescale;
    if (since == 0)  // only after an error that was caught
      return {s, {.skipped = true, .error = "ZeroDivisionError: float division by zero"}};
    if (static_cast<double>(s.overflows_since_rescale) / static_cast<double>(since) >= p_.tolerance) {
      if (p_.scale_factor == 0) return {s, {.skipped = true, .error = "ZeroDivisionError: float division by zero"}};
      lower(s);
      s.last_rescale_iter = s.iter;
      s.overflows_since_rescale = 0;
    }
    if constexpr (Copy == fairseq_copy::metaseq) {
      if (s.loss_scale < p_.min_loss_scale) s.loss_scale = before;
    } else if (s.loss_scale <= p_.min_loss_scale) {
      s.loss_scale = before;
      return {s, {.skipped = true, .error = minimum_reached()}};
    }
    ++s.iter;
    if constexpr (Copy == fairseq_copy::fairscale) {
      if (window_is_zero(s)) return {s, {.skipped = true, .error = no_modulo}};
      update(s);
    }
    return {s, {.skipped = true}};
  }

 private:
  static constexpr const char* no_modulo = "ZeroDivisionError: integer modulo by zero";

  // The norm is a float32, and so are the squares that it is made of.
  [[nodiscard]] bool found_inf(const state& s, const scaler_input& input) const {
    return input.found_inf || squares_overflow(s.loss_scale * input.unscaled_norm, s.loss_scale * input.max_abs);
  }

  [[nodiscard]] static bool window_is_zero(const state& s) { return s.scale_window == 0; }
  [[nodiscard]] static bool window_passed(const state& s) {
    return std::fmod(static_cast<double>(s.iter - s.last_overflow_iter), s.scale_window) == 0;
  }

  void update(state& s) const {
    if (window_passed(s)) {
      s.loss_scale *= p_.scale_factor;
      s.last_rescale_iter = s.iter;
      if constexpr (Copy == fairseq_copy::metaseq) s.scale_window *= p_.scale_factor;
    }
    ++s.iter;
  }

  void lower(state& s) const {
    s.loss_scale /= p_.scale_factor;
    if constexpr (Copy == fairseq_copy::metaseq)
      s.scale_window = std::max(std::trunc(s.scale_window / p_.scale_factor), 1.0);
    if (p_.threshold) s.loss_scale = std::max(s.loss_scale, *p_.threshold);
  }

  [[nodiscard]] std::string minimum_reached() const {
    return "FloatingPointError: minimum loss scale reached (" + to_string(parameter_value{p_.min_loss_scale}) +
           "): the loss is probably exploding";
  }

  fairseq_arguments p_;
};

}  // namespace ulp::scalers

#endif
