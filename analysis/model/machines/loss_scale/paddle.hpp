// What Paddle's two scalers share.
#ifndef ULP_MODEL_MACHINES_LOSS_SCALE_PADDLE_HPP
#define ULP_MODEL_MACHINES_LOSS_SCALE_PADDLE_HPP

#include <string>

#include "engine.hpp"

namespace ulp::scalers {

struct paddle_arguments {
  double init_loss_scaling = 65536;
  double incr_ratio = 2;
  double decr_ratio = 0.5;
  std::int64_t incr_every_n_steps = 2000;
  std::int64_t decr_every_n_nan_or_inf = 1;

  template <typename Visitor>
  void fields(Visitor&& v) {
    v("init_loss_scaling", init_loss_scaling, "scale of the first step");
    v("incr_ratio", incr_ratio, "factor of growth");
    v("decr_ratio", decr_ratio, "factor of backoff");
    v("incr_every_n_steps", incr_every_n_steps, "good steps in a row before the scale grows");
    v("decr_every_n_nan_or_inf", decr_every_n_nan_or_inf, "overflows in a row before the scale is lowered");
  }
  [[nodiscard]] std::string refused() const {
    if (!(incr_ratio > 1)) return "incr_ratio must be above 1";
    if (!(decr_ratio < 1)) return "decr_ratio must be below 1";
    return {};
  }
  [[nodiscard]] settings values() const {
    return {.start = init_loss_scaling,
            .growth = incr_ratio,
            .backoff = decr_ratio,
            .window = static_cast<double>(incr_every_n_steps),
            .limit = decr_every_n_nan_or_inf,
            .refilled_by_good = true};
  }
};

}  // namespace ulp::scalers

#endif
