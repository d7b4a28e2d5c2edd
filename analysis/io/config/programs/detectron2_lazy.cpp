// Detectron2's LazyConfig in Python: facebookresearch/detectron2 @02b5c4e2 configs/common/train.py (amp is off where it is not given),
// tools/lazyconfig_train_net.py (AMPTrainer; it does not clip). What the imports bring is not read.
#include "rows.hpp"

namespace ulp::io {

program_row detectron2_lazy_program() {
  return {
      .name = "Detectron2",
      .markers = "train.amp.enabled",
      .precision = {{.when = "train.amp.enabled=true",
                     .format = "float16",
                     .scaler = "pytorch_gradscaler",
                     .parameters = torch_grad_scaler,
                     .weights = "float32",
                     .meaning = with_torch_grad_scaler,
                     .words = "Detectron2's LazyConfig"},
                    {.when = "train.amp.enabled=false",
                     .format = "float32",
                     .weights = "float32",
                     .meaning = in_float32,
                     .words = "Detectron2's LazyConfig"}},
      .clipping = {{}},
      .remarks =
          {{.when = "train.ddp.fp16_compression=true",
            .text = "gradients are sent between GPUs in float16 (train.ddp.fp16_compression), which is not replayed"}},
      .place = written_in::files};
}

}  // namespace ulp::io
