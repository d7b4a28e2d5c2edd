// DeepSpeed's JSON: microsoft/DeepSpeed @38327e07 deepspeed/runtime/config.py, constants.py, fp16/loss_scaler.py,
// fp16/fused_optimizer.py, fp16/unfused_optimizer.py, zero/config.py; runtime/engine.py chooses the wrapper
// (_configure_fp16_optimizer, _configure_basic_optimizer) and what gradients are accumulated in (get_data_types). Reproduced: without any key of dynamic scaling the classes'
// own defaults count; `enabled` is false where it is not given; keys given twice are refused.
#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include <ulp/formats/catalog.hpp>

#include "bytes/ascii.hpp"
#include "file_syntax.hpp"
#include "frameworks.hpp"
#include "programs/rows.hpp"

namespace ulp::io {
namespace {

constexpr known_keys deepspeed_top_keys{
    .read =
        "fp16 bf16 bfloat16 amp torch_autocast gradient_clipping zero_optimization optimizer "
        "data_types gradient_accumulation_steps",
    .not_read = R"(activation_checkpointing aio autotuning checkpoint comet comms_logger communication_data_type
        compile compression_training csv_monitor curriculum_learning data_efficiency dataloader_drop_last
        disable_allgather dump_state eigenvalue elasticity flops_profiler fp32_allreduce
        gradient_predivide_factor graph_harvesting hybrid_engine memory_breakdown monitor_config nebula pipeline
        prescale_gradients progressive_layer_drop quantize_training scheduler seq_parallel_communication_data_type
        sequence_parallel_size sparse_attention sparse_gradients steps_per_print tensor_parallel tensorboard timers
        train_batch_size train_micro_batch_size_per_gpu use_data_before_expert_parallelism vocabulary_size
        wall_clock_breakdown wandb weight_quantization zero_allow_untested_optimizer zero_force_ds_cpu_optimizer)"};

constexpr known_keys fp16_keys{.read = R"(enabled loss_scale initial_scale_power loss_scale_window hysteresis
        consecutive_hysteresis min_loss_scale fp16_master_weights_and_grads)",
                               .not_read = "auto_cast"};

constexpr known_keys bf16_keys{.read = "enabled check_grad_overflow bf16_master_weights_and_grads",
                               .not_read = "immediate_grad_update bf16_optimizer_states"};

constexpr known_keys zero_keys{
    .read = "stage",
    .not_read = R"(allgather_bucket_size allgather_partitions allgather_sequential contiguous_gradients cpu_offload
        cpu_offload_param cpu_offload_params cpu_offload_use_pin_memory elastic_checkpoint enable_sanity_checks
        gather_16bit_weights_on_model_save ignore_unused_parameters legacy_stage1 leaf_module load_from_fp32_weights
        log_trace_cache_warnings max_live_parameters max_reuse_distance memory_efficient_linear
        mics_hierarchical_params_gather mics_shard_size model_persistence_threshold module_granularity_threshold
        offload_optimizer offload_param overlap_comm override_module_apply param_persistence_threshold
        pipeline_loading_checkpoint prefetch_bucket_size reduce_bucket_size reduce_scatter round_robin_gradients
        save_muon_momentum_buffer_in_memory stage3_allgather_sequential stage3_gather_16bit_weights_on_model_save
        stage3_gather_fp16_weights_on_model_save stage3_max_live_parameters stage3_max_reuse_distance
        stage3_model_persistence_threshold stage3_module_granularity_threshold stage3_param_persistence_threshold
        stage3_prefetch_bucket_size stage3_use_all_reduce_for_fetch_params sub_group_size
        use_all_reduce_for_fetch_params use_multi_rank_bucket_allreduce zenflow zero_hpz_partition_size
        zero_quantized_gradients zero_quantized_nontrainable_weights zero_quantized_weights zeropp_loco_param)"};

constexpr known_keys deepspeed_optimizer_keys{.read = "type params", .not_read = "legacy_fusion"};

constexpr known_keys type_keys{.read = "grad_accum_dtype", .not_read = "buffer_dtype param_dtype"};

// Hugging Face's Trainer writes "auto" and fills it from its own arguments.
bool is_auto(const config_section& s, std::string_view key) {
  const config_entry* const e = s.find(key);
  return e != nullptr && e->value.what == config_node::kind::scalar && e->value.text == "auto";
}

bool is_enabled(const std::optional<config_section>& s, const std::string& flag_of_trainer) {
  if (!s) return false;
  if (is_auto(*s, "enabled")) {
    const auto wanted = s->run().wanted;
    if (s->run().by_trainer) {
      const bool on = (flag_of_trainer == "fp16" ? float16 : bfloat16) == wanted;
      s->means("enabled", (on ? "on, as --" : "off, without --") + flag_of_trainer);
      return on;
    }
    if (wanted != float16 && wanted != bfloat16)
      s->fail("enabled", "is 'auto', which Hugging Face's Trainer fills from its own argument --" + flag_of_trainer +
                             "; write true or false, or say which by --format float16 or --format bfloat16");
    const bool on = (flag_of_trainer == "fp16") == (wanted == float16);
    s->means("enabled", on ? "on, as the format asked for says" : "off, as the format asked for says");
    return on;
  }
  const bool enabled = s->flag("enabled").value_or(false);
  s->means("enabled", enabled ? "on" : std::string{"off"} + (s->has("enabled") ? "" : ", DeepSpeed's default"));
  return enabled;
}

int stage_of(const config_section& top) {
  const config_entry* const e = top.find("zero_optimization");
  if (e == nullptr) return 0;
  if (e->value.what == config_node::kind::scalar) {  // as it was before there were stages
    const bool on = top.flag("zero_optimization").value();
    top.means("zero_optimization", on ? "ZeRO stage 1" : "no ZeRO");
    return on ? 1 : 0;
  }
  const config_section zero = *top.section("zero_optimization", zero_keys);
  const std::int64_t stage = zero.integer("stage").value_or(0);
  if (stage < 0 || stage > 3) zero.fail("stage", "must be 0, 1, 2 or 3");
  zero.means("stage", stage == 0 ? "no ZeRO: the scaler is that of the optimizer's fp16 wrapper"
                                 : "ZeRO: the scaler is DynamicLossScaler or LossScaler");
  return static_cast<int>(stage);
}

// Which class wraps the optimizer without ZeRO: FusedAdam and the 1-bit Adams get FP16_Optimizer, all others
// FP16_UnfusedOptimizer.
deepspeed_loss_scale::wrapper wrapper_of(const config_section& top) {
  using wrapper = deepspeed_loss_scale::wrapper;
  const auto optimizer = top.section("optimizer", deepspeed_optimizer_keys);
  const auto type = optimizer ? optimizer->text("type") : std::nullopt;
  if (!type) {
    top.run().note(
        "no optimizer.type is given: the optimizer that the program passes to DeepSpeed is taken for a FusedAdam, "
        "whose scaler is deepspeed_fused_nonzero; any other, torch.optim.AdamW too, has deepspeed_unfused");
    return wrapper::fused;
  }
  const std::string name = in_small_letters(*type);
  constexpr std::array fused{"adam", "adamw", "onebitadam", "zerooneadam"};
  bool is_fused = std::ranges::find(fused, name) != fused.end();
  const config_entry* const params = optimizer->find("params");
  const config_entry* const torch_adam = params == nullptr ? nullptr : params->value.find("torch_adam");
  if (name.starts_with("adam") && torch_adam != nullptr && torch_adam->value.text == "true") is_fused = false;
  optimizer->means("type", is_fused ? "wrapped in FP16_Optimizer (fused)" : "wrapped in FP16_UnfusedOptimizer");
  return is_fused ? wrapper::fused : wrapper::unfused;
}

// The engine refuses it since clipping has a key of its own.
void check_max_grad_norm(const config_section& top) {
  const config_entry* const optimizer = top.find("optimizer");
  const config_entry* const params = optimizer == nullptr ? nullptr : optimizer->value.find("params");
  const config_entry* const norm = params == nullptr ? nullptr : params->value.find("max_grad_norm");
  if (norm != nullptr)
    throw input_error(top.run().file, at_line(norm->line),
                      "optimizer.params.max_grad_norm is refused by DeepSpeed; use gradient_clipping");
}

deepspeed_loss_scale loss_scale_of(const config_section& fp16, deepspeed_loss_scale::wrapper kind) {
  using wrapper = deepspeed_loss_scale::wrapper;
  deepspeed_loss_scale all{.kind = kind};
  all.static_scale = fp16.number("loss_scale").value_or(0);
  if (all.static_scale < 0) fp16.fail("loss_scale", "must not be negative; 0 is dynamic");
  const bool dynamic = all.static_scale == 0;
  const auto means = [&](std::string_view key, const std::string& meaning) {
    if (fp16.has(key)) fp16.means(key, dynamic ? meaning : "nothing, since the scale is static");
  };
  fp16.means("loss_scale", dynamic ? "dynamic" : "static: it never changes, overflowed steps are skipped");

  for (const std::string_view key :
       {"initial_scale_power", "loss_scale_window", "hysteresis", "consecutive_hysteresis", "min_loss_scale"})
    all.any_key = all.any_key || fp16.has(key);
  all.initial_scale_power = fp16.number("initial_scale_power").value_or(16);
  if (all.initial_scale_power < 0 || all.initial_scale_power > 127 ||
      all.initial_scale_power != std::floor(all.initial_scale_power))
    fp16.fail("initial_scale_power", "must be an integer from 0 to 127");
  all.loss_scale_window = fp16.positive("loss_scale_window", 1000);
  all.hysteresis = static_cast<double>(fp16.integer("hysteresis").value_or(2));
  if (all.hysteresis < 0) fp16.fail("hysteresis", "must not be negative");
  all.consecutive_hysteresis = fp16.flag("consecutive_hysteresis").value_or(false);
  all.min_loss_scale = fp16.number("min_loss_scale").value_or(1);
  if (all.min_loss_scale < 0) fp16.fail("min_loss_scale", "must not be negative");

  const std::string window = number_text(all.loss_scale_window);
  means("initial_scale_power", "scale of the first step " + number_text(std::exp2(all.initial_scale_power)));
  means("loss_scale_window",
        kind == wrapper::zero ? "the scale doubles after " + window + " steps without overflow"
                              : "the scale doubles " + window + " steps after the last overflow, first one step later");
  const std::string spent = "the scale halves on overflow " + number_text(all.hysteresis) +
                            (all.consecutive_hysteresis ? " in a row" : " since it last grew") + " and each after that";
  means("hysteresis", kind != wrapper::zero ? "nothing: the fp16 wrappers do not look at it, every overflow halves"
                      : all.hysteresis == 0 ? "no overflow ever halves the scale"
                      : all.hysteresis == 1 ? "every overflow halves the scale"
                                            : spent);
  means("consecutive_hysteresis", kind != wrapper::zero        ? "nothing: the fp16 wrappers do not look at it"
                                  : all.consecutive_hysteresis ? "each good step refills the hysteresis"
                                                               : "only growth refills the hysteresis");
  means("min_loss_scale",
        kind == wrapper::zero ? "floor of the scale: an overflow there ends the run" : "floor of the scale");
  return all;
}

void read_deepspeed_clipping(const config_section& top) {
  if (is_auto(top, "gradient_clipping")) {
    if (const auto norm = top.run().trainer_norm) {
      const std::string given = number_text(*norm) + ", the Trainer's max_grad_norm";
      top.means("gradient_clipping", *norm > 0 ? "clipped to L2 norm " + given : "no clipping: " + given);
      if (*norm > 0) top.run().out.clip_norm = *norm;
      return;
    }
    top.means("gradient_clipping",
              "no clipping here: Hugging Face's Trainer fills it from --max_grad_norm (1.0 where "
              "that is not given); give --clip-norm");
    return;
  }
  const auto norm = top.number("gradient_clipping");
  if (!norm) return;
  if (*norm < 0) top.fail("gradient_clipping", "must not be negative");
  top.means("gradient_clipping", *norm == 0 ? "no clipping" : "clipped to this L2 norm");
  if (*norm > 0) top.run().out.clip_norm = *norm;
}

void read_accumulation(const config_section& top, bool zero) {
  struct named_type {
    std::string_view word;
    std::string_view format;
  };
  constexpr std::array types{named_type{"fp32", "float32"},    named_type{"float32", "float32"},
                             named_type{"float", "float32"},   named_type{"fp16", "float16"},
                             named_type{"float16", "float16"}, named_type{"half", "float16"},
                             named_type{"bf16", "bfloat16"},   named_type{"bfloat16", "bfloat16"}};
  imported_config& out = top.run().out;
  const std::string& model = *out.format;
  const auto section = top.section("data_types", type_keys);
  const auto word = section ? section->text("grad_accum_dtype") : std::nullopt;
  if (word) {
    const std::string_view name = word->starts_with("torch.") ? std::string_view(*word).substr(6) : *word;
    const auto type = std::ranges::find(types, name, &named_type::word);
    if (type == types.end()) section->fail("grad_accum_dtype", "must be fp32, fp16 or bf16");
    section->means("grad_accum_dtype", "gradients are accumulated in " + std::string{type->format});
    out.accumulates_in = {std::string{type->format}, ""};
    return;
  }
  const bool as_before = model == "bfloat16" && !zero;
  out.accumulates_in = {model,
                        std::string{"data_types.grad_accum_dtype is not given: DeepSpeed takes the model's type"} +
                            (as_before ? ", or without ZeRO float32 before it had runtime/precision_config.py" : "")};
}

void refuse_other_scalers(const config_section& top) {
  for (const std::string_view key : {"amp", "torch_autocast"}) {
    const config_entry* const e = top.find(key);
    const config_entry* const enabled = e == nullptr ? nullptr : e->value.find("enabled");
    if (enabled == nullptr || enabled->value.text != "true") continue;
    top.fail(key, key == "amp" ? "hands the loss scale to apex.amp; replay that by --scaler apex_amp"
                               : "hands float16's loss scale to PyTorch's GradScaler: replay that by --scaler "
                                 "pytorch_gradscaler, bfloat16 by --scaler none");
  }
}

}  // namespace

