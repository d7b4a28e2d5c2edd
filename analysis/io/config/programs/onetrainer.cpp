// OneTrainer's JSON: Nerogar/OneTrainer modules/util/config/TrainConfig.py (keys and defaults), modules/util/dtype_util.py (the
// scaler is for float16 with float32 weights alone), modules/util/CustomGradScaler.py (torch's rules).
#include "rows.hpp"

namespace ulp::io {

program_row onetrainer_program() {
  return {
      .name = "OneTrainer",
      .markers = "train_dtype+training_method train_dtype+model_type concept_file_name training_method+base_model_name",
      .keys =
          {.not_read =
               R"(output_dtype fallback_train_dtype embedding_weight_dtype enable_autocast_cache prior text_encoder text_encoder_2
          text_encoder_3 text_encoder_4 vae effnet_encoder decoder decoder_text_encoder decoder_vqgan embedding embeddings
          additional_embeddings optimizer optimizer_defaults concepts samples quantization)"},
      .defaults = "train_dtype=float_16 training_method=fine_tune weight_dtype=float_32 lora_weight_dtype=float_32",
      .precision =
          {{.when = "train_dtype=bfloat_16", .format = "bfloat16", .meaning = to_bfloat16},
           {.when = "train_dtype=float_32|tfloat_32", .format = "float32", .meaning = in_float32},
           torch_scaled("train_dtype=float_16 training_method=lora lora_weight_dtype=float_32"),
           {.when = "train_dtype=float_16 training_method=lora",
            .format = "float16",
            .meaning = "float16 without a loss scale, since the trained weights are not float32"},
           torch_scaled("train_dtype=float_16 training_method=fine_tune weight_dtype=float_32 "
                        "!unet.weight_dtype=float_16|bfloat_16 !transformer.weight_dtype=float_16|bfloat_16"),
           {.when = "train_dtype=float_16",
            .refused =
                "has a loss scale only where all trained weights are float32, and some may not be here; give --scaler "
                "pytorch_gradscaler or none"}},
      .clipping = {{.when = "optimizer.fused_back_pass=true",
                    .refused = "clips each parameter by itself, which is not replayed"},
                   {.key = "clip_grad_norm", .otherwise = 1, .clips_to_zero = true}},
      .microbatches = "gradient_accumulation_steps"};
}

}  // namespace ulp::io
