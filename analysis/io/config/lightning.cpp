// PyTorch Lightning's Trainer arguments as YAML, alone or as LightningCLI writes them: Lightning-AI/pytorch-lightning
// @7f0c3436 src/lightning/fabric/plugins/precision/precision.py (names of precisions), src/lightning/pytorch/trainer/
// trainer.py, connectors/accelerator_connector.py (which plugin), plugins/precision/amp.py, fsdp.py,
// strategies/deepspeed.py. Reproduced: 16-mixed becomes bf16-mixed on the CPU and on TPUs; clipping at 0 or below is off;
// micro-batches are accumulated in .grad, which has the type of the weights.
#include <algorithm>
#include <array>

#include "bytes/ascii.hpp"
#include "bytes/text.hpp"
#include "frameworks.hpp"
#include "programs/rows.hpp"

namespace ulp::io {
namespace {

constexpr known_keys lightning_trainer_keys{
    .read =
        "precision gradient_clip_val gradient_clip_algorithm strategy accelerator plugins accumulate_grad_batches "
        "amp_backend",
    .not_read = R"(barebones benchmark callbacks check_val_every_n_epoch default_root_dir
        detect_anomaly deterministic devices enable_autolog_hparams enable_checkpointing enable_model_summary
        enable_progress_bar fast_dev_run inference_mode limit_predict_batches limit_test_batches limit_train_batches
        limit_val_batches log_every_n_steps logger max_epochs max_steps max_time min_epochs min_steps model_registry
        num_nodes num_sanity_val_steps overfit_batches profiler reload_dataloaders_every_n_epochs sync_batchnorm
        use_distributed_sampler val_check_interval
        amp_level auto_lr_find auto_scale_batch_size auto_select_gpus gpus ipus
        multiple_trainloader_mode num_processes replace_sampler_ddp resume_from_checkpoint tpu_cores track_grad_norm
        checkpoint_callback distributed_backend flush_logs_every_n_steps log_gpu_memory log_save_interval
        move_metrics_to_cpu prepare_data_per_node process_position progress_bar_refresh_rate
        reload_dataloaders_every_epoch row_log_interval stochastic_weight_avg terminate_on_nan truncated_bptt_steps
        weights_save_path weights_summary _target_)"};

constexpr known_keys cli_keys{.read = "trainer fit",
                              .not_read = R"(seed_everything model data optimizer lr_scheduler ckpt_path config
        verbose weights_only return_predictions datamodule validate test predict tune)"};

struct precision_row {
  std::string_view name;
  std::string_view format;
  bool scaled;
  std::string_view meaning;
};
constexpr std::array precisions{
    precision_row{"16-mixed", "float16", true, "autocast to float16 with torch.amp.GradScaler's defaults"},
    precision_row{"bf16-mixed", "bfloat16", false, "autocast to bfloat16, the loss is not scaled"},
    precision_row{"16-true", "float16", false, "weights and gradients in float16, the loss is not scaled"},
    precision_row{"bf16-true", "bfloat16", false, "weights and gradients in bfloat16, the loss is not scaled"},
    precision_row{"32-true", "float32", false, "float32, the loss is not scaled"},
    precision_row{"64-true", "float64", false, "float64, the loss is not scaled"},
    precision_row{
        "transformer-engine", "bfloat16", false,
        "weights in bfloat16, the loss is not scaled; the 8-bit scales of Transformer Engine are not replayed"},
    precision_row{
        "transformer-engine-float16", "float16", false,
        "weights in float16, the loss is not scaled; the 8-bit scales of Transformer Engine are not replayed"},
};
struct precision_alias {
  std::string_view alias;
  std::string_view name;
};
constexpr std::array aliases{precision_alias{"16", "16-mixed"}, precision_alias{"bf16", "bf16-mixed"},
                             precision_alias{"32", "32-true"}, precision_alias{"64", "64-true"}};

const precision_row& row_named(std::string_view name) {
  return *std::ranges::find(precisions, name, &precision_row::name);
}

const precision_row& lightning_precision_of(const config_section& trainer) {
  std::string name = trainer.text("precision").value_or("32-true");
  const auto alias = std::ranges::find(aliases, name, &precision_alias::alias);
  if (alias != aliases.end()) name = alias->name;
  const auto row = std::ranges::find(precisions, name, &precision_row::name);
  if (row != precisions.end()) return *row;
  std::string all;
  for (const precision_row& p : precisions) all += std::string{p.name} + ", ";
  trainer.fail("precision", "is one of " + all + "or 16, bf16, 32, 64");
}

// As class_path says it, or as it is called in Python.
std::string class_of(const config_node& node) {
  for (const std::string_view key : {"class_path", "()"})
    if (const config_entry* const path = node.find(key)) return path->value.text;
  return node.text;
}

// The strategy's name, or its class where it is given as class_path and init_args; in lower case.
std::string strategy_of(const config_section& trainer) {
  const config_entry* const e = trainer.find("strategy");
  if (e == nullptr) return "auto";
  if (e->value.what == config_node::kind::scalar) return in_small_letters(trainer.text("strategy").value());
  const auto decides = [](const config_entry& argument) {
    return concern_of(argument.key) && argument.value.what != config_node::kind::null;
  };
  const std::string name = in_small_letters(class_of(e->value));
  const config_entry* const init = e->value.find("init_args");
  const bool by_init = init != nullptr && name.find("deepspeed") == std::string::npos &&  // see import_lightning
                       std::ranges::any_of(init->value.entries, decides);
  if (by_init || (e->value.find("()") != nullptr && std::ranges::any_of(e->value.entries, decides)))
    trainer.fail("strategy", "has arguments that decide on precision; give --scaler and --format");
  return name;
}

// What a callback's arguments are called that may clip, scale or cast; nullptr: none.
const config_entry* decisive_in(const config_node& node) {
  for (const config_entry& e : node.entries) {
    const auto what = concern_of(e.key);
    if (what && *what != concern::accumulation) return &e;
    if (const config_entry* const below = decisive_in(e.value)) return below;
  }
  return nullptr;
}

void refuse_deciding_callbacks(const config_section& trainer) {
  const config_entry* const callbacks = trainer.find("callbacks");
  const config_entry* const found = callbacks == nullptr ? nullptr : decisive_in(callbacks->value);
  if (found == nullptr) return;
  trainer.fail("callbacks", "holds " + in_quotes(found->key) + " on line " + std::to_string(found->line) +
                                ", of a callback that is not known here and may decide on precision, loss scale or "
                                "clipping; take it out, and give --scaler, --format and the clipping yourself");
}

bool is_of_precision(const config_node& node) {
  return in_small_letters(class_of(node)).find("precision") != std::string::npos;
}

// A plugin may bring a precision and a scaler of its own.
void refuse_precision_plugins(const config_section& trainer) {
  const config_entry* const plugins = trainer.find("plugins");
  if (plugins == nullptr) return;
  const auto decides = [](const config_node& node) {
    constexpr std::array<std::string_view, 5> others{"environment", "checkpointio", "checkpoint_io", "syncbatchnorm",
                                                     "ddpplugin"};
    const std::string name = in_small_letters(class_of(node));
    return is_open(node) || std::ranges::none_of(others, [&](std::string_view end) { return name.ends_with(end); });
  };
  // Older versions take the strategy among them.
  const auto is_strategy = [](const config_node& node) {
    const std::string name = in_small_letters(class_of(node));
    return name.find("deepspeed") != std::string::npos || name.find("colossalai") != std::string::npos;
  };
  if (is_strategy(plugins->value) ||
      std::ranges::any_of(plugins->value.entries, [&](const config_entry& e) { return is_strategy(e.value); }))
    trainer.fail("plugins", "holds a strategy, which may keep the loss scale; write it as strategy");
  const bool is_list = plugins->value.what == config_node::kind::sequence;
  const std::vector<config_entry> all = is_list ? plugins->value.entries : std::vector{*plugins};
  for (const config_entry& e : all)
    if (decides(e.value))
      trainer.fail("plugins", std::string{"holds a "} +
                                  (is_of_precision(e.value) ? "precision plugin, which decides"
                                                            : "plugin that is not known here, and may decide") +
                                  " on the scaler; give --scaler and --format");
}

void read_lightning_clipping(const config_section& trainer, const std::string& strategy) {
  const auto value = trainer.number("gradient_clip_val");
  const std::string algorithm = in_small_letters(trainer.text("gradient_clip_algorithm").value_or("norm"));
  if (algorithm != "norm" && algorithm != "value") trainer.fail("gradient_clip_algorithm", "must be 'norm' or 'value'");
  if (!value || *value <= 0) {
    trainer.means("gradient_clip_val", "no clipping");
    return;
  }
  if (strategy.find("fsdp") != std::string::npos && algorithm == "norm")
    trainer.fail("gradient_clip_val", "by norm is refused by Lightning's FSDP strategy");
  if (strategy.find("deepspeed") != std::string::npos && algorithm == "value")
    trainer.fail("gradient_clip_algorithm", "'value' is refused by Lightning's DeepSpeed strategy");
  if (trainer.has("gradient_clip_algorithm"))
    trainer.means("gradient_clip_algorithm", algorithm == "norm" ? "by L2 norm" : "each gradient by itself");
  trainer.means("gradient_clip_val", "gradients are clipped to this " + algorithm + ", unscaled");
  (algorithm == "norm" ? trainer.run().out.clip_norm : trainer.run().out.clip_value) = *value;
}

// What FSDP accumulates in between reductions, in mixed modes, was not looked up; of DeepSpeed its own file says it.
void read_accumulation(const config_section& trainer, const std::string& strategy, const precision_row& precision) {
  imported_config& out = trainer.run().out;
  read_microbatches(trainer, "accumulate_grad_batches");
  const bool mixed = precision.name.ends_with("-mixed");
  const bool by_fsdp = strategy.find("fsdp") != std::string::npos;
  if ((mixed && by_fsdp) || strategy.find("deepspeed") != std::string::npos) return;
  out.accumulates_in = {mixed ? "float32" : std::string{precision.format},
                        trainer.has("precision") ? "" : "precision is not given: Lightning's default is 32-true"};
}

// The wrapper's `trainer`, or in files of a subcommand `fit.trainer`; else the file holds the arguments themselves.
config_section trainer_of(import_run& run, const config_entry& root) {
  if (keys_in(root.value, cli_keys) == 0) return config_section(run, "", root, lightning_trainer_keys);
  const config_section cli(run, "", root, cli_keys);
  if (auto trainer = cli.section("trainer", lightning_trainer_keys)) return *trainer;
  if (const auto fit = cli.section("fit", cli_keys))
    if (auto trainer = fit->section("trainer", lightning_trainer_keys)) return *trainer;
  cli.fail("trainer", "is missing: it holds the arguments of the Trainer");
}

}  // namespace

void set_grad_scaler(import_run& run) {
  run.out.scaler = "pytorch_gradscaler";
  run.out.format = "float16";
  run.parameter("init_scale", 65536.0);
  run.parameter("growth_factor", 2.0);
  run.parameter("backoff_factor", 0.5);
  run.parameter("growth_interval", 2000.0);
}

void import_lightning(import_run& run, const config_entry& root) {
  const config_section trainer = trainer_of(run, root);
  refuse_precision_plugins(trainer);
  refuse_deciding_callbacks(trainer);
  const std::string strategy = strategy_of(trainer);
  const precision_row* precision = &lightning_precision_of(trainer);
  std::string meaning{precision->meaning};
  const std::string accelerator = trainer.text("accelerator").value_or("");
  const bool on_tpu = accelerator == "tpu" || trainer.find("tpu_cores") != nullptr;
  if (precision->scaled && (accelerator == "cpu" || on_tpu)) {
    precision = &row_named("bf16-mixed");
    if (trainer.has("accelerator")) trainer.means("accelerator", "no autocast to float16 there");
    meaning = "bf16-mixed, to which Lightning changes it on " + std::string{on_tpu ? "TPUs" : "the CPU"} + ": " +
              std::string{precision->meaning};
    if (on_tpu)
      run.note(
          "on TPUs 16-mixed is bfloat16 without a scaler; "
          "newer versions of Lightning refuse it there and want bf16-true");
  }
  if (precision->scaled && in_small_letters(trainer.text("amp_backend").value_or("native")) == "apex")
    trainer.fail("amp_backend", "is apex, whose loss scale is another one; replay that by --scaler apex_amp");
  if (precision->scaled && strategy.find("colossalai") != std::string::npos)
    trainer.fail("strategy", "hands the loss scale to Colossal-AI; replay that by --scaler colossalai_mixin");
  const bool by_deepspeed = precision->name.starts_with("16-") && strategy.find("deepspeed") != std::string::npos;
  if (strategy.find("deepspeed") != std::string::npos) run.out.words = "Lightning with DeepSpeed";
  if (by_deepspeed) meaning = "float16 with DeepSpeed's scaler, by the strategy's own defaults";
  trainer.means("precision", meaning);
  // DeepSpeed's own optimizers keep float32 copies, whatever the model is cast to.
  const bool half_weights = precision->name.ends_with("-true") || precision->name.starts_with("transformer-engine");
  const std::string weights{half_weights && precision->format != "float64" ? precision->format : "float32"};
  if (strategy.find("deepspeed") == std::string::npos) run.out.weights_kept_in = weights;
  read_accumulation(trainer, strategy, *precision);
  if (by_deepspeed) {
    // strategies/deepspeed.py: loss_scale 0, initial_scale_power 16, loss_scale_window 1000, hysteresis 2, min 1.
    const config_entry* const e = trainer.find("strategy");
    if (e->value.what == config_node::kind::mapping && e->value.find("init_args") != nullptr)
      trainer.fail("strategy", "has init_args, which may set the loss scale; give DeepSpeed's own JSON instead");
    trainer.means("strategy", "DeepSpeed: ZeRO's DynamicLossScaler");
    set_deepspeed_scaler(run, {.any_key = true});
  } else if (precision->scaled) {
    set_grad_scaler(run);
  } else {
    run.no_scaling(std::string{precision->format});
  }
  read_lightning_clipping(trainer, strategy);
}

program_row lightning_program() {
  return {
      .name = "Lightning",
      .markers =
          R"(trainer.precision trainer.max_epochs trainer.accelerator trainer.devices trainer.strategy trainer.gradient_clip_val
          trainer.plugins trainer.max_steps trainer.enable_checkpointing trainer.limit_val_batches
          trainer.accumulate_grad_batches fit.trainer gradient_clip_val gradient_clip_algorithm accumulate_grad_batches
          limit_train_batches limit_val_batches check_val_every_n_epoch num_sanity_val_steps)",
      .calls = "Trainer",
      .call_markers = "max_epochs accelerator devices accumulate_grad_batches gradient_clip_val",
      .settings = "config c",
      .keys = lightning_trainer_keys,
      .place = written_in::files,
      .import = import_lightning};
}

}  // namespace ulp::io
