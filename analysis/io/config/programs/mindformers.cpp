// MindFormers's YAML: mindspore-lab/mindformers mindformers/wrapper/wrapper.py (MFTrainOneStepCell: use_clip_grad,
// max_grad_norm 1), configs. The scale is that of MindSpore's update cells.
#include "rows.hpp"

namespace ulp::io {

program_row mindformers_program() {
  return {
      .name = "MindFormers",
      .markers = "runner_wrapper runner_config.sink_mode model.model_config.param_init_type",
      .keys = {.not_read = R"(model.model_config.layernorm_compute_type model.model_config.softmax_compute_type
          model.model_config.param_init_type model.model_config.rotary_dtype model.model_config.router_dense_type moe_config
          recompute_config parallel_config parallel context processor train_dataset eval_dataset auto_tune)"},
      .defaults = "model.model_config.compute_dtype=float16 runner_wrapper.use_clip_grad=false",
      .precision =
          {{.when =
                "runner_wrapper.scale_sense.type=dynamiclossscaleupdatecell model.model_config.compute_dtype=float16",
            .format = "float16",
            .scaler = "mindspore_update_cell",
            .meaning = "float16 with DynamicLossScaleUpdateCell"},
           {.when =
                "runner_wrapper.scale_sense.type=dynamiclossscaleupdatecell model.model_config.compute_dtype=bfloat16",
            .format = "bfloat16",
            .scaler = "mindspore_update_cell",
            .meaning = "bfloat16 with DynamicLossScaleUpdateCell"},
           {.when = "runner_wrapper.scale_sense.type=fixedlossscaleupdatecell model.model_config.compute_dtype=float16",
            .format = "float16",
            .scaler = "static",
            .meaning = "float16 with a constant scale, overflowed steps are skipped"},
           {.when =
                "runner_wrapper.scale_sense.type=fixedlossscaleupdatecell model.model_config.compute_dtype=bfloat16",
            .format = "bfloat16",
            .scaler = "static",
            .meaning = "bfloat16 with a constant scale, overflowed steps are skipped"},
           {.when = "runner_wrapper.scale_sense.type", .refused = "is no scaler that is known here"},
           {.when = "runner_wrapper.scale_sense !runner_wrapper.scale_sense=1|1.0",
            .refused = "is a number other than 1: give --scaler static"},
           {.when = "model.model_config.compute_dtype=float16",
            .format = "float16",
            .meaning = "float16, the loss is not scaled"},
           {.when = "model.model_config.compute_dtype=bfloat16",
            .format = "bfloat16",
            .meaning = "bfloat16, the loss is not scaled"},
           {.when = "model.model_config.compute_dtype=float32", .format = "float32", .meaning = in_float32}},
      .scale = {{"mindspore_update_cell", "runner_wrapper.scale_sense.loss_scale_value", "loss_scale_value",
                 "scale of the first step"},
                {"mindspore_update_cell", "runner_wrapper.scale_sense.scale_factor", "scale_factor",
                 "factor of growth and backoff"},
                {"mindspore_update_cell", "runner_wrapper.scale_sense.scale_window", "scale_window",
                 "good steps in a row before the scale grows"},
                {"static", "runner_wrapper.scale_sense.loss_scale_value", "loss_scale", "the scale"}},
      .clipping = {{.key = "runner_wrapper.max_grad_norm", .when = "runner_wrapper.use_clip_grad=true", .otherwise = 1},
                   {}}};
}

}  // namespace ulp::io
