// ms-swift's command line: modelscope/ms-swift swift/arguments/base_args/model_args.py (torch_dtype says fp16 or bf16 where these are
// not given: float32 means fp16, too), and the Trainer's arguments behind it.
#include "rows.hpp"

namespace ulp::io {

program_row ms_swift_program() {
  return {.name = "ms-swift",
          .started_by = "swift swift/cli/sft.py swift/cli/pt.py swift/cli/rlhf.py",
          .takes_command = true,
          .keys = {.read = "bf16 fp16", .not_read = "padding_free bnb_4bit_compute_dtype quant_bits"},
          .precision = {{.when = "command !command=sft|pt|rlhf", .refused = "is not one that trains"},
                        {.when = "bf16=true", .format = "bfloat16", .meaning = "bfloat16, the loss is not scaled"},
                        {.when = "torch_dtype=bfloat16 !fp16",
                         .format = "bfloat16",
                         .meaning = "bfloat16, the loss is not scaled"},
                        {.when = "deepspeed",
                         .refused = "hands the loss scale to DeepSpeed, which is not read together "
                                    "with this program; give its JSON by --config"},
                        {.when = "fp16=true",
                         .format = "float16",
                         .scaler = "pytorch_gradscaler",
                         .parameters = torch_grad_scaler,
                         .meaning = with_torch_grad_scaler},
                        {.when = "torch_dtype=float16|float32 !fp16 !bf16",
                         .format = "float16",
                         .scaler = "pytorch_gradscaler",
                         .parameters = torch_grad_scaler,
                         .meaning = with_torch_grad_scaler},
                        {.when = "!torch_dtype",
                         .refused = "is not given, and depends on the model's own file then; write torch_dtype"}},
          .clipping = {{.key = "max_grad_norm", .otherwise = 1}},
          .microbatches = "gradient_accumulation_steps"};
}

}  // namespace ulp::io
