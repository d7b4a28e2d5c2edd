// Detectron2's YAML: facebookresearch/detectron2 detectron2/config/defaults.py (SOLVER.AMP, SOLVER.CLIP_GRADIENTS),
// engine/train_loop.py (torch's GradScaler), solver/build.py ("norm" clips each parameter by itself).
#include "rows.hpp"

namespace ulp::io {

program_row detectron2_program() {
  return {.name = "Detectron2",
          .markers = "SOLVER.AMP SOLVER.CLIP_GRADIENTS SOLVER.IMS_PER_BATCH MODEL.META_ARCHITECTURE",
          .settings = "config_file",
          .keys = {.not_read = "MODEL INPUT DATASETS DATALOADER TEST VIS_PERIOD"},
          .defaults =
              "SOLVER.AMP.ENABLED=false SOLVER.CLIP_GRADIENTS.ENABLED=false SOLVER.CLIP_GRADIENTS.CLIP_TYPE=value",
          .precision =
              {torch_scaled("SOLVER.AMP.ENABLED=true"),
               {.when = "SOLVER.AMP.ENABLED=false", .format = "float32", .weights = "float32", .meaning = in_float32}},
          .clipping = {{.when = "SOLVER.CLIP_GRADIENTS.ENABLED=false"},
                       {.key = "SOLVER.CLIP_GRADIENTS.CLIP_VALUE",
                        .when = "SOLVER.CLIP_GRADIENTS.CLIP_TYPE=value",
                        .otherwise = 1,
                        .mode = clipping_mode::value},
                       {.key = "SOLVER.CLIP_GRADIENTS.CLIP_VALUE",
                        .when = "SOLVER.CLIP_GRADIENTS.CLIP_TYPE=full_model",
                        .otherwise = 1},
                       {.when = "SOLVER.CLIP_GRADIENTS.CLIP_TYPE",
                        .refused = "clips each parameter by itself, which is not replayed"}}};
}

}  // namespace ulp::io
