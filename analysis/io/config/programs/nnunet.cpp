// The command of nnU-Net v2: MIC-DKFZ/nnUNet @0e495086 nnunetv2/training/nnUNetTrainer/nnUNetTrainer.py (torch's GradScaler on CUDA,
// no autocast elsewhere; gradients are clipped to 12, which no option changes), nnunetv2/run/run_training.py (options).
#include "rows.hpp"

namespace ulp::io {

program_row nnunet_program() {
  return {.name = "nnU-Net",
          .started_by = "nnUNetv2_train",
          .settings = "-tr -device",
          .precision =
              {{.when = "-device=cpu|mps", .format = "float32", .weights = "float32", .meaning = "no autocast there"},
               torch_scaled("")},
          .clipping = {{.otherwise = 12}},
          .remarks = {{.when = "-tr !-tr=nnunettrainer",
                       .text = "this is what nnUNetTrainer does; the trainer that -tr names may do otherwise"}},
          .place = written_in::arguments};
}

}  // namespace ulp::io
