// The YAML (or JSON) that `accelerate config` writes: huggingface/accelerate @16cb6eb8
// src/accelerate/commands/config/config_args.py (the keys), utils/dataclasses.py (DeepSpeedPlugin, GradScalerKwargs,
// MegatronLMPlugin), accelerator.py. Reproduced: fp16 with DeepSpeed's settings in this file writes an `fp16` section
// without any key of the loss scale; a DeepSpeed file of its own excludes the same settings here.
#include <algorithm>
#include <array>
#include <filesystem>

#include "bytes/text.hpp"
#include "file_syntax.hpp"
#include "frameworks.hpp"
#include "programs/rows.hpp"

namespace ulp::io {
namespace {

constexpr known_keys top_keys{
    .read = R"(mixed_precision fp16 distributed_type use_cpu deepspeed_config megatron_lm_config
        kwargs_handlers)",
    .not_read = R"(compute_environment debug num_processes machine_rank num_machines gpu_ids main_process_ip
        main_process_port rdzv_backend same_network main_training_function enable_cpu_affinity fp8_config fsdp_config
        tp_config parallelism_config ipex_config mpirun_config downcast_bf16 tpu_name tpu_zone tpu_use_cluster
        tpu_use_sudo command_file commands tpu_vm tpu_env dynamo_config dynamo_backend aws_access_key_id ec2_instance_type
        iam_role_name image_uri profile region base_job_name pytorch_version transformers_version py_version
        sagemaker_inputs_file sagemaker_metrics_file additional_args)"};

// Those that a DeepSpeed file of its own excludes come first.
constexpr std::array<std::string_view, 8> excluded{
    "gradient_accumulation_steps", "gradient_clipping",     "zero_stage",
    "offload_optimizer_device",    "offload_param_device",  "offload_param_nvme_path",
    "offload_optimizer_nvme_path", "zero3_save_16bit_model"};
constexpr known_keys deepspeed_keys{
    .read = R"(zero_stage gradient_clipping deepspeed_config_file)",
    .not_read = R"(gradient_accumulation_steps offload_optimizer_device offload_param_device offload_param_nvme_path
        offload_optimizer_nvme_path zero3_init_flag zero3_save_16bit_model deepspeed_hostfile
        deepspeed_exclusion_filter deepspeed_inclusion_filter deepspeed_multinode_launcher
        deepspeed_moe_layer_cls_names)"};

constexpr known_keys megatron_keys{.read = "megatron_lm_gradient_clipping",
                                   .not_read =
                                       R"(megatron_lm_tp_degree megatron_lm_pp_degree megatron_lm_num_micro_batches
        megatron_lm_recompute_activations megatron_lm_sequence_parallelism megatron_lm_use_distributed_optimizer
        megatron_lm_use_custom_fsdp megatron_lm_recompute_granularity megatron_lm_expert_model_parallel_size
        megatron_lm_overlap_cpu_optimizer_d2h_h2d megatron_lm_optimizer_cpu_offload)"};

std::string precision_of(const config_section& top) {
  std::string precision = top.text("mixed_precision").value_or("");
  if (precision.empty()) precision = top.flag("fp16").value_or(false) ? "fp16" : "no";
  std::ranges::transform(precision, precision.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  // An unquoted `no` is false to YAML, and Accelerate writes it in quotes.
  if (precision == "false") precision = "no";
  constexpr std::array known{"no", "fp16", "bf16", "fp8"};
  if (std::ranges::find(known, precision) == known.end()) top.fail("mixed_precision", "must be no, fp16, bf16 or fp8");
  return precision;
}

// As given, else beside the file that names it.
std::string path_of_deepspeed_file(const config_section& section) {
  const std::filesystem::path named = section.text("deepspeed_config_file").value();
  std::error_code ignored;
  const bool is_here = named.is_absolute() || std::filesystem::exists(named, ignored);
  const auto path = is_here ? named : std::filesystem::path(section.run().file).parent_path() / named;
  if (std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored))
    section.fail("deepspeed_config_file", "names something that is not a file");
  return path.string();
}

void import_deepspeed_file(const config_section& top, const config_section& deepspeed) {
  import_run& run = top.run();
  for (const std::string_view key : excluded)
    if (deepspeed.has(key))
      deepspeed.fail(key, "is refused by Accelerate together with deepspeed_config_file; write it in that file only");
  if (top.has("mixed_precision"))
    top.fail("mixed_precision",
             "is refused by Accelerate together with deepspeed_config_file; write it in that file only");
  deepspeed.means("deepspeed_config_file", "all that follows is read from it");

  const std::string path = path_of_deepspeed_file(deepspeed);
  import_inner_deepspeed(run, path, text_of(path));
}

void read_clipping(const config_section& section, std::string_view key) {
  if (section.text(key) == "auto") return;
  const auto norm = section.number(key);
  if (!norm) return;
  if (*norm < 0) section.fail(key, "must not be negative");
  section.means(key, *norm == 0 ? "no clipping" : "clipped to this L2 norm");
  if (*norm > 0) section.run().out.clip_norm = *norm;
}

void import_with_deepspeed(const config_section& top, const config_section& deepspeed, const std::string& precision) {
  import_run& run = top.run();
  run.out.weights_kept_in = "float32";  // DeepSpeed's optimizers keep a copy, and nothing here turns it off
  const std::int64_t stage = deepspeed.integer("zero_stage").value_or(2);
  if (stage < 0 || stage > 3) deepspeed.fail("zero_stage", "must be 0, 1, 2 or 3");
  deepspeed.means("zero_stage",
                  stage > 0 ? "ZeRO: the scaler is DynamicLossScaler" : "no ZeRO: the optimizer's wrapper");
  read_clipping(deepspeed, "gradient_clipping");
  if (precision == "fp16") {
    top.means("mixed_precision", "DeepSpeed's fp16, with no key of its loss scale");
    using wrapper = deepspeed_loss_scale::wrapper;
    if (stage == 0)
      run.note(
          "the optimizer is taken for a FusedAdam, whose scaler is deepspeed_fused_nonzero; "
          "any other, torch.optim.AdamW too, has deepspeed_unfused");
    set_deepspeed_scaler(run, {.kind = stage > 0 ? wrapper::zero : wrapper::fused});
  } else if (precision == "no") {
    top.means("mixed_precision", "float32, the loss is not scaled");
    run.no_scaling("float32");
  } else {
    top.means("mixed_precision", "DeepSpeed's bf16, the loss is not scaled");
    run.no_scaling("bfloat16");
  }
}

void import_with_megatron(const config_section& top, const std::string& precision) {
  import_run& run = top.run();
  run.out.weights_kept_in = "float32";
  const auto megatron = top.section("megatron_lm_config", megatron_keys);
  if (precision == "fp16") {
    top.means("mixed_precision", "Megatron-LM's DynamicGradScaler with its defaults");
    set_megatron_scaler(run, {});
  } else {
    top.means("mixed_precision", "the loss is not scaled");
    run.no_scaling(precision == "no" ? "float32" : "bfloat16");
  }
  run.out.clip_norm = 1;  // MegatronLMPlugin's default
  if (megatron && megatron->has("megatron_lm_gradient_clipping")) {
    run.out.clip_norm.reset();
    read_clipping(*megatron, "megatron_lm_gradient_clipping");
  } else {
    run.means("megatron_lm_config.megatron_lm_gradient_clipping is not given", "clipped to L2 norm 1");
  }
}

// GradScalerKwargs(init_scale=1024.0) of a script; the other handlers are not about the loss scale.
void read_handlers(const config_section& top) {
  const config_entry* const handlers = top.find("kwargs_handlers");
  if (handlers == nullptr) return;
  const auto refuse = [&](const config_node& node) {
    const config_entry* const callee = node.find("()");
    top.fail("kwargs_handlers", "holds " + in_quotes(callee != nullptr ? callee->value.text + "()" : node.text) +
                                    ", which this file does not say; write it out");
  };
  if (handlers->value.what != config_node::kind::sequence) refuse(handlers->value);
  for (const config_entry& e : handlers->value.entries) {
    const config_entry* const callee = e.value.find("()");
    if (callee == nullptr) refuse(e.value);
    if (!callee->value.text.ends_with("GradScalerKwargs")) continue;
    constexpr known_keys keys{.read = "() init_scale growth_factor backoff_factor growth_interval enabled"};
    if (e.value.find("0") != nullptr)
      top.fail("kwargs_handlers",
               "gives GradScalerKwargs() a value without a name; write init_scale=..., if it is the first");
    const config_section kwargs(top.run(), "kwargs_handlers", e, keys);
    if (!kwargs.flag("enabled").value_or(true)) {
      kwargs.means("enabled", "the loss is not scaled");
      top.run().out.parameters.clear();
      top.run().no_scaling("float16");
      return;
    }
    for (auto& [name, value] : top.run().out.parameters)
      if (const auto given = kwargs.number(name)) {
        kwargs.means(name, "of torch.amp.GradScaler");
        value = *given;
      }
  }
}

void import_plain(const config_section& top, const std::string& precision) {
  import_run& run = top.run();
  const std::string distributed = top.text("distributed_type").value_or("NO");
  const bool without_float16 =
      top.flag("use_cpu").value_or(false) || distributed == "MULTI_CPU" || distributed == "TPU" || distributed == "XLA";
  if (precision == "fp16" && without_float16)
    top.fail("mixed_precision", "fp16 needs a GPU: Accelerate refuses it on CPUs and TPUs");
  if (precision == "fp16") {
    top.means("mixed_precision", "autocast to float16 with torch.amp.GradScaler's defaults");
    set_grad_scaler(run);
    read_handlers(top);
    if (!top.has("()")) run.note("a GradScalerKwargs in the program is not seen here: repeat it by --set");
  } else if (precision == "bf16") {
    top.means("mixed_precision", "autocast to bfloat16, the loss is not scaled");
    run.no_scaling("bfloat16");
  } else if (precision == "fp8") {
    top.means("mixed_precision",
              "8-bit layers within bfloat16, whose own scales are not replayed; the loss is not scaled");
    run.no_scaling("bfloat16");
  } else {
    top.means("mixed_precision", "float32, the loss is not scaled");
    run.no_scaling("float32");
  }
  run.note("Accelerate clips in the program (clip_grad_norm_, clip_grad_value_): give --clip-norm or --clip-value");
}

}  // namespace

