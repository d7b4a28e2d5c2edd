// The plugins of Colossal-AI in a script: hpcaitech/ColossalAI colossalai/booster/plugin/low_level_zero_plugin.py (2^32),
// gemini_plugin.py, hybrid_parallel_plugin.py (2^16); precision is fp16 and max_norm 0 where they are not given.
#include "rows.hpp"

namespace ulp::io {

program_row colossalai_program() {
  return {.name = "Colossal-AI",
          .calls = "LowLevelZeroPlugin GeminiPlugin HybridParallelPlugin",
          .keys = {.read = "()",
                   .not_read =
                       "fp8_communication use_fp8 cast_inputs overlap_communication master_weights overlap_allgather"},
          .defaults = "precision=fp16 norm_type=2 use_fp8=false",
          .precision = {{.when = "use_fp8=true", .refused = "computes in float8, whose scales are not replayed"},
                        {.when = "precision=fp16 ()=lowlevelzeroplugin",
                         .format = "float16",
                         .scaler = "colossalai_mixin",
                         .parameters = "initial_scale=4294967296",
                         .meaning = "float16, the loss is scaled"},
                        {.when = "precision=fp16",
                         .format = "float16",
                         .scaler = "colossalai_mixin",
                         .parameters = "initial_scale=65536",
                         .meaning = "float16, the loss is scaled"},
                        {.when = "precision=bf16", .format = "bfloat16", .meaning = "bfloat16, the loss is not scaled"},
                        {.when = "precision=fp32", .format = "float32", .meaning = in_float32}},
          .scale = {{"colossalai_mixin", "initial_scale", "initial_scale", "scale of the first step"},
                    {"colossalai_mixin", "min_scale", "min_scale", "floor of the scale"},
                    {"colossalai_mixin", "max_scale", "max_scale", "ceiling of the scale"},
                    {"colossalai_mixin", "growth_factor", "growth_factor", "factor of growth"},
                    {"colossalai_mixin", "backoff_factor", "backoff_factor", "factor of backoff"},
                    {"colossalai_mixin", "growth_interval", "growth_interval",
                     "good steps in a row before the scale grows"},
                    {"colossalai_mixin", "hysteresis", "hysteresis", "overflows that lower the scale"}},
          .clipping = {{.key = "max_norm", .when = "norm_type=2|2.0"},
                       {.when = "norm_type", .refused = "is another norm than L2, which is not replayed"}}};
}

}  // namespace ulp::io
