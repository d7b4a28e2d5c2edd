// paddle.amp.GradScaler and AmpScaler in dynamic graphs: PaddlePaddle/Paddle @00816fcb
// python/paddle/amp/grad_scaler.py.
// Reproduced: float32; the count of overflows is of those in a row, although the documentation says accumulated;
// neither floor nor ceiling. Defaults are GradScaler's; AmpScaler's are those of `paddle_ampscaler`.
#include "paddle.hpp"

namespace ulp::scalers {
namespace {

struct paddle_dygraph : paddle_arguments {
  using machine = engine<float32_arithmetic, rules{.waits = patience::up_exactly, .restarts_when_spent = true}>;

  template <typename State, typename Visitor>
  static void state_fields(State& s, Visitor&& v) {
    v("scale", s.scale);
    v("incr_count", s.tracker);
    v("decr_count", s.waited);
  }
};

}  // namespace

registration paddle_dygraph_row() {
  return ruled_row<paddle_dygraph>(
      {.aliases = {"paddle"},
       .family = "A / P",
       .summary = "paddle.amp.GradScaler in dynamic graphs",
       .overflow_test = "element of the scaled gradients",
       .floor = "none; 0 stays",
       .ceiling = "none",
       .window = "incr_every_n_steps",
       .rules = "overflow: skip, incr count = 0, decr count += 1; when it equals decr_every_n_nan_or_inf: scale *= "
                "decr_ratio, decr count = 0\n"
                "good step: decr count = 0, incr count += 1; when it equals incr_every_n_steps: scale *= incr_ratio, "
                "incr count = 0",
       .quirks = "decr_every_n_nan_or_inf counts overflows in a row, not accumulated ones as documented\n"
                 "no floor and no ceiling: 0 and infinity stay\n"
                 "with bfloat16 it disables itself",
       .source = "PaddlePaddle/Paddle python/paddle/amp/grad_scaler.py @00816fcb"});
}

registration paddle_ampscaler_row() {
  paddle_dygraph ampscaler;
  ampscaler.init_loss_scaling = 32768;
  ampscaler.incr_every_n_steps = 1000;
  return preset(paddle_dygraph_row(), "paddle_dygraph with the defaults of AmpScaler", ampscaler);
}

}  // namespace ulp::scalers
