// mxnet.amp LossScaler: apache/incubator-mxnet @970a2cfb python/mxnet/amp/loss_scaler.py, used by gluon/trainer.py;
// 1.5 to 1.8 compute the same. Its attributes are the parameters here: the constructor takes none.
// Reproduced: the overflow check first adopts the scale that the step before decided, so a change takes effect one step
// late and an overflow normally costs two skipped steps and two halvings; doubles; no floor.
#include <algorithm>

#include "policy.hpp"

namespace ulp::scalers {
namespace {

struct mxnet_amp {
  double loss_scale = 65536;
  std::optional<double> next_loss_scale;
  double max_loss_scale = 0x1p24;
  std::int64_t scale_seq_len = 2000;

  template <typename Visitor>
  void fields(Visitor&& v) {
    v("_loss_scale", loss_scale, "scale of the first step");
    v("_next_loss_scale", next_loss_scale, "scale of the second step; none: that of the first");
    v("_max_loss_scale", max_loss_scale, "ceiling of the scale when it grows");
    v("_scale_seq_len", scale_seq_len, "good steps in a row before the scale grows");
  }

  struct state {
    double loss_scale = 0;
    double next_loss_scale = 0;
    std::int64_t unskipped = 0;
    template <typename Visitor>
    void fields(Visitor&& v) {
      v("_loss_scale", loss_scale);
      v("_next_loss_scale", next_loss_scale);
      v("_unskipped", unskipped);
    }
  };

  [[nodiscard]] state start() const {
    return {.loss_scale = loss_scale, .next_loss_scale = next_loss_scale.value_or(loss_scale)};
  }
  [[nodiscard]] double scale(const state& s) const { return s.loss_scale; }

  [[nodiscard]] transition<state> next(state s, const scaler_input& input) const {
    s.loss_scale = s.next_loss_scale;
    if (input.found_inf) {
      s.next_loss_scale = s.loss_scale / 2;
      s.unskipped = 0;
    } else {
      ++s.unskipped;
    }
    if (s.unskipped == scale_seq_len) {
      s.unskipped = 0;
      s.next_loss_scale = std::min(max_loss_scale, s.loss_scale * 2);
    }
    return {s, {.skipped = input.found_inf}};
  }
};

}  // namespace

registration mxnet_amp_row() {
  return row<mxnet_amp>(
      {.aliases = {"mxnet"},
       .family = "G",
       .summary = "mxnet.amp LossScaler",
       .overflow_test = "element of the scaled gradients",
       .floor = "none; 0 stays",
       .ceiling = "_max_loss_scale",
       .window = "_scale_seq_len",
       .rules = "every step: the pending scale becomes the scale\n"
                "overflow: skip, pending = scale / 2, counter = 0\n"
                "good step: counter += 1; when it equals _scale_seq_len: pending = min(_max_loss_scale, 2 * scale), "
                "counter = 0",
       .quirks = "a change decided in one step is used two steps later: an overflow normally costs two skipped steps "
                 "and two halvings\n"
                 "no floor: after some 1090 overflows the scale is 0 forever",
       .source = "apache/incubator-mxnet python/mxnet/amp/loss_scaler.py @970a2cfb"});
}

}  // namespace ulp::scalers
