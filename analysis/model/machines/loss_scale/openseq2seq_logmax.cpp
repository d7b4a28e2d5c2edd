// OpenSeq2Seq LogMaxScaler: NVIDIA/OpenSeq2Seq @8681d381 open_seq2seq/optimizers/automatic_loss_scaler.py.
// Reproduced: float32, one rounding per operation, in the order of the original, which decides the last bits; the
// largest gradient enters as its log2, but an overflow as 2^log_max itself, so that mean and variance explode and the
// scale stays at its floor for thousands of steps; the 16 of the difference does not follow log_max. Logarithm and power
// are numpy's, on which the recorded traces were made; TensorFlow's own may differ in the last bits.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "numpy_math.hpp"
#include "policy.hpp"

namespace ulp::scalers {
namespace {

struct openseq2seq_logmax {
  double scale_min = 1;
  double scale_max = 0x1p14;
  double log_max = 16;
  double beta1 = 0.99;
  double beta2 = 0.999;
  double overflow_std_dev = 3.09;

  template <typename Visitor>
  void fields(Visitor&& v) {
    v("scale_min", scale_min, "floor of the scale");
    v("scale_max", scale_max, "ceiling of the scale");
    v("log_max", log_max, "an overflow counts as a gradient whose log2 is 2 to the power of this");
    v("beta1", beta1, "decay of the mean of log2 of the largest gradient");
    v("beta2", beta2, "decay of its mean and mean square for the deviation");
    v("overflow_std_dev", overflow_std_dev, "deviations above the mean that are to fit below 2^16");
  }

  struct state {
    float scale = 1;
    float x_hat = 0;
    float slow_x_hat = 0;
    float xsquared_hat = 0;
    float b1_correction = 1;
    float b2_correction = 1;
    template <typename Visitor>
    void fields(Visitor&& v) {
      v("scale", scale);
      v("x_hat", x_hat);
      v("slow_x_hat", slow_x_hat);
      v("xsquared_hat", xsquared_hat);
      v("b1_correction", b1_correction);
      v("b2_correction", b2_correction);
    }
  };

  [[nodiscard]] state start() const { return {}; }
  [[nodiscard]] double scale(const state& s) const { return static_cast<double>(s.scale); }

  // The larger, NaN if x is one.
  [[nodiscard]] static float at_least(float x, float least) { return x < least ? least : x; }

  [[nodiscard]] transition<state> next(state s, const scaler_input& input) const {
    if (!input.found_inf && std::isnan(input.max_abs))
      return {s,
              {.skipped = false,
               .error = "LogMax follows the largest gradient of every step, which this input does not have: use a "
                        "recording or a step log with maxabs",
               .lacks_input = true}};
    const float x = input.found_inf ? numpy_exp2(static_cast<float>(log_max))
                                    : numpy_log(static_cast<float>(input.max_abs)) / std::numbers::ln2_v<float>;
    const auto b1 = static_cast<float>(beta1);
    const auto rest1 = static_cast<float>(1 - beta1);
    const auto b2 = static_cast<float>(beta2);
    const auto rest2 = static_cast<float>(1 - beta2);
    s.x_hat = b1 * s.x_hat + rest1 * x;
    s.b1_correction *= b1;
    s.slow_x_hat = b2 * s.slow_x_hat + rest2 * x;
    s.xsquared_hat = b2 * s.xsquared_hat + rest2 * (x * x);
    s.b2_correction *= b2;

    const float mean = s.x_hat / (1 - s.b1_correction);
    const float slow_mean = s.slow_x_hat / (1 - s.b2_correction);
    const float variance = s.xsquared_hat / (1 - s.b2_correction) - slow_mean * slow_mean;
    const float deviation = std::sqrt(at_least(variance, 0));
    const float cutoff = deviation * static_cast<float>(overflow_std_dev) + mean;
    const float proposed = numpy_exp2(16 - cutoff);
    const auto most = static_cast<float>(scale_max);
    s.scale = at_least(proposed > most ? most : proposed, static_cast<float>(scale_min));
    return {s, {.skipped = input.found_inf}};
  }
};

}  // namespace

registration openseq2seq_logmax_row() {
  return row<openseq2seq_logmax>(
      {.family = "own",
       .summary = "OpenSeq2Seq LogMaxScaler; needs the largest gradient of every step",
       .overflow_test = "element of the unscaled float32 gradients",
       .floor = "scale_min",
       .ceiling = "scale_max",
       .rules = "x = log2 of the largest unscaled gradient, 2^log_max on overflow\n"
                "mean of x (beta1) and its deviation (beta2) as bias-corrected exponential averages\n"
                "every step: scale = 2^(16 - mean - overflow_std_dev * deviation), clipped to [scale_min, scale_max]",
       .quirks = "an overflow enters as 65536 where log2 values are meant: at a constant 2^-3 a single one pins the "
                 "scale to its floor for 11,635 steps\n"
                 "scales are not powers of two",
       .source = "NVIDIA/OpenSeq2Seq open_seq2seq/optimizers/automatic_loss_scaler.py @8681d381"});
}

}  // namespace ulp::scalers
