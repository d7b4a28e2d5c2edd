// Keras in a script: keras-team/keras @3422977a keras/src/optimizers/loss_scale_optimizer.py (2^15, 2000), base_optimizer.py (the inner
// optimizer clips what was unscaled), trainers/trainer.py (mixed_float16 wraps the optimizer).
#include "rows.hpp"

namespace ulp::io {
namespace {

constexpr std::string_view clipping_arguments = "global_clipnorm clipnorm clipvalue";
constexpr std::string_view defaults_of_scaler = "initial_scale=32768 dynamic_growth_steps=2000";
constexpr std::string_view of_versions =
    "the scaler is that of Keras 3; that of tf.keras 2 does not fall below 1 and stays finite: --scaler tf_keras";

std::vector<clipping_case> clippings() {
  return {{.when = "clipnorm", .refused = "clips each variable by itself, which is not replayed"},
          {.key = "clipvalue", .when = "clipvalue", .mode = clipping_mode::value},
          {.key = "global_clipnorm"}};
}

}  // namespace

program_row keras_program() {
  return {.name = "Keras",
          .calls = "LossScaleOptimizer",
          .beside = clipping_arguments,
          .keys = {.read = "()", .not_read = "0 name"},
          .defaults = "dynamic=true",
          .precision = {{.when = "1", .refused = "is the initial scale, or dynamic in older versions; write its name"},
                        {.when = "dynamic=false", .refused = "is a constant scale; give --scaler static"},
                        {.format = "float16",
                         .scaler = "keras3_lso",
                         .parameters = defaults_of_scaler,
                         .weights = "float32",
                         .meaning = "mixed_float16 with LossScaleOptimizer"}},
          .scale = {{"keras3_lso", "initial_scale", "initial_scale", "scale of the first step"},
                    {"keras3_lso", "dynamic_growth_steps", "dynamic_growth_steps",
                     "good steps in a row before the scale doubles"}},
          .clipping = clippings(),
          .remarks = {{.text = of_versions}},
          .place = written_in::files};
}

// Without a LossScaleOptimizer of its own, which comes first.
program_row keras_policy_program() {
  return {
      .name = "Keras",
      .calls = "Policy DTypePolicy set_global_policy set_dtype_policy",
      .call_markers = "0=mixed_float16 0=mixed_bfloat16",
      .beside = "global_clipnorm clipnorm clipvalue auto_scale_loss loss_scale_factor",
      .keys = {.read = "()"},
      .precision = {{.when = "loss_scale_factor 0=mixed_float16",
                     .refused = "is a constant loss scale, and no step is skipped: give --scaler static and its value"},
                    {.when = "auto_scale_loss=false 0=mixed_float16",
                     .format = "float16",
                     .weights = "float32",
                     .meaning = "mixed_float16, the loss is not scaled"},
                    {.when = "0=mixed_float16",
                     .format = "float16",
                     .scaler = "keras3_lso",
                     .parameters = defaults_of_scaler,
                     .weights = "float32",
                     .meaning = "mixed_float16, for which compile() wraps the optimizer in a LossScaleOptimizer"},
                    {.when = "0=mixed_bfloat16", .format = "bfloat16", .weights = "float32", .meaning = to_bfloat16}},
      .clipping = clippings(),
      .remarks = {{.when = "0=mixed_float16 !auto_scale_loss=false", .text = of_versions}},
      .place = written_in::files};
}

}  // namespace ulp::io
