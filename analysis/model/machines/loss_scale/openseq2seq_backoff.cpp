// OpenSeq2Seq BackoffScaler: NVIDIA/OpenSeq2Seq @8681d381 open_seq2seq/optimizers/automatic_loss_scaler.py.
// Reproduced: float32 arithmetic; the scale starts at its ceiling; growth by (iteration - last overflow) % step_window,
// which growth does not reset. The TensorFlow graph leaves open whether the iteration is raised before it is read:
// iteration_read says which; the two differ in the first growth only.
#include <algorithm>

#include "policy.hpp"

namespace ulp::scalers {
namespace {

struct openseq2seq_backoff {
  double scale_min = 1;
  double scale_max = 0x1p14;
  double step_factor = 2;
  std::int64_t step_window = 2000;
  std::string iteration_read = "after";

  template <typename Visitor>
  void fields(Visitor&& v) {
    v("scale_min", scale_min, "floor of the scale");
    v("scale_max", scale_max, "ceiling of the scale, and scale of the first step");
    v("step_factor", step_factor, "factor of growth, divisor of backoff");
    v("step_window", step_window, "steps since the last overflow, modulo this, at which the scale grows");
    v("iteration_read", iteration_read, "after or before: whether the step's own number is raised before it is read");
  }

  struct state {
    float scale = 0;
    std::int64_t iteration = 0;
    std::int64_t last_overflow_iteration = -1;
    template <typename Visitor>
    void fields(Visitor&& v) {
      v("scale", scale);
      v("iteration", iteration);
      v("last_overflow_iteration", last_overflow_iteration);
    }
  };

  [[nodiscard]] std::string refused() const {
    if (step_window == 0) return "step_window must not be 0: steps are counted modulo it";
    if (iteration_read != "after" && iteration_read != "before")
      return "iteration_read must be after or before, not '" + iteration_read + "'";
    return {};
  }
  [[nodiscard]] state start() const { return {.scale = static_cast<float>(scale_max)}; }
  [[nodiscard]] double scale(const state& s) const { return static_cast<double>(s.scale); }

  [[nodiscard]] transition<state> next(state s, const scaler_input& input) const {
    const auto clipped = [&](float x) {
      return std::max(std::min(x, static_cast<float>(scale_max)), static_cast<float>(scale_min));
    };
    const auto factor = static_cast<float>(step_factor);
    const std::int64_t now = iteration_read == "after" ? s.iteration + 1 : s.iteration;
    ++s.iteration;
    if (input.found_inf) {
      s.scale = clipped(s.scale / factor);
      s.last_overflow_iteration = now;
    } else if ((now - s.last_overflow_iteration) % step_window == 0) {
      s.scale = clipped(s.scale * factor);
    }
    return {s, {.skipped = input.found_inf}};
  }
};

}  // namespace

registration openseq2seq_backoff_row() {
  return row<openseq2seq_backoff>(
      {.aliases = {"openseq2seq"},
       .family = "A, clipped",
       .summary = "OpenSeq2Seq BackoffScaler",
       .overflow_test = "element of the unscaled float32 gradients",
       .floor = "scale_min",
       .ceiling = "scale_max",
       .window = "step_window",
       .rules = "overflow: skip, scale /= step_factor\n"
                "good step with (iteration - last overflow) % step_window == 0: scale *= step_factor\n"
                "clipped to [scale_min, scale_max]",
       .quirks = "starts at the ceiling, so nothing grows before the first overflow\n"
                 "whether the iteration is raised before it is read is left open by the original; see iteration_read",
       .source = "NVIDIA/OpenSeq2Seq open_seq2seq/optimizers/automatic_loss_scaler.py @8681d381"});
}

}  // namespace ulp::scalers
