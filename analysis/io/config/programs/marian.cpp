// Marian's options, as YAML or on a command line: marian-nmt/marian-dev src/common/config_parser.cpp (precision float32, clip-norm 1),
// src/common/aliases.cpp (what fp16 and task set), src/training/graph_group.cpp (its cost scaling takes infinities for the largest number,
// and at its least scale replaces NaN by 0 instead of skipping).
#include "rows.hpp"

namespace ulp::io {

program_row marian_program() {
  constexpr std::string_view no_scaler =
      "scales by Marian's own rule, which is not in the catalogue: it takes infinities for the largest number and skips only for NaN";
  return {
      .name = "Marian",
      .markers = "mini-batch-fit exponential-smoothing+cost-type cost-scaling disp-freq+valid-freq",
      .started_by = "marian marian-train",
      .flags = "fp16 mini-batch-fit mini_batch_fit",
      .settings = "config c",
      .defaults = "fp16=false precision=float32",
      .precision = {{.when = "fp16=true", .refused = no_scaler},
                    {.when = "cost-scaling", .refused = no_scaler},
                    {.when = "cost_scaling", .refused = no_scaler},
                    {.when = "precision=float16",
                     .refused = "without a cost scale is float16 as nobody trains it; write cost-scaling"},
                    {.when = "precision=float32", .format = "float32", .weights = "float32", .meaning = in_float32}},
      .clipping = {{.key = "clip-norm", .when = "clip-norm"},
                   {.key = "clip_norm", .when = "clip_norm"},
                   {.when = "task=transformer-base|transformer-big|transformer-base-prenorm|transformer-big-prenorm"},
                   {.key = "clip-norm", .otherwise = 1}},
      .microbatches = ""};
}

}  // namespace ulp::io
