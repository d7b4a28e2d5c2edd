// WeNet's YAML, and its command: wenet-e2e/wenet @01546996 wenet/utils/train_utils.py (init_scaler, batch_forward: --use_amp, or --dtype
// with FSDP, which the recipe's file cannot say; grad_clip is 50 where it is not given), examples/aishell/s0/conf.
#include "rows.hpp"

namespace ulp::io {

program_row wenet_program() {
  return {
      .name = "WeNet",
      .markers = "dataset_conf+grad_clip dataset_conf+accum_grad cmvn_conf+tokenizer_conf train_engine",
      .started_by = "wenet/bin/train.py",
      .takes_command = true,
      .settings = "config",
      .holds = "ESPnet",
      .keys = {.not_read =
                   "encoder_conf decoder_conf ctc_conf model_conf dataset_conf fp16_grad_sync deepspeed_config"},
      .defaults = "train_engine=torch_ddp use_amp=false dtype=fp32",
      .precision =
          {{.when = "train_engine=deepspeed", .refused = "hands the loss scale to DeepSpeed; give its JSON"},
           torch_scaled("use_amp=true"),
           torch_scaled("train_engine=torch_fsdp dtype=fp16", "FSDP in float16 with ShardedGradScaler's defaults"),
           {.when = "train_engine=torch_fsdp dtype=bf16",
            .format = "bfloat16",
            .weights = "float32",
            .meaning = "FSDP in bfloat16, the loss is not scaled"},
           {.when = "dtype=fp16 !command",
            .refused = "is fp16, and leaves open whose scaler it is: give the command that trains"},
           {.when = "dtype=bf16 !command",
            .format = "bfloat16",
            .weights = "float32",
            .meaning = "bfloat16, the loss is not scaled"},
           {.when = "!dtype !command",
            .refused =
                "is not given: WeNet takes it from its command line (--use_amp, --dtype); give the command that trains, with "
                "the file beside it"},
           {.format = "float32", .weights = "float32", .meaning = in_float32}},
      .clipping = {{.key = "grad_clip", .otherwise = 50, .clips_to_zero = true}},
      .microbatches = "accum_grad"};
}

}  // namespace ulp::io
