// AudioCraft's solvers of language models, MusicGen and AudioGen: facebookresearch/audiocraft config/solver/musicgen/default.yaml (keys),
// config/solver/default.yaml (fsdp.use false), audiocraft/solvers/musicgen.py (build_model: the scaler; run_step: clipping).
#include "rows.hpp"

namespace ulp::io {

program_row audiocraft_program() {
  return {.name = "AudioCraft",
          .markers = "autocast_dtype+solver",
          .keys = {.not_read = "dataset generate evaluate metrics defaults fsdp.reduce_dtype fsdp.buffer_dtype"},
          .defaults = "fsdp.use=false",
          .precision =
              {{.when = "fsdp.use=true fsdp.param_dtype=float16",
                .format = "float16",
                .scaler = "pytorch_gradscaler",
                .parameters = torch_grad_scaler,
                .weights = "float32",
                .meaning = "FSDP in float16 with ShardedGradScaler's defaults"},
               {.when = "fsdp.use=true",
                .refused = "leaves the format to fsdp.param_dtype; write float16, or give --scaler and --format"},
               {.when = "!autocast", .refused = "is not given: the solver's own file decides on autocast; write it"},
               {.when = "autocast=false", .format = "float32", .weights = "float32", .meaning = in_float32},
               torch_scaled("autocast_dtype=float16"),
               {.when = "autocast_dtype=bfloat16", .format = "bfloat16", .weights = "float32", .meaning = to_bfloat16}},
          .clipping = {{.key = "optim.max_norm", .when = "optim.max_norm"},
                       {.when = "!optim.max_norm",
                        .refused = "is not given: the solver's own file decides; write optim.max_norm"}},
          .place = written_in::files};
}

}  // namespace ulp::io
