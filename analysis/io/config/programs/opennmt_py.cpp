// OpenNMT-py's YAML: OpenNMT/OpenNMT-py @97111d97 onmt/opts.py (keys and defaults), onmt/utils/optimizers.py (fusedadam has
// apex.contrib's FP16_Optimizer, whose scale is that of apex.fp16_utils from 2^16; the others have torch's GradScaler). Its command has
// options with one dash, which are not read.
#include "rows.hpp"

namespace ulp::io {

program_row opennmt_py_program() {
  return {
      .name = "OpenNMT-py",
      .markers = "model_dtype+save_model model_dtype+src_vocab model_dtype+gpu_ranks gpu_ranks+src_vocab",
      .keys = {.not_read = "data transforms"},
      .defaults = "model_dtype=fp32 optim=sgd loss_scale=0",
      .precision = {{.when = "apex_opt_level=o0|o1|o2|o3 optim=fusedadam",
                     .refused = "hands the loss scale to apex.amp; replay that by --scaler apex_amp"},
                    {.when = "model_dtype=fp16 optim=fusedadam loss_scale=0|0.0",
                     .format = "float16",
                     .scaler = "apex_fp16_utils",
                     .parameters = "init_scale=65536",
                     .weights = "float32",
                     .meaning = "float16 with float32 weights and the dynamic scale of Apex's FP16_Optimizer"},
                    {.when = "model_dtype=fp16 optim=fusedadam",
                     .format = "float16",
                     .scaler = "static",
                     .weights = "float32",
                     .meaning = "float16 with float32 weights and a constant scale, overflowed steps are skipped"},
                    torch_scaled("model_dtype=fp16"),
                    {.when = "model_dtype=fp32", .format = "float32", .weights = "float32", .meaning = in_float32}},
      .scale = {{"static", "loss_scale", "loss_scale", "the scale"}},
      .clipping = {{.when = "optim=fusedadam model_dtype=fp16"}, {.key = "max_grad_norm", .otherwise = 5}},
      .remarks = {{.when = "optim=fusedadam model_dtype=fp16",
                   .text =
                       "max_grad_norm counts for nothing with fusedadam in fp16: Apex's FP16_Optimizer does not clip"}},
      .place = written_in::files};
}

}  // namespace ulp::io
