// LitGPT's YAML, or its command: Lightning-AI/litgpt @26857050 litgpt/pretrain.py, litgpt/finetune/full.py, lora.py (precision; max_norm
// is pretrain's alone, 1 by default), litgpt/utils.py (the default depends on the GPU), Lightning's Fabric (what a precision is).
#include "rows.hpp"

namespace ulp::io {

program_row litgpt_program() {
  return {
      .name = "LitGPT",
      .markers =
          R"(train.global_batch_size+train.micro_batch_size+!train.train_iters train.lr_warmup_steps train.max_norm+out_dir lora_projection
          initial_checkpoint_dir+tokenizer_dir)",
      .started_by = "litgpt litgpt/pretrain.py litgpt/finetune/full.py litgpt/finetune/lora.py",
      .takes_command = true,
      .settings = "config",
      .keys = {.not_read = "eval data optimizer"},
      .precision = fabric_precision(
          {{.when =
                "command !command=pretrain|finetune|finetune_lora|finetune_full|finetune_adapter|finetune_adapter_v2",
            .refused = "is not one that trains"},
           {.when = "!precision",
            .refused = "is not given, and depends on the GPU then: bf16-mixed, or 16-mixed on older ones; write it"}}),
      .clipping =
          {{.when = "train.max_norm command=finetune|finetune_lora|finetune_full|finetune_adapter|finetune_adapter_v2",
            .refused = "is refused by LitGPT where it finetunes"},
           {.key = "train.max_norm", .when = "train.max_norm", .clips_to_zero = true},
           {.when = "command=finetune|finetune_lora|finetune_full|finetune_adapter|finetune_adapter_v2"},
           {.when = "checkpoint_dir"},
           {.key = "train.max_norm", .when = "command=pretrain", .otherwise = 1},
           {.key = "train.max_norm", .when = "initial_checkpoint_dir", .otherwise = 1},
           {.key = "train.max_norm", .when = "model_name", .otherwise = 1},
           {.when = "!train.max_norm",
            .refused = "is not given: 1 where LitGPT pretrains, no clipping where it finetunes; write it"}},
      .remarks = {
          {.when = "quantize !quantize=null|none",
           .text = "frozen weights are quantized (quantize); what is trained has the type that precision names"}}};
}

}  // namespace ulp::io
