// TensorFlow Model Garden's YAML: tensorflow/models official/core/config_definitions.py (runtime),
// official/modeling/performance.py (LossScaleOptimizer, dynamic where loss_scale is not a number),
// official/modeling/optimization/configs/optimizer_config.py.
#include "rows.hpp"

namespace ulp::io {

program_row tf_models_program() {
  return {
      .name = "TF Model Garden",
      .markers =
          "runtime.mixed_precision_dtype runtime.loss_scale trainer.optimizer_config runtime.distribution_strategy+task",
      .defaults = "runtime.mixed_precision_dtype=float32 runtime.loss_scale=dynamic",
      .precision = {{.when = "runtime.mixed_precision_dtype=float32",
                     .format = "float32",
                     .weights = "float32",
                     .meaning = in_float32},
                    {.when = "runtime.mixed_precision_dtype=bfloat16|mixed_bfloat16",
                     .format = "bfloat16",
                     .weights = "float32",
                     .meaning = "mixed bfloat16, the loss is not scaled"},
                    {.when = "runtime.mixed_precision_dtype=float16|mixed_float16 runtime.loss_scale=dynamic",
                     .format = "float16",
                     .scaler = "tf_keras_dynamic",
                     .parameters = "initial_loss_scale=32768 growth_steps=2000",
                     .weights = "float32",
                     .meaning = "mixed float16 with tf.keras's LossScaleOptimizer"},
                    {.when = "runtime.mixed_precision_dtype=float16|mixed_float16",
                     .format = "float16",
                     .scaler = "static",
                     .parameters = "skip_on_overflow=false",
                     .weights = "float32",
                     .meaning = "mixed float16 with a constant scale: overflow is not looked for"}},
      .scale = {{"static", "runtime.loss_scale", "loss_scale", "the scale"}},
      .clipping = {{.key = "trainer.optimizer_config.optimizer.adamw.gradient_clip_norm",
                    .when = "trainer.optimizer_config.optimizer.type=adamw",
                    .otherwise = 1},
                   {.key = "trainer.optimizer_config.optimizer.adamw_experimental.global_clipnorm",
                    .when = "trainer.optimizer_config.optimizer.type=adamw_experimental",
                    .otherwise = 1},
                   {.key = "trainer.optimizer_config.optimizer.sgd.global_clipnorm",
                    .when = "trainer.optimizer_config.optimizer.type=sgd"},
                   {.key = "trainer.optimizer_config.optimizer.adam.global_clipnorm",
                    .when = "trainer.optimizer_config.optimizer.type=adam"},
                   {.key = "trainer.optimizer_config.optimizer.lamb.global_clipnorm",
                    .when = "trainer.optimizer_config.optimizer.type=lamb"},
                   {}}};
}

}  // namespace ulp::io
