// The programs whose configurations are read: here and nowhere else. The row of NAME is made by NAME_program() in NAME.cpp, or beside
// the code that reads it, in the folder above.
#ifndef ULP_IO_CONFIG_PROGRAMS_ROWS_HPP
#define ULP_IO_CONFIG_PROGRAMS_ROWS_HPP

#include "row.hpp"

// clang-format off
#define ULP_CONFIG_PROGRAMS(ROW) \
  ROW(accelerate) \
  ROW(allennlp) \
  ROW(audiocraft) \
  ROW(cerebras) \
  ROW(cerebras_params) \
  ROW(colossalai) \
  ROW(colossalai_booster) \
  ROW(colossalai_legacy) \
  ROW(deepspeed) \
  ROW(detectron2) \
  ROW(detectron2_lazy) \
  ROW(diffusers) \
  ROW(dinov2) \
  ROW(espnet) \
  ROW(fabric) \
  ROW(fairseq) \
  ROW(fastai) \
  ROW(fastai_chained) \
  ROW(flax) \
  ROW(flax_examples) \
  ROW(guided_diffusion) \
  ROW(hugging_face) \
  ROW(icefall) \
  ROW(icefall_seven) \
  ROW(icefall_plain) \
  ROW(icefall_other) \
  ROW(keras) \
  ROW(keras_policy) \
  ROW(kohya) \
  ROW(levanter) \
  ROW(lightning) \
  ROW(litgpt) \
  ROW(llm_foundry) \
  ROW(marian) \
  ROW(maxtext) \
  ROW(megatron) \
  ROW(megatron_bridge) \
  ROW(metaseq) \
  ROW(mindformers) \
  ROW(mindyolo) \
  ROW(mmcv) \
  ROW(mmengine) \
  ROW(mmengine_deepspeed) \
  ROW(ms_swift) \
  ROW(nanogpt) \
  ROW(nanotron) \
  ROW(nemo) \
  ROW(nemo2) \
  ROW(nemo2_recipe) \
  ROW(neox) \
  ROW(nnunet) \
  ROW(nxd) \
  ROW(olmo) \
  ROW(onetrainer) \
  ROW(open_clip) \
  ROW(opennmt_py) \
  ROW(openrlhf) \
  ROW(openseq2seq) \
  ROW(paddleclas) \
  ROW(paddledetection) \
  ROW(paddlenlp) \
  ROW(paddleocr) \
  ROW(spacy) \
  ROW(speechbrain) \
  ROW(swin) \
  ROW(t5x) \
  ROW(tf_models) \
  ROW(timm) \
  ROW(torchao) \
  ROW(torchao_by_default) \
  ROW(torchtitan) \
  ROW(torchtune) \
  ROW(transformer_engine) \
  ROW(ultralytics) \
  ROW(ultralytics_python) \
  ROW(verl) \
  ROW(verl_sft) \
  ROW(wenet) \
  ROW(yolox)
// clang-format on

namespace ulp::io {

#define ULP_DECLARE_PROGRAM(NAME) [[nodiscard]] program_row NAME##_program();
ULP_CONFIG_PROGRAMS(ULP_DECLARE_PROGRAM)
#undef ULP_DECLARE_PROGRAM

// torch.amp.GradScaler() without arguments: pytorch/pytorch torch/amp/grad_scaler.py.
inline constexpr std::string_view torch_grad_scaler =
    "init_scale=65536 growth_factor=2 backoff_factor=0.5 growth_interval=2000";
inline constexpr std::string_view with_torch_grad_scaler = "autocast to float16 with torch.amp.GradScaler's defaults";
// Where float32 weights are trained with it.
[[nodiscard]] inline precision_case torch_scaled(conditions when, std::string_view meaning = with_torch_grad_scaler) {
  return {.when = when,
          .format = "float16",
          .scaler = "pytorch_gradscaler",
          .parameters = torch_grad_scaler,
          .weights = "float32",
          .meaning = meaning};
}
inline constexpr std::string_view to_bfloat16 = "autocast to bfloat16, the loss is not scaled";
inline constexpr std::string_view in_float32 = "float32, the loss is not scaled";

// What `precision` is to Lightning's Fabric, behind what a program that uses it says before.
[[nodiscard]] std::vector<precision_case> fabric_precision(std::vector<precision_case> all);

}  // namespace ulp::io

#endif
