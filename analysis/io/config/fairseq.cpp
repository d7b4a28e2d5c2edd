// fairseq's options, on a command line or as Hydra's YAML with its groups: facebookresearch/fairseq @3d262bb2
// fairseq/dataclass/configs.py (options and defaults), fairseq/optim/fp16_optimizer.py (which scaler, the window where none
// is given), amp_optimizer.py. With --amp the scale starts at fp16_init_scale, and the growth interval is amp_init_scale if
// amp_scale_window is given.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "frameworks.hpp"
#include "programs/rows.hpp"

namespace ulp::io {
namespace {

constexpr std::string_view common_read =
    "fp16 bf16 memory_efficient_fp16 memory_efficient_bf16 fp16_no_flatten_grads fp16_init_scale fp16_scale_window "
    "fp16_scale_tolerance on_cpu_convert_precision min_loss_scale threshold_loss_scale amp amp_init_scale "
    "amp_scale_window amp_batch_retries tpu";
constexpr known_keys common_keys{.read = common_read,
                                 .not_read = R"(no_progress_bar log_interval log_format log_file seed cpu
        tensorboard_logdir wandb_project azureml_logging empty_cache_freq all_gather_list_size model_parallel_size
        quantization_config_path profile reset_logging suppress_crashes use_plasma_view plasma_path user_dir)"};
constexpr known_keys optimization_keys{.read = "clip_norm update_freq",
                                       .not_read = R"(max_epoch max_update stop_time_hours sentence_avg lr stop_min_lr
        use_bmuf skip_remainder_batch)"};
constexpr known_keys distributed_keys{.read = "distributed_world_size",
                                      .not_read = R"(distributed_num_procs distributed_rank distributed_backend
        distributed_init_method distributed_port device_id distributed_no_spawn ddp_backend ddp_comm_hook bucket_cap_mb
        fix_batches_to_gpus find_unused_parameters fast_stat_sync nprocs_per_node zero_sharding)"};
constexpr known_keys group_keys{.read = "common optimization distributed_training",
                                .not_read = R"(_name _group_ checkpoint task criterion dataset optimizer lr_scheduler
        model scoring bmuf common_eval eval_lm generation interactive ema bpe tokenizer hydra defaults)"};
// On a command line all are at the top.
constexpr known_keys flat_keys{
    .read =
        "fp16 bf16 memory_efficient_fp16 memory_efficient_bf16 fp16_no_flatten_grads fp16_init_scale "
        "fp16_scale_window fp16_scale_tolerance on_cpu_convert_precision min_loss_scale threshold_loss_scale amp "
        "amp_init_scale amp_scale_window amp_batch_retries tpu clip_norm update_freq distributed_world_size",
    .not_read = R"(activation_dropout activation_fn adam_betas adam_eps all_gather_list_size arch attention_dropout
        batch_size best_checkpoint_metric bpe bucket_cap_mb config_yaml cpu criterion curriculum ddp_backend decoder_embed_dim
        decoder_layers disable_validation distributed_port dropout empty_cache_freq encoder_layers eval_bleu
        find_unused_parameters fixed_validation_seed init_token keep_interval_updates keep_last_epochs
        label_smoothing layernorm_embedding log_format log_interval lr lr_scheduler max_epoch max_positions
        max_sentences max_source_positions max_target_positions max_tokens max_update maximize_best_checkpoint_metric
        no_epoch_checkpoints no_last_checkpoints no_progress_bar num_classes num_workers optimizer patience power
        regression_target relu_dropout required_batch_size_multiple required_seq_len_multiple reset_dataloader
        reset_lr_scheduler reset_meters reset_optimizer restore_file sample_break_mode save_dir save_interval
        save_interval_updates seed sentence_avg separator_token share_all_embeddings
        share_decoder_input_output_embed skip_invalid_size_inputs_valid_test source_lang stop_min_lr target_lang task
        tensorboard_logdir tokens_per_sample total_num_update train_subset truncate_source user_dir valid_subset
        validate_interval warmup_init_lr warmup_updates weight_decay)"};
constexpr known_keys fairseq_telling{.read =
                                         "arch criterion task max_tokens update_freq clip_norm save_dir lr_scheduler "
                                         "warmup_updates tokens_per_sample max_sentences total_num_update max_update"};

// One section, or that of each group.
struct options {
  config_section common;
  std::optional<config_section> optimization;
  std::optional<config_section> distributed;
};

// The first of a list, or the number alone.
double update_freq_of(const options& o) {
  const config_entry* const e = o.optimization ? o.optimization->find("update_freq") : nullptr;
  if (e == nullptr) return 1;
  std::string text = e->value.text;
  std::size_t count = 1;
  if (e->value.what == config_node::kind::sequence) {
    count = e->value.entries.size();
    text = count > 0 ? e->value.entries.front().value.text : "1";
  }
  if (text.starts_with('[')) text.erase(0, 1);
  if (text.find(',') != std::string::npos) count = 2;
  double freq = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), freq);
  if (error != std::errc{} || !(freq >= 1)) o.optimization->fail("update_freq", "must begin with a number above 0");
  if (count > 1)
    o.optimization->fail("update_freq", "has several values, for which fairseq wants fp16_scale_window to be given");
  return freq;
}

