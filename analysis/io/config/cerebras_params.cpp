// Cerebras's params files from before there was a Trainer. TensorFlow: Cerebras/modelzoo @150e0d33
// modelzoo/common/tf/optimizers/Trainer.py. PyTorch: modelzoo @5859e4e6, whose optimizer section is handed to
// cstorch.amp.GradScaler, on GPUs to a torch.cuda.amp.GradScaler with its defaults. Reproduced: in TensorFlow "tf_dynamic"
// is the same scaler on CSX, a factor of 1 is no scaling, and a static factor looks for no overflow.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "frameworks.hpp"
#include "programs/rows.hpp"

namespace ulp::io {
namespace {

constexpr known_keys params_top_keys{.read = "model optimizer runconfig",
                                     .not_read =
                                         R"(description train_input eval_input inference_input predict_input sparsity
        cerebras csconfig)"};
constexpr std::string_view scale_read =
    "loss_scaling_factor initial_loss_scale steps_per_increase min_loss_scale max_loss_scale overflow_tolerance "
    "max_gradient_norm max_gradient_value";
constexpr known_keys optimizer_keys{.read = scale_read,
                                    .not_read = R"(adam_beta1 adam_beta2 adjust_learning_rate amsgrad beta1 beta2 betas
        bias_correction correct_bias decay_steps disable_lr_steps_reset eps epsilon exclude_from_weight_decay
        grad_accum_steps layerwise_lr learning_rate log_grads log_hists log_summaries lr max_steps momentum optimizer_type
        rmsprop_decay rmsprop_momentum use_bias_correction warmup_steps weight_decay weight_decay_rate ws_summary)"};
constexpr known_keys of_tensorflow{.read = R"(save_summary_steps save_checkpoints_steps keep_checkpoint_max
        tf_random_seed log_step_count_steps throttle_secs save_checkpoints_secs)"};

constexpr std::array<std::pair<std::string_view, std::string_view>, 5> params_dynamic_keys{
    {{"initial_loss_scale", "scale of the first step"},
     {"steps_per_increase", "steps without overflow before the scale doubles"},
     {"min_loss_scale", "floor of the scale"},
     {"max_loss_scale", "ceiling of the scale"},
     {"overflow_tolerance", "share of overflowed steps since the last change that is tolerated"}}};

std::string word_of(const config_section& top, std::string_view section, std::string_view key) {
  const config_entry* const e = top.find(section);
  const config_entry* const value = e == nullptr ? nullptr : e->value.find(key);
  return value == nullptr ? "" : value->value.text;
}

bool is_true(const std::string& text) { return text == "true" || text == "True"; }

void read_params_clipping(const config_section& optimizer) {
  import_run& run = optimizer.run();
  const auto read = [&](std::string_view key, std::optional<double>& to, const std::string& meaning) {
    const double bound = optimizer.number(key).value_or(0);
    if (bound < 0) optimizer.fail(key, "must not be negative");
    if (optimizer.find(key) != nullptr) optimizer.means(key, bound > 0 ? meaning : "no clipping");
    if (bound > 0) to = bound;
  };
  read("max_gradient_norm", run.out.clip_norm, "unscaled gradients are clipped to this L2 norm, all together");
  read("max_gradient_value", run.out.clip_value, "unscaled gradients are clipped to this magnitude, each by itself");
  if (run.out.clip_norm && run.out.clip_value)
    optimizer.fail("max_gradient_value", "and max_gradient_norm are both set; keep one");
}

void pass_on(const config_section& optimizer, std::string_view key, const std::string& meaning,
             const std::string& parameter) {
  const auto value = optimizer.number(key);
  if (!value) return;
  optimizer.means(key, meaning);
  optimizer.run().parameter(parameter, *value);
}

}  // namespace

bool is_cerebras_params(const config_node& root) {
  return root.find("trainer") == nullptr && root.find("optimizer") != nullptr &&
         (root.find("runconfig") != nullptr || root.find("train_input") != nullptr);
}

void import_cerebras_params(import_run& run, const config_entry& root) {
  const config_section top(run, "", root, params_top_keys);
  const auto optimizer = top.section("optimizer", optimizer_keys);
  if (!optimizer) top.fail("optimizer", "holds keys and values");
  const config_entry* const config = top.find("runconfig");
  const bool tensorflow = config != nullptr && keys_in(config->value, of_tensorflow) > 0;
  run.means(tensorflow ? "runconfig has TensorFlow's keys" : "runconfig has no key of TensorFlow alone",
            tensorflow ? "the TensorFlow Trainer" : "the PyTorch runner, on CSX");
  const std::string type = word_of(top, "model", "fp16_type");
  const bool mixed = is_true(word_of(top, "model", "mixed_precision"));
  const bool brain = type == "bfloat16" || is_true(word_of(top, "model", "use_bfloat16"));
  run.means("model.mixed_precision", !mixed ? "not true: float32"
                                            : "true: " + (brain          ? "bfloat16"
                                                          : type.empty() ? "float16"
                                                                         : type));
  const std::string format = !mixed ? "float32" : brain ? "bfloat16" : type == "cbfloat16" ? type : "float16";

  const bool is_word =
      optimizer->find("loss_scaling_factor") != nullptr && !optimizer->is_number("loss_scaling_factor");
  const std::string word = is_word ? optimizer->text("loss_scaling_factor").value_or("") : "";
  const bool dynamic = word == "dynamic" || (tensorflow && word == "tf_dynamic");
  if (is_word && !dynamic) optimizer->fail("loss_scaling_factor", "must be a number or 'dynamic'");
  const double factor = is_word ? 1 : optimizer->number("loss_scaling_factor").value_or(1);
  if (!(factor > 0)) optimizer->fail("loss_scaling_factor", "must be above 0");
  const auto ignore = [&](const std::string& why) {
    for (const auto& [key, meaning] : params_dynamic_keys)
      if (optimizer->has(key)) optimizer->means(key, "nothing, since " + why);
  };

  if (format == "bfloat16" || (factor == 1 && !dynamic)) {
    run.means(optimizer->given("loss_scaling_factor"), "the loss is not scaled");
    ignore("the loss is not scaled");
    run.no_scaling(format);
  } else if (!dynamic) {
    optimizer->means("loss_scaling_factor", "static: overflow is not looked for, and no step is skipped");
    ignore("the scale is static");
    run.out.scaler = "static";
    run.out.format = format;
    run.parameter("loss_scale", factor);
    run.parameter("skip_on_overflow", false);
  } else {
    optimizer->means("loss_scaling_factor", "dynamic");
    run.out.format = format;
    run.out.scaler = tensorflow ? "cerebras_tf_legacy" : "cerebras_dls";
    if (!tensorflow) run.parameter("fp16_type", format == "cbfloat16" ? format : std::string{"float16"});
    constexpr std::array torch_names{"init_scale", "steps_per_increase", "min_loss_scale", "max_loss_scale", ""};
    constexpr std::array tf_names{"initial_loss_scale", "increment_period", "min_loss_scale", "max_loss_scale",
                                  "overflow_tolerance"};
    for (std::size_t i = 0; i < params_dynamic_keys.size(); ++i) {
      const auto& [key, meaning] = params_dynamic_keys[i];
      const std::string name = tensorflow ? tf_names[i] : torch_names[i];
      if (!name.empty())
        pass_on(*optimizer, key, std::string{meaning}, name);
      else if (optimizer->has(key))
        optimizer->means(key, "nothing: it is not passed on");
    }
    if (!tensorflow)
      run.note("on GPUs these files get torch.cuda.amp.GradScaler with its defaults: for that --scaler pytorch");
  }
  read_params_clipping(*optimizer);
}

program_row cerebras_params_program() {
  return {
      .name = "Cerebras", .place = written_in::files, .import = import_cerebras_params, .is_its = is_cerebras_params};
}

}  // namespace ulp::io
