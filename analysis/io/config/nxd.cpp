// neuronx_distributed_config of AWS NxD as JSON or YAML: aws-neuron/neuronx-distributed @fbac349
// src/neuronx_distributed/trainer/trainer.py; and NxD Training's YAML: aws-neuron/neuronx-distributed-training @143f4fea
// examples/conf, whose `trainer` is Lightning's and whose `precision` is its own. There is no loss scaling and no check for infinities anywhere in it.
#include "frameworks.hpp"
#include "programs/rows.hpp"

namespace ulp::io {
namespace {

constexpr known_keys nxd_top_keys{
    .read = "mixed_precision_config optimizer_config ()",
    .not_read = R"(tensor_parallel_size pipeline_parallel_size expert_parallel_size context_parallel_size
        token_shuffle_group_size pipeline_config activation_checkpoint_config pad_model sequence_parallel
        model_init_config lora_config lnc_size)"};
constexpr known_keys nxd_precision_keys{.read = "use_master_weights use_fp32_grad_acc use_master_weights_in_ckpt"};
constexpr known_keys nxd_optimizer_keys{.read = "zero_one_enabled grad_clipping max_grad_norm"};

// Of NxD Training.
constexpr known_keys training_keys{.read = "trainer precision",
                                   .not_read = R"(name model_source seed exp_manager distributed_strategy data model
        compiler_flags compiler_cache_url aync_exec_max_inflight_requests bucket_size_collectives
        neuron_rt_exec_timeout neuron_experimental_compress_rg model_alignment_strategy)"};
constexpr known_keys nxd_trainer_keys{.read = "gradient_clip_val",
                                      .not_read = R"(devices num_nodes max_epochs max_steps log_every_n_steps
        val_check_interval check_val_every_n_epoch num_sanity_val_steps limit_val_batches limit_test_batches
        sequential_move_factor lnc)"};
constexpr known_keys nxd_type_keys{.read = "type",
                                   .not_read = R"(master_weights fp32_grad_acc xla_use_bf16 xla_downcast_bf16
        neuron_rt_stochastic_rounding_en parallel_layers_reduce_dtype)"};

bool is_training(const config_node& root) {
  const config_entry* const precision = root.find("precision");
  return root.find("distributed_strategy") != nullptr && precision != nullptr &&
         precision->value.find("type") != nullptr;
}

bool is_on(const config_node& node, std::string_view key) {
  const config_entry* const e = node.find(key);
  return e != nullptr && (e->value.text == "true" || e->value.text == "True" || e->value.text == "1");
}

// What precision.type makes of the weights, and of the sums of gradients: aws-neuron/neuronx-distributed-training @9169aa0
// examples/training_orchestrator.py.
void read_weights(import_run& run, const config_node& root, const config_node& precision, const std::string& type) {
  const config_entry* const strategy = root.find("distributed_strategy");
  const bool zero_one = strategy != nullptr && is_on(strategy->value, "zero1");
  const bool in_bfloat16 = is_on(precision, "xla_use_bf16") || is_on(precision, "xla_downcast_bf16");
  imported_config& out = run.out;
  if (type == "fp32" || (zero_one && (type == "mixed_precision" || type == "autocast")) ||
      (type == "manual" && zero_one && is_on(precision, "master_weights")))
    out.weights_kept_in = "float32";
  else if (type == "bf16SR" || type == "mixed_precision" || (type == "manual" && in_bfloat16))
    out.weights_kept_in = "bfloat16";
  out.weights_stochastic =
      out.weights_kept_in == "bfloat16" && (type == "bf16SR" || is_on(precision, "neuron_rt_stochastic_rounding_en"));
  std::optional<std::string> sums = out.weights_kept_in;
  if (type == "manual" && !is_on(precision, "fp32_grad_acc"))
    sums = in_bfloat16 ? std::optional<std::string>{"bfloat16"} : std::nullopt;
  if (sums) out.accumulates_in = {*sums, ""};
}

void import_training(import_run& run, const config_entry& root) {
  const config_section top(run, "", root, training_keys);
  const config_section precision = *top.section("precision", nxd_type_keys);
  const std::string type = precision.text("type").value_or("");
  precision.means("type", type == "fp32" ? "float32, the loss is not scaled"
                                         : "bfloat16, the loss is not scaled, no step is skipped");
  run.no_scaling(type == "fp32" ? "float32" : "bfloat16");
  read_weights(run, root.value, root.value.find("precision")->value, type);
  const auto trainer = top.section("trainer", nxd_trainer_keys);
  const double norm = trainer ? trainer->number("gradient_clip_val").value_or(0) : 0;
  if (trainer) trainer->means("gradient_clip_val", norm > 0 ? "clipped to this L2 norm" : "no clipping");
  if (norm > 0) run.out.clip_norm = norm;
}

void read_clipping(const config_section& top, const std::optional<config_section>& optimizer, bool zero_one) {
  import_run& run = top.run();
  if (optimizer && !optimizer->flag("grad_clipping").value_or(true)) {
    optimizer->means("grad_clipping", "no clipping");
    return;
  }
  if (optimizer && optimizer->has("grad_clipping")) optimizer->means("grad_clipping", "gradients are clipped");
  const double norm = optimizer ? optimizer->number("max_grad_norm").value_or(1) : 1;
  const std::string given = optimizer ? optimizer->given("max_grad_norm") : "optimizer_config is not given";
  if (!(norm > 0)) optimizer->fail("max_grad_norm", "must be above 0");
  // initialize_optimizer_from_class hands grad_clipping to the ZeRO-1 class but not max_grad_norm; torch_xla's own
  // default of max_norm counts (pytorch/xla @41398bf torch_xla/distributed/zero_redundancy_optimizer.py).
  run.out.clip_norm = zero_one ? 1 : norm;
  run.means(given, "clipped to L2 norm " + number_text(*run.out.clip_norm));
  if (zero_one && norm != 1)
    run.note(
        "NxD does not pass max_grad_norm on to the ZeRO-1 optimizer, which clips to its own default 1; "
        "where the program passes max_norm itself, write grad_clipping: false here and give --clip-norm");
}

}  // namespace

void import_nxd(import_run& run, const config_entry& root) {
  if (is_training(root.value)) {
    import_training(run, root);
    return;
  }
  const config_section top(run, "", root, nxd_top_keys);
  const auto precision = top.section("mixed_precision_config", nxd_precision_keys);
  const auto optimizer = top.section("optimizer_config", nxd_optimizer_keys);
  const bool zero_one = optimizer && optimizer->flag("zero_one_enabled").value_or(false);
  if (optimizer) optimizer->means("zero_one_enabled", zero_one ? "ZeRO-1: float32 copies of the weights" : "no ZeRO-1");

  if (precision) {
    for (const std::string_view key : {"use_master_weights", "use_fp32_grad_acc", "use_master_weights_in_ckpt"}) {
      const bool on = precision->flag(key).value_or(key != "use_master_weights_in_ckpt" && zero_one);
      if (on && !zero_one)
        precision->fail(key, "needs the ZeRO-1 optimizer: optimizer_config.zero_one_enabled is not true");
      if (precision->has(key))
        precision->means(key,
                         key == "use_fp32_grad_acc"
                             ? (on ? "gradients are accumulated in float32" : "gradients are accumulated in bfloat16")
                         : key == "use_master_weights" ? (on ? "the optimizer has float32 weights"
                                                             : "float32 shards, but bfloat16 where XLA_DOWNCAST_BF16=1")
                         : on                          ? "a resume goes on from float32 weights"
                                                       : "a resume goes on from bfloat16 weights");
    }
  }
  const bool wide = precision ? precision->flag("use_fp32_grad_acc").value_or(zero_one) : zero_one;
  const bool master = precision ? precision->flag("use_master_weights").value_or(zero_one) : zero_one;
  if (!zero_one) run.out.weights_kept_in = "bfloat16";
  if (zero_one && master) run.out.weights_kept_in = "float32";
  // The optimizer's type, which float32 without master weights is where XLA_DOWNCAST_BF16 is not set, has the sums.
  if (!wide || master) {
    const bool given = precision && precision->has("use_fp32_grad_acc");
    const std::string assumed = given      ? ""
                                : zero_one ? "use_fp32_grad_acc is not given, and on with ZeRO-1"
                                           : "use_fp32_grad_acc is not given, and off without ZeRO-1";
    run.out.accumulates_in = {wide ? "float32" : "bfloat16", assumed};
  }
  run.no_scaling("bfloat16");
  run.means("NxD", "bfloat16, the loss is not scaled, no step is skipped");
  read_clipping(top, optimizer, zero_one);
}

program_row nxd_program() {
  return {
      .name = "NxD",
      .markers =
          "mixed_precision_config optimizer_config.zero_one_enabled optimizer_config.grad_clipping optimizer_config.max_grad_norm",
      .calls = "neuronx_distributed_config",
      .holds = "Lightning",
      .keys = nxd_top_keys,
      .place = written_in::files,
      .import = import_nxd,
      .is_its = is_training};
}

}  // namespace ulp::io
