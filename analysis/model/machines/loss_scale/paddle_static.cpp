// Paddle's update_loss_scaling kernel, for static graphs: PaddlePaddle/Paddle @20ffb9f4
// paddle/phi/kernels/impl/amp_kernel_impl.h, with the defaults of paddle.static.amp.decorate.
// Reproduced: as paddle_dygraph, with a floor of 1 and growth to infinity dropped.
#include "paddle.hpp"

namespace ulp::scalers {
namespace {

struct paddle_static : paddle_arguments {
  paddle_static() {
    init_loss_scaling = 32768;
    decr_ratio = 0.8;
    incr_every_n_steps = 1000;
    decr_every_n_nan_or_inf = 2;
  }

  using machine = engine<float32_arithmetic,
                         rules{.waits = patience::up_exactly, .restarts_when_spent = true, .stays_finite = true}>;

  [[nodiscard]] settings values() const {
    settings s = paddle_arguments::values();
    s.floor = 1;
    return s;
  }
  template <typename State, typename Visitor>
  static void state_fields(State& s, Visitor&& v) {
    v("loss_scaling", s.scale);
    v("num_good_steps", s.tracker);
    v("num_bad_steps", s.waited);
  }
};

}  // namespace

registration paddle_static_row() {
  return ruled_row<paddle_static>(
      {.family = "A / P",
       .summary = "Paddle's update_loss_scaling kernel in static graphs",
       .overflow_test = "element of the scaled gradients",
       .floor = "1",
       .ceiling = "kept finite",
       .window = "incr_every_n_steps",
       .rules = "overflow: skip, good = 0, bad += 1; when bad equals decr_every_n_nan_or_inf: scale = max(scale * "
                "decr_ratio, 1), bad = 0\n"
                "good step: bad = 0, good += 1; when good equals incr_every_n_steps: scale *= incr_ratio, good = 0",
       .quirks = "decr_every_n_nan_or_inf counts overflows in a row\n"
                 "by 0.8: the scale leaves the powers of two\n"
                 "growth that would leave float32 is dropped, the count restarts\n"
                 "the kernel sets the gradients of an overflowed step to zero",
       .source = "PaddlePaddle/Paddle paddle/phi/kernels/impl/amp_kernel_impl.h @20ffb9f4"});
}

}  // namespace ulp::scalers
