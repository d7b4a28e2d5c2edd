// Ultralytics's args.yaml, or its `yolo` command: ultralytics/ultralytics ultralytics/cfg/default.yaml (keys and defaults),
// ultralytics/engine/trainer.py (the scaler; gradients are clipped to 10, which no key changes).
#include "rows.hpp"

namespace ulp::io {

program_row ultralytics_program() {
  return {
      .name = "ultralytics",
      .markers = "nbs+imgsz nbs+lr0 close_mosaic imgsz+lr0 imgsz+task+mode",
      .started_by = "yolo",
      .takes_command = true,
      .settings = "cfg",
      .keys = {.not_read = "half int8 model"},
      .defaults = "amp=true mode=train",
      .precision = {{.when = "command=val|predict|export|track|benchmark|solutions",
                     .refused = "is not train, and only training scales a loss"},
                    {.when = "!mode=train", .refused = "is not train, and only training scales a loss"},
                    {.when = "device=cpu|mps",
                     .format = "float32",
                     .weights = "float32",
                     .meaning = "in float32: its check turns amp off there"},
                    torch_scaled("amp=true"),
                    {.when = "amp=false", .format = "float32", .weights = "float32", .meaning = in_float32}},
      .clipping = {{.otherwise = 10}},
      .remarks = {{.when = "amp=true !device=cpu|mps",
                   .text = "the program turns amp off where its check on the GPU fails, as its log says then: for that "
                           "--scaler none --format float32"}}};
}

}  // namespace ulp::io
