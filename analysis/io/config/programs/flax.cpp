// Flax in a script: google/flax flax/training/dynamic_scale.py (DynamicScale), examples/imagenet/train.py (half_precision is float16
// with a DynamicScale on GPUs, and bfloat16 on TPUs).
#include "rows.hpp"

namespace ulp::io {

program_row flax_program() {
  return {
      .name = "Flax",
      .calls = "DynamicScale",
      .named_in_script = "DynamicScale(",
      .keys = {.read = "()"},
      .precision =
          {{.when = "!()",
            .refused =
                "calls DynamicScale nowhere but perhaps in a branch, which only a run decides; give --scaler flax_dynamic_scale or none, and --format"},
           {.format = "float16", .scaler = "flax_dynamic_scale", .meaning = "float16 with DynamicScale"}},
      .scale = {{"flax_dynamic_scale", "scale", "scale", "scale of the first step"},
                {"flax_dynamic_scale", "growth_factor", "growth_factor", "factor of growth"},
                {"flax_dynamic_scale", "backoff_factor", "backoff_factor", "factor of backoff"},
                {"flax_dynamic_scale", "growth_interval", "growth_interval", "finite steps before the scale grows"},
                {"flax_dynamic_scale", "minimum_scale", "minimum_scale", "floor of the scale"}},
      .remarks =
          {{.text =
                "float16 is assumed, since a DynamicScale is for it; optax clips in the program: give --clip-norm"}},
      .place = written_in::files};
}

program_row flax_examples_program() {
  return {.name = "Flax",
          .markers = "config.half_precision",
          .precision = {{.when = "config.half_precision=true",
                         .refused = "is float16 with a DynamicScale on GPUs, and bfloat16 without one on TPUs; give "
                                    "--scaler flax_dynamic_scale or none, and --format"},
                        {.format = "float32", .weights = "float32", .meaning = in_float32}},
          .clipping = {{}}};
}

}  // namespace ulp::io