void import_accelerate(import_run& run, const config_entry& root) {
  const config_section top(run, "", root, top_keys);
  if (top.has("()") && !top.has("mixed_precision"))
    top.fail("mixed_precision",
             "is not given to Accelerator, which takes it from accelerate's own configuration then; give that file");
  const std::string precision = precision_of(top);
  if (top.has("fp16"))
    top.means("fp16", top.has("mixed_precision") ? "nothing beside mixed_precision, which took its place"
                                                 : "the old name of mixed_precision: " + precision);
  const auto deepspeed = top.section("deepspeed_config", deepspeed_keys);
  const std::string distributed = top.text("distributed_type").value_or("");
  const bool has_settings = deepspeed && !root.value.find("deepspeed_config")->value.entries.empty();
  if (distributed == "DEEPSPEED" || (distributed.empty() && has_settings)) {
    top.means("distributed_type", "DeepSpeed keeps the loss scale");
    run.out.words = "Accelerate with DeepSpeed";
    const config_entry nothing{.key = "deepspeed_config", .value = {.what = config_node::kind::mapping}};
    const config_section settings =
        deepspeed ? *deepspeed : config_section(run, "deepspeed_config", nothing, deepspeed_keys);
    if (settings.text("deepspeed_config_file").value_or("none") != "none")
      import_deepspeed_file(top, settings);
    else
      import_with_deepspeed(top, settings, precision);
  } else if (distributed == "MEGATRON_LM") {
    top.means("distributed_type", "Megatron-LM keeps the loss scale");
    run.out.words = "Accelerate with Megatron-LM";
    import_with_megatron(top, precision);
  } else {
    import_plain(top, precision);
  }
}

program_row accelerate_program() {
  return {
      .name = "Accelerate",
      .markers =
          R"(distributed_type compute_environment machine_rank main_training_function megatron_lm_config dynamo_config
          deepspeed_config mixed_precision+num_processes mixed_precision+num_machines)",
      .calls = "Accelerator",
      .started_by = "_no_trainer.py",
      .keys = top_keys,
      .place = written_in::files,
      .import = import_accelerate};
}

}  // namespace ulp::io
