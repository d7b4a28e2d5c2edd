// The YAML (or JSON) that `accelerate config` writes: huggingface/accelerate @16cb6eb8
// src/accelerate/commands/config/config_args.py (the keys), utils/dataclasses.py (DeepSpeedPlugin, GradScalerKwargs,
// MegatronLMPlugin), accelerator.py. Reproduced: fp16 with DeepSpeed's settings in this file writes an `fp16` section
// without any key of the loss scale; a DeepSpeed file of its own excludes the same settings here.
#include <algorithm>
#include <array>
#include <filesystem>

#include "bytes/ascii.hpp"
#include "bytes/text.hpp"
#include "file_syntax.hpp"
#include "frameworks.hpp"
#include "programs/rows.hpp"

namespace ulp::io {
namespace {

constexpr known_keys top_keys{
    .read = R"(mixed_precision fp16 distributed_type use_cpu deepspeed_config megatron_lm_config
        kwargs_handlers fp8_config)",
    .not_read = R"(compute_environment debug num_processes machine_rank num_machines gpu_ids main_process_ip
        main_process_port rdzv_backend same_network main_training_function enable_cpu_affinity fsdp_config
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

// Those that `accelerate config` writes and nothing reads are among the others: the launcher hands them on as
// ACCELERATE_FP8_AMAX_HISTORY_LENGTH, where ..._AMAX_HISTORY_LEN is asked for.
constexpr known_keys fp8_keys{
    .read = R"(backend fp8_format margin amax_history_len amax_compute_algo override_linear_precision
        use_mxfp8_block_scaling config)",
    .not_read = R"(interval use_autocast_during_eval amax_history_length amax_compute_algorithm opt_level
        optimization_level enable_fsdp_float8_all_gather pad_inner_dim module_filter_func)"};

constexpr known_keys megatron_keys{.read = "megatron_lm_gradient_clipping",
                                   .not_read =
                                       R"(megatron_lm_tp_degree megatron_lm_pp_degree megatron_lm_num_micro_batches
        megatron_lm_recompute_activations megatron_lm_sequence_parallelism megatron_lm_use_distributed_optimizer
        megatron_lm_use_custom_fsdp megatron_lm_recompute_granularity megatron_lm_expert_model_parallel_size
        megatron_lm_overlap_cpu_optimizer_d2h_h2d megatron_lm_optimizer_cpu_offload)"};

std::string precision_of(const config_section& top) {
  std::string precision = top.text("mixed_precision").value_or("");
  if (precision.empty()) precision = top.flag("fp16").value_or(false) ? "fp16" : "no";
  precision = in_small_letters(precision);
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

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  return text;
}

// TERecipeKwargs: what is not given has its defaults.
void read_transformer_engine(const config_section& fp8) {
  import_run& run = fp8.run();
  said_float8& said = run.out.float8.emplace();
  if (fp8.flag("use_mxfp8_block_scaling").value_or(false)) {
    fp8.means("use_mxfp8_block_scaling", "TransformerEngine's MXFP8BlockScaling");
    said.recipe = "mxfp8";
    return;
  }
  if (const config_entry* const kept = fp8.find("override_linear_precision"))
    for (const config_entry& of : kept->value.entries)
      if (!is_false(of.value))
        fp8.fail("override_linear_precision",
                 "keeps products in 16 bits, which is not replayed; give --recipe te_delayed with "
                 "--kind for what is cast");
  said.recipe = "delayed";
  std::string format = upper(fp8.text("fp8_format").value_or("HYBRID"));
  if (format != "HYBRID" && format != "E4M3" && format != "E5M2")
    fp8.fail("fp8_format", "must be HYBRID, E4M3 or E5M2");
  said.format = format == "HYBRID" ? "hybrid" : format == "E4M3" ? "e4m3" : "e5m2";
  fp8.means("fp8_format", "formats of 8-bit floats");
  const std::int64_t history = fp8.integer("amax_history_len").value_or(1024);
  if (history < 1) fp8.fail("amax_history_len", "must be above 0");
  said.history = static_cast<std::uint64_t>(history);
  fp8.means("amax_history_len",
            "amaxes that the next scale is from" + std::string{fp8.has("amax_history_len") ? "" : ": 1024"});
  said.algorithm = fp8.text("amax_compute_algo").value_or("most_recent");
  if (said.algorithm != "max" && said.algorithm != "most_recent")
    fp8.fail("amax_compute_algo", "must be max or most_recent");
  fp8.means(
      "amax_compute_algo",
      "which of these it is" + std::string{fp8.has("amax_compute_algo") ? "" : ": Accelerate's default, most_recent"});
  said.margin = fp8.number("margin").value_or(0);
  if (fp8.has("margin")) fp8.means("margin", "powers of two that scales leave above the amax");
  for (const char* const unread : {"amax_history_length", "amax_compute_algorithm"})
    if (fp8.has(unread))
      run.note("fp8_config." + std::string{unread} +
               ", as `accelerate config` writes it, is read by nothing in Accelerate: the default counts");
}

// AORecipeKwargs: Float8LinearConfig with its defaults, or one of the program's.
void read_ao(const config_section& fp8) {
  const config_entry nothing{.key = "config", .value = {.what = config_node::kind::mapping}};
  const config_entry* const config = fp8.find("config");
  read_torchao(fp8.run(), config == nullptr ? nothing : *config);
  fp8.run().note(
      fp8.has("module_filter_func")
          ? "module_filter_func keeps layers out of float8, which a file does not say: --tensor REGEX leaves them out"
          : "Accelerate keeps the first and the last linear layer out of float8, and layers whose sizes are no multiples "
            "of 16: --tensor REGEX leaves them out here, too");
}

// Of whom the 8-bit layers are and how they are scaled: a section, or the arguments of what Accelerate calls a handler.
void read_fp8(const config_section& fp8, std::string backend) {
  backend = upper(backend);
  if (fp8.has("backend")) fp8.means("backend", "whose 8-bit layers they are");
  if (backend == "TE")
    read_transformer_engine(fp8);
  else if (backend == "AO" || backend == "TORCHAO")
    read_ao(fp8);
  else if (backend == "MSAMP" || backend == "MS-AMP")
    fp8.run().out.float8 = said_float8{.recipe = "delayed", .library = "MS-AMP"};
  else if (backend.empty() || backend == "AUTO" || backend == "NO")
    fp8.run().note(
        "whose 8-bit layers they are is not said: Accelerate takes torchao, TransformerEngine or MS-AMP, whichever "
        "is installed, in this order; --recipe says how they are scaled");
  else
    fp8.fail("backend", "must be TE, AO or MSAMP");
}

// By the program's handlers where it has one, else by the file's section.
void read_fp8(const config_section& top) {
  if (const config_entry* const handlers = top.find("kwargs_handlers"))
    for (const config_entry& e : handlers->value.entries) {
      const config_entry* const callee = e.value.find("()");
      if (callee == nullptr) continue;
      for (const auto& [handler, backend] : {std::pair{"FP8RecipeKwargs", ""},
                                             {"TERecipeKwargs", "TE"},
                                             {"AORecipeKwargs", "AO"},
                                             {"MSAMPRecipeKwargs", "MSAMP"}}) {
        if (callee->value.text.substr(callee->value.text.find_last_of('.') + 1) != handler) continue;
        const config_section fp8(top.run(), "kwargs_handlers", e, fp8_keys);
        read_fp8(fp8, fp8.text("backend").value_or(backend));
        return;
      }
    }
  if (const auto fp8 = top.section("fp8_config", fp8_keys)) {
    read_fp8(*fp8, fp8->text("backend").value_or(""));
    return;
  }
  const config_entry nothing{.key = "fp8_config", .value = {.what = config_node::kind::mapping}};
  read_fp8(config_section(top.run(), "fp8_config", nothing, fp8_keys), "");
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
    top.means("mixed_precision", "8-bit layers within bfloat16; the loss is not scaled");
    run.no_scaling("bfloat16");
    read_fp8(top);
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
