// OpenRLHF's arguments: OpenRLHF/OpenRLHF openrlhf/cli/train_*.py, openrlhf/utils/deepspeed/deepspeed_utils.py (bf16, fp16
// and gradient_clipping of DeepSpeed's configuration, without a key of the loss scale). Newer versions group their arguments: ds.param_dtype
// (bf16 where it is not given), max_norm in train_sft.py, actor.max_norm in train_ppo_ray.py.
#include "rows.hpp"

namespace ulp::io {

program_row openrlhf_program() {
  return {
      .name = "OpenRLHF",
      .markers = "micro_train_batch_size pretrain+zero_stage micro_rollout_batch_size ds.param_dtype ds.zero_stage",
      .started_by = "openrlhf.cli.*",
      .keys =
          {.not_read =
               "value_clip eps_clip flash_attn load_in_4bit vllm_num_engines critic reward ref vllm rollout algo ckpt logger eval data model adam"},
      .defaults = "bf16=false zero_stage=2 ds.param_dtype=bf16 ds.zero_stage=2",
      .precision = {{.when = "ds ds.param_dtype=bf16 ds.grad_accum_dtype=fp32",
                     .format = "bfloat16",
                     .weights = "float32",
                     .sums = "float32",
                     .meaning = "DeepSpeed's bf16, the loss is not scaled"},
                    {.when = "ds ds.param_dtype=bf16",
                     .format = "bfloat16",
                     .weights = "float32",
                     .meaning = "DeepSpeed's bf16, the loss is not scaled"},
                    {.when = "ds.param_dtype=fp16 ds.zero_stage=1|2|3",
                     .format = "float16",
                     .scaler = "deepspeed_dynamic",
                     .parameters = "init_scale=4294967296 scale_window=1000 delayed_shift=1 "
                                   "consecutive_hysteresis=false min_scale=1",
                     .weights = "float32",
                     .meaning = "DeepSpeed's fp16, with no key of its loss scale: the defaults of its class"},
                    {.when = "bf16=true grad_accum_dtype=fp32",
                     .format = "bfloat16",
                     .weights = "float32",
                     .sums = "float32",
                     .meaning = "DeepSpeed's bf16, the loss is not scaled"},
                    {.when = "bf16=true grad_accum_dtype=bf16",
                     .format = "bfloat16",
                     .weights = "float32",
                     .sums = "bfloat16",
                     .meaning = "DeepSpeed's bf16, the loss is not scaled"},
                    {.when = "bf16=true !grad_accum_dtype",
                     .format = "bfloat16",
                     .weights = "float32",
                     .meaning = "DeepSpeed's bf16, the loss is not scaled"},
                    {.when = "param_dtype=bf16",
                     .format = "bfloat16",
                     .weights = "float32",
                     .meaning = "DeepSpeed's bf16, the loss is not scaled"},
                    {.when = "param_dtype=fp16 zero_stage=1|2|3",
                     .format = "float16",
                     .scaler = "deepspeed_dynamic",
                     .parameters = "init_scale=4294967296 scale_window=1000 delayed_shift=1 "
                                   "consecutive_hysteresis=false min_scale=1",
                     .weights = "float32",
                     .meaning = "DeepSpeed's fp16, with no key of its loss scale: the defaults of its class"},
                    {.when = "param_dtype", .refused = "is not a type whose scaler is known here"},
                    {.when = "!bf16 !param_dtype",
                     .refused = "is not given, nor is param_dtype: newer versions train in bfloat16 then, older ones "
                                "in the type of the model's own file; write param_dtype"},
                    {.when = "bf16=false",
                     .refused = "is off: then the model's own file says the type, which is not read here"}},
      .clipping = {{.key = "actor.max_norm", .when = "actor", .otherwise = 1}, {.key = "max_norm", .otherwise = 1}},
      .remarks = {{.when = "ds.param_dtype=fp16",
                   .text = "from the version on that has runtime/precision_config.py, DeepSpeed takes its documented "
                           "defaults here (2^16, hysteresis 2): for those --set init_scale=2^16 --set delayed_shift=2"},
                  {.when = "param_dtype=fp16",
                   .text =
                       "from the version on that has runtime/precision_config.py, DeepSpeed takes its documented "
                       "defaults here (2^16, hysteresis 2): for those --set init_scale=2^16 --set delayed_shift=2"}}};
}

}  // namespace ulp::io
