// The arguments of guided-diffusion and improved-diffusion: openai/guided-diffusion guided_diffusion/fp16_util.py (the
// logarithm of the scale grows by fp16_scale_growth each step and falls by 1 on overflow), scripts/image_train.py.
#include "rows.hpp"

namespace ulp::io {

program_row guided_diffusion_program() {
  return {.name = "guided-diffusion",
          .markers = "fp16_scale_growth use_fp16+diffusion_steps use_fp16+num_res_blocks use_fp16+schedule_sampler",
          .started_by = "image_train.py super_res_train.py classifier_train.py",
          .keys = {.not_read = "fp16_scale_growth classifier_use_fp16"},
          .defaults = "use_fp16=false",
          .precision =
              {{.when = "use_fp16=true",
                .refused =
                    "has a scale of its own, whose logarithm grows a little each step; there is no such scaler here"},
               {.when = "use_fp16=false", .format = "float32", .weights = "float32", .meaning = in_float32}},
          .clipping = {{}}};
}

}  // namespace ulp::io