void set_deepspeed_scaler(import_run& run, const deepspeed_loss_scale& s) {
  using wrapper = deepspeed_loss_scale::wrapper;
  run.out.format = "float16";
  if (s.static_scale > 0) {
    run.out.scaler = "static";
    run.parameter("loss_scale", s.static_scale);
    return;
  }
  const double initial = std::exp2(s.initial_scale_power);
  if (s.kind == wrapper::zero) {
    run.out.scaler = "deepspeed_dynamic";
    run.parameter("init_scale", s.any_key ? initial : 0x1p32);
    run.parameter("scale_window", s.loss_scale_window);
    run.parameter("delayed_shift", s.any_key ? s.hysteresis : 1);
    run.parameter("consecutive_hysteresis", s.consecutive_hysteresis);
    run.parameter("min_scale", s.min_loss_scale);
    if (!s.any_key) {
      run.means("no key of dynamic scaling is given",
                "the defaults of DynamicLossScaler itself: first scale 2^32, no hysteresis");
      run.note(
          "from the version on that has runtime/precision_config.py, DeepSpeed takes its documented defaults here "
          "(2^16, hysteresis 2): for those --set init_scale=2^16 --set delayed_shift=2");
    }
    return;
  }
  const bool fused = s.kind == wrapper::fused;
  run.out.scaler = fused ? "deepspeed_fused_nonzero" : "deepspeed_unfused";
  run.parameter("cur_scale", initial);
  run.parameter("scale_window", s.loss_scale_window);
  run.parameter("min_loss_scale", fused || s.any_key ? s.min_loss_scale : 0.25);
  if (!s.any_key)
    run.means("no key of dynamic scaling is given",
              std::string{"the wrapper's own defaults: first scale 2^16, floor "} + (fused ? "1" : "0.25"));
}