void set_dynamic(const options& o) {
  const config_section& c = o.common;
  import_run& run = c.run();
  run.out.scaler = "fairseq_cli";
  run.out.format = "float16";
  const double initial = c.positive("fp16_init_scale", 128);
  c.means("fp16_init_scale", "scale of the first step " + number_text(initial));
  run.parameter("init_scale", initial);
  if (c.find("fp16_scale_window") != nullptr) {
    c.means("fp16_scale_window", "good steps in a row before the scale doubles");
    run.parameter("scale_window", c.positive("fp16_scale_window", 1));
  } else {
    const double freq = update_freq_of(o);
    const bool known = o.distributed && o.distributed->find("distributed_world_size") != nullptr;
    const double world = known ? o.distributed->positive("distributed_world_size", 1) : 1;
    const double window = std::max(std::floor(0x1p14 / world / freq), 1.0);
    run.means(c.given("fp16_scale_window"), "2^14 / " + number_text(world) + " GPUs / update_freq " +
                                                number_text(freq) + " = " + number_text(window) +
                                                " good steps before the scale doubles");
    if (!known)
      run.note(
          "distributed_world_size is not given, which is the number of GPUs: one is assumed, and with more the "
          "scale doubles sooner; give --set scale_window=" +
          number_text(window) + "/GPUs");
    run.parameter("scale_window", window);
  }
  if (const auto tolerance = c.number("fp16_scale_tolerance")) {
    if (*tolerance < 0) c.fail("fp16_scale_tolerance", "must not be negative");
    c.means("fp16_scale_tolerance", "share of overflows since the scale last changed from which it halves");
    run.parameter("tolerance", *tolerance);
  }
  if (const auto threshold = c.number("threshold_loss_scale")) {
    c.means("threshold_loss_scale", "floor of the scale");
    run.parameter("threshold", *threshold);
  }
  if (const auto least = c.number("min_loss_scale")) {
    c.means("min_loss_scale", "a scale at or below it ends the run");
    run.parameter("min_loss_scale", *least);
  }
}

// What is named for the first scale is the growth interval, where a window is given, whose value is not passed on.
void set_amp(const config_section& c) {
  import_run& run = c.run();
  const double initial = c.positive("fp16_init_scale", 128);
  const bool has_window = c.find("amp_scale_window") != nullptr;
  const double interval = has_window ? c.positive("amp_init_scale", 128) : 2000;
  run.out.words = "fairseq --amp";
  c.means("amp", "autocast to float16 with torch.amp.GradScaler");
  run.means(c.given("fp16_init_scale"), "scale of the first step " + number_text(initial));
  run.means(c.given("amp_scale_window"),
            has_window ? "amp_init_scale is the growth interval" : "GradScaler's growth interval of 2000");
  if (has_window || c.has("amp_init_scale"))
    run.means(c.given("amp_init_scale"),
              has_window ? "the growth interval " + number_text(interval) : "nothing without amp_scale_window");
  run.out.scaler = "pytorch_gradscaler";
  run.out.format = "float16";
  run.parameter("init_scale", initial);
  run.parameter("growth_interval", interval);
}

