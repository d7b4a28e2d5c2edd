// icefall's arguments: k2-fsa/icefall egs/librispeech/ASR. The recipe, which is the program's folder, has the scaler: zipformer/train.py
// and pruned_transducer_stateless7/train.py start at 1 and double a small scale by themselves, pruned_transducer_stateless2, 3 and 5,
// lstm_transducer_stateless2, conformer_ctc3 and conv_emformer_transducer_stateless2 have torch's defaults.
#include "rows.hpp"

namespace ulp::io {
namespace {

program_row recipe(std::string_view started_by, precision_case float16) {
  float16.when = "use_fp16=true";
  return {
      .name = "icefall",
      .started_by = started_by,
      .defaults = "use_fp16=false use_bf16=false",
      .precision = {float16,
                    {.when = "use_bf16=true",
                     .refused = "is bfloat16 with icefall's own scaler, which is not replayed"},
                    {.when = "use_fp16=false", .format = "float32", .weights = "float32", .meaning = in_float32}},
      .clipping = {{}},
      .remarks = {{.text = "icefall's optimizer clips by a rule of its own (clipping_scale), which is not replayed"}}};
}

}  // namespace

program_row icefall_program() {
  program_row row = recipe(
      "zipformer/*.py zipformer_ctc*.py",
      {.format = "float16",
       .scaler = "icefall_gradscaler",
       .weights = "float32",
       .meaning =
           "autocast to float16 with GradScaler(init_scale=1.0), whose scale the program doubles while it is small"});
  row.remarks.push_back(
      {.when = "use_fp16=true",
       .text = "the scale is doubled below 8, and below 32 every 400 batches, as zipformer does; ZipVoice has "
               "1024 and 4096: repeat them by --set double_below and --set double_seldom_below"});
  return row;
}

program_row icefall_seven_program() {
  return recipe("pruned_transducer_stateless7*.py pruned_transducer_stateless8*.py",
                {.format = "float16",
                 .scaler = "icefall_gradscaler",
                 .parameters = "double_below=1 double_seldom_below=8",
                 .weights = "float32",
                 .meaning =
                     "autocast to float16 with GradScaler(init_scale=1.0), whose scale the program doubles below 1, "
                     "and below 8 every 400 batches"});
}

program_row icefall_plain_program() {
  return recipe(
      R"(pruned_transducer_stateless2/*.py pruned_transducer_stateless3/*.py pruned_transducer_stateless5/*.py
          lstm_transducer_stateless2/*.py conformer_ctc3/*.py conv_emformer_transducer_stateless2/*.py)",
      torch_scaled(""));
}

program_row icefall_other_program() {
  program_row row = recipe(
      "pruned_transducer_stateless*.py lstm_transducer_stateless*.py conformer_ctc*.py conv_emformer_*.py",
      {.refused =
           "has a GradScaler that starts at 65536 in some of icefall's recipes and at 1 in others, and this one is not known: "
           "see create_grad_scaler or GradScaler in its train.py, and give --scaler pytorch_gradscaler or "
           "icefall_gradscaler with --format float16"});
  row.markers =
      "use_fp16+max_duration use_bf16+max_duration use_fp16+exp_dir max_duration+base_lr max_duration+bucketing_sampler";
  return row;
}

}  // namespace ulp::io
