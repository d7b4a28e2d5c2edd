// MaxText's YAML, or its command line of overrides: AI-Hypercomputer/maxtext @e591f30c src/maxtext/configs/base.yml (keys and
// defaults), types.py (their values), utils/maxtext_utils.py (optax.clip_by_global_norm where the threshold is above 0). There is no
// loss scale; weights are kept in weight_dtype.
#include "rows.hpp"

namespace ulp::io {

program_row maxtext_program() {
  return {
      .name = "MaxText",
      .markers =
          R"(gradient_clipping_threshold base_output_directory+run_name base_emb_dim ici_fsdp_parallelism dcn_data_parallelism
          per_device_batch_size+max_target_length base_config+run_name)",
      .started_by = "MaxText.train MaxText/train.py maxtext.train maxtext.trainers.pre_train.train",
      .takes_command = true,
      .settings = "base_config command",
      .own_settings = "base.yml",
      .keys = {.not_read =
                   R"(grad_dtype mu_dtype matmul_precision kv_quant_dtype dense_init_scale mtp_loss_scaling_factor
          indexer_loss_scaling_factor experimental_sa_quant_q_fp8 experimental_sa_quant_k_fp8 dtype_mm)"},
      .defaults = "dtype=bfloat16 weight_dtype=float32",
      .precision =
          {{.when = "dtype=bfloat16 weight_dtype=float32",
            .format = "bfloat16",
            .weights = "float32",
            .meaning = "computes in bfloat16, the loss is not scaled"},
           {.when = "dtype=bfloat16 weight_dtype=bfloat16",
            .format = "bfloat16",
            .weights = "bfloat16",
            .meaning = "weights in bfloat16 without a float32 copy, the loss is not scaled"},
           {.when = "dtype=float16 weight_dtype=float32",
            .format = "float16",
            .weights = "float32",
            .meaning = "computes in float16, the loss is not scaled"},
           {.when = "dtype=float16 weight_dtype=bfloat16",
            .format = "float16",
            .weights = "bfloat16",
            .meaning = "computes in float16 with bfloat16 weights, the loss is not scaled"},
           {.when = "dtype=float16 weight_dtype=float16",
            .format = "float16",
            .weights = "float16",
            .meaning = "weights and gradients in float16, the loss is not scaled"},
           {.when = "dtype=float32 weight_dtype=float32",
            .format = "float32",
            .weights = "float32",
            .meaning = in_float32},
           {.when = "dtype weight_dtype=bfloat16|float16",
            .refused =
                "and weight_dtype are of different types, of which it is not known here what the gradients are in"}},
      .clipping = {{.key = "gradient_clipping_threshold", .otherwise = 1}},
      .microbatches = "gradient_accumulation_steps",
      .remarks = {{.when = "quantization !quantization=null|none",
                   .text = "matrix products are quantized (quantization), whose scales are not replayed"}}};
}

}  // namespace ulp::io