void import_deepspeed(import_run& run, const config_entry& root) {
  const config_section top(run, "", root, deepspeed_top_keys);
  refuse_other_scalers(top);
  check_max_grad_norm(top);
  const auto fp16 = top.section("fp16", fp16_keys);
  if (top.find("bf16") != nullptr && top.find("bfloat16") != nullptr)
    top.fail("bfloat16", "is the old name of bf16; give one of them");
  const auto bf16 = top.section(top.find("bf16") != nullptr ? "bf16" : "bfloat16", bf16_keys);
  const int stage = stage_of(top);
  const bool fp16_enabled = is_enabled(fp16, "fp16");
  const bool bf16_enabled = is_enabled(bf16, "bf16");
  if (fp16_enabled && bf16_enabled) top.fail("bf16", "and fp16 cannot both be enabled");
  read_deepspeed_clipping(top);

  if (fp16_enabled) {
    if (fp16->flag("fp16_master_weights_and_grads").value_or(false)) {
      if (stage != 2) fp16->fail("fp16_master_weights_and_grads", "needs ZeRO stage 2");
      fp16->means("fp16_master_weights_and_grads", "nothing for the loss scale: the master weights are float16 too");
      run.out.weights_kept_in = "float16";
    } else {
      run.out.weights_kept_in = "float32";
    }
    const auto kind = stage > 0 ? deepspeed_loss_scale::wrapper::zero : wrapper_of(top);
    set_deepspeed_scaler(run, loss_scale_of(*fp16, kind));
  } else if (bf16_enabled) {
    run.no_scaling("bfloat16");
    const bool low_master = bf16->flag("bf16_master_weights_and_grads").value_or(false);
    run.out.weights_kept_in = low_master ? "bfloat16" : "float32";
    if (bf16->has("bf16_master_weights_and_grads"))
      bf16->means("bf16_master_weights_and_grads",
                  low_master ? "the optimizer's weights are bfloat16 too" : "the optimizer has float32 weights");
    if (bf16->flag("check_grad_overflow").value_or(false)) {
      bf16->means("check_grad_overflow", "overflowed steps are skipped; the loss is not scaled");
      run.out.scaler = "static";
      run.parameter("loss_scale", 1.0);
    }
  } else {
    run.means("neither fp16 nor bf16 is enabled", "float32, the loss is not scaled");
    run.no_scaling("float32");
    run.out.weights_kept_in = "float32";
  }
  read_accumulation(top, stage > 0);
  read_microbatches(top, "gradient_accumulation_steps");
}