void import_options(const options& o) {
  const config_section& c = o.common;
  import_run& run = c.run();
  const auto on = [&](std::string_view key) { return c.flag(key).value_or(false); };
  const bool efficient = on("memory_efficient_fp16") || on("memory_efficient_bf16");
  const bool fp16 = on("fp16") || on("memory_efficient_fp16");
  const bool bf16 = on("bf16") || on("memory_efficient_bf16");
  if (fp16 && bf16) c.fail("bf16", "and fp16 cannot both be given");
  if (on("amp") && (fp16 || bf16))
    c.fail("amp", std::string{"and "} + (fp16 ? "fp16" : "bf16") + " cannot both be given");
  if (efficient)
    c.means(on("memory_efficient_fp16") ? "memory_efficient_fp16" : "memory_efficient_bf16",
            "no float32 copy of the weights; the loss scale is the same");
  run.out.weights_kept_in = !efficient ? "float32" : fp16 ? "float16" : "bfloat16";
  if (on("amp")) {
    set_amp(c);
  } else if (fp16) {
    if (c.has("fp16")) c.means("fp16", "gradients in float16, the loss is scaled");
    set_dynamic(o);
  } else {
    if (bf16 && c.has("bf16")) c.means("bf16", "gradients in bfloat16, the loss is not scaled");
    if (!bf16) run.means("neither fp16 nor bf16", "float32, the loss is not scaled");
    run.no_scaling(bf16 ? "bfloat16" : "float32");
  }
  if (!o.optimization || o.optimization->find("clip_norm") == nullptr) {
    run.means("clip_norm is not given", "no clipping");
    return;
  }
  const double norm = o.optimization->number("clip_norm").value();
  if (norm < 0) o.optimization->fail("clip_norm", "must not be negative");
  o.optimization->means("clip_norm", norm > 0 ? "clipped to this L2 norm" : "no clipping");
  if (norm > 0) run.out.clip_norm = norm;
}

bool has_groups(const config_node& root) {
  const auto is_group = [&](std::string_view key) {
    const config_entry* const e = root.find(key);
    return e != nullptr && e->value.what == config_node::kind::mapping;
  };
  return is_group("common") || (is_group("optimization") && (is_group("task") || is_group("dataset")));
}

bool is_fairseq(const config_node& root) { return has_groups(root) || keys_in(root, fairseq_telling) > 2; }

}  // namespace

void import_fairseq(import_run& run, const config_entry& root) {
  if (!has_groups(root.value)) {
    const config_section all(run, "", root, flat_keys);
    import_options({all, all, all});
    return;
  }
  const config_section top(run, "", root, group_keys);
  const config_entry nothing{.key = "common", .line = root.line, .value = {.what = config_node::kind::mapping}};
  const auto common = top.section("common", common_keys);
  import_options({common ? *common : config_section(run, "common", nothing, common_keys),
                  top.section("optimization", optimization_keys),
                  top.section("distributed_training", distributed_keys)});
}

program_row fairseq_program() {
  return {
      .name = "fairseq",
      .markers =
          R"(fp16_init_scale fp16_scale_window fp16_scale_tolerance threshold_loss_scale memory_efficient_fp16 memory_efficient_bf16
          on_cpu_convert_precision)",
      .started_by =
          "fairseq-train fairseq-hydra-train fairseq_cli/train.py fairseq_cli.train fairseq_cli/hydra_train.py "
          "fairseq_cli.hydra_train",
      .flags =
          "fp16 bf16 memory_efficient_fp16 memory_efficient_bf16 fp16_no_flatten_grads on_cpu_convert_precision amp tpu cpu",
      .settings = "config_name",
      .keys = flat_keys,
      .import = import_fairseq,
      .is_its = is_fairseq};
}

}  // namespace ulp::io
