// Flax's delayed scaling: google/flax @18f8f311 flax/linen/fp8_ops.py, compute_scale, compute_amax_history, quantize.
// Reproduced: the history is read before the step's amax enters it, and the step is cast with what that gives.
#include "dequantization.hpp"

namespace ulp::fp8 {

registration flax_delayed_row() {
  return row<dequantization<true>>(
      {.summary = "Flax's delayed scaling (fp8_ops)",
       .nonfinite = "infinity and NaN keep the scale while they are in the history",
       .rules = "amax of the history before this step finite and above 0: scale = amax * 2^margin / fp8_max\n"
                "the step's values are divided by it; then their amax enters the history",
       .quirks = "the scale is what values are divided by\n"
                 "where it is kept, 1 / (1 / scale) may change its last bit",
       .source = "google/flax flax/linen/fp8_ops.py @18f8f311",
       .divides = true});
}

}  // namespace ulp::fp8
