// YOLOX on its command line: Megvii-BaseDetection/YOLOX tools/train.py (--fp16), yolox/core/trainer.py (torch's GradScaler; it does
// not clip).
#include "rows.hpp"

namespace ulp::io {

program_row yolox_program() {
  return {.name = "YOLOX",
          .started_by = "yolox.tools.train yolox/tools/train.py",
          .defaults = "fp16=false",
          .precision = {torch_scaled("fp16=true"),
                        {.when = "fp16=false", .format = "float32", .weights = "float32", .meaning = in_float32}},
          .clipping = {{}},
          .place = written_in::arguments};
}

}  // namespace ulp::io