void import_inner_deepspeed(import_run& run, const std::string& file, const std::string& text) {
  import_run inner;
  inner.file = file;
  inner.out.framework = "DeepSpeed";
  inner.wanted = run.wanted;
  inner.by_trainer = run.by_trainer;
  inner.trainer_norm = run.trainer_norm;
  import_deepspeed(inner, {.key = "", .line = 1, .value = parse_config(file, text)});
  const auto append = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
  append(run.read, inner.read);
  append(run.not_read, inner.not_read);
  append(run.unknown, inner.unknown);
  append(run.out.meanings, inner.out.meanings);
  append(run.out.notes, inner.out.notes);
  run.out.scaler = inner.out.scaler;
  run.out.parameters = inner.out.parameters;
  run.out.format = inner.out.format;
  run.out.weights_kept_in = inner.out.weights_kept_in;
  run.out.accumulates_in = inner.out.accumulates_in;
  run.out.microbatches = inner.out.microbatches;
  run.out.clip_norm = inner.out.clip_norm;
}

std::optional<std::string> path_beside(const std::string& file, const std::string& named) {
  const std::filesystem::path path = named;
  const std::filesystem::path beside = std::filesystem::path(file).parent_path() / path;
  std::error_code ignored;
  for (const std::filesystem::path& tried : {path, path.is_absolute() ? path : beside})
    if (std::filesystem::is_regular_file(tried, ignored)) return tried.string();
  return {};
}

program_row deepspeed_program() {
  return {
      .name = "DeepSpeed",
      .markers =
          R"(zero_optimization fp16.enabled bf16.enabled bfloat16.enabled fp16.loss_scale fp16.initial_scale_power fp16.loss_scale_window
          amp.enabled+train_batch_size torch_autocast.enabled train_micro_batch_size_per_gpu zero_allow_untested_optimizer
          zero_force_ds_cpu_optimizer wall_clock_breakdown steps_per_print data_types.grad_accum_dtype gradient_predivide_factor
          prescale_gradients)",
      .calls = "initialize",
      .call_markers =
          R"(config.zero_optimization config.fp16 config.bf16 config.train_micro_batch_size_per_gpu config.train_batch_size
          config_params.zero_optimization config_params.fp16 config_params.bf16 config_params.train_batch_size
          config_params.train_micro_batch_size_per_gpu)",
      .argument = "config config_params",
      .keys = deepspeed_top_keys,
      .place = written_in::files,
      .import = import_deepspeed};
}

}  // namespace ulp::io
