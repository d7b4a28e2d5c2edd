// Keras' delayed scaling for float8 layers: keras-team/keras @3422977a keras/src/quantizers/quantizers.py
// (compute_float8_scale, compute_float8_amax_history, quantize_and_dequantize) as its layers call them.
// Reproduced: as flax_delayed, but a step is cast with the scale before, one step later.
#include "dequantization.hpp"

namespace ulp::fp8 {

registration keras_delayed_row() {
  return row<dequantization<false>>(
      {.summary = "Keras' delayed scaling of float8 layers",
       .nonfinite = "infinity and NaN keep the scale while they are in the history",
       .rules = "the step's values are divided by the scale as it is\n"
                "then amax of the history before this step finite and above 0: scale = amax * 2^margin / fp8_max,\n"
                "and this step's amax enters the history",
       .quirks = "the scale is what values are divided by\n"
                 "an amax reaches the scale that casts two steps later, in Flax one",
       .source = "keras-team/keras keras/src/quantizers/quantizers.py @3422977a",
       .divides = true});
}

}  // namespace ulp::fp8
