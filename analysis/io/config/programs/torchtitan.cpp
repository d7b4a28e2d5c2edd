// torchtitan's TOML, and the same keys on its command line: pytorch/torchtitan @2dfaa276 torchtitan/config/job_config.py. There
// is no loss scale in it: mixed precision is bfloat16 or float32.
#include "rows.hpp"

namespace ulp::io {

program_row torchtitan_program() {
  return {
      .name = "torchtitan",
      .markers =
          "training.local_batch_size+training.seq_len training.mixed_precision_param job+training training+parallelism+metrics "
          "training+activation_checkpoint model.converters",
      .started_by = "torchtitan torchtitan/train.py torchtitan.train",
      .settings = "config_file",
      .keys =
          {.read = "training.mixed_precision_reduce",
           .not_read =
               "checkpoint mx comm float8 float8.enable_fsdp_float8_all_gather float8.precompute_float8_dynamic_scale_for_fsdp "
               "float8.force_recompute_fp8_weight_in_bwd float8.emulate float8.moe_fqns float8.moe_fqns_prototype quantize.linear.fp8 quantize.linear.mx quantize.grouped_mm quantize.dense"},
      .defaults = "training.dtype=float32 training.mixed_precision_param=bfloat16",
      .precision = {{.when = "training.dtype=bfloat16",
                     .format = "bfloat16",
                     .weights = "bfloat16",
                     .meaning = "weights in bfloat16 without a float32 copy, the loss is not scaled"},
                    {.when = "training.mixed_precision_param=bfloat16 training.dtype=float32",
                     .format = "bfloat16",
                     .weights = "float32",
                     .meaning = "bfloat16, the loss is not scaled"},
                    {.when = "training.mixed_precision_param=float32 training.dtype=float32",
                     .format = "float32",
                     .weights = "float32",
                     .meaning = in_float32}},
      .clipping = {{.key = "training.max_norm", .otherwise = 1, .clips_to_zero = true}},
      .float8 = {{.when = "model.converters=float8 quantize.linear.float8",
                  .recipe = "quantize.linear.float8.recipe_name",
                  .otherwise = "tensorwise",
                  .kept_out = "quantize.linear.float8.filter_fqns",
                  .library = "torchao"},
                 {.when = "model.converters=float8",
                  .recipe = "float8.recipe_name",
                  .otherwise = "tensorwise",
                  .kept_out = "float8.filter_fqns",
                  .library = "torchao"}},
      .remarks = {
          {.when = "training.dtype=float32 training.mixed_precision_param=bfloat16",
           .text =
               "where neither FSDP nor autocast is in effect, torchtitan computes in float32: then --format float32"},
          {.when = "model.converters=float8|quantize.linear.float8",
           .text = "matrix products are in float8 (model.converters)"},
          {.when = "quantize.linear.float8 !model.converters",
           .text = "quantize.linear.float8 sets up float8, which only model.converters turns on"},
          {.when = "float8.enable_float8_linear=true", .text = "matrix products are in float8"},
          {.when = "training.mixed_precision_reduce=bfloat16",
           .text = "gradients are reduced between GPUs in bfloat16, which is not replayed"}}};
}

}  // namespace ulp::io
