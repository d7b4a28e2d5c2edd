// neuronx_distributed_config of AWS NxD as JSON or YAML: aws-neuron/neuronx-distributed @fbac349
// src/neuronx_distributed/trainer/trainer.py. There is no loss scaling and no check for infinities anywhere in it.
#include "frameworks.hpp"

namespace ulp::io {
namespace {

constexpr known_keys top_keys{
    .read = "mixed_precision_config optimizer_config",
    .not_read = R"(tensor_parallel_size pipeline_parallel_size expert_parallel_size context_parallel_size
        token_shuffle_group_size pipeline_config activation_checkpoint_config pad_model sequence_parallel
        model_init_config lora_config lnc_size)"};
constexpr known_keys precision_keys{.read = "use_master_weights use_fp32_grad_acc use_master_weights_in_ckpt"};
constexpr known_keys optimizer_keys{.read = "zero_one_enabled grad_clipping max_grad_norm"};

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
        "NxD does not pass max_grad_norm on to the ZeRO-1 optimizer, which clips to its own default 1; where the "
        "program "
        "passes max_norm itself, write grad_clipping: false here and give --clip-norm");
}

}  // namespace

std::size_t nxd_keys_in(const config_node& root) { return keys_in(root, top_keys); }

void import_nxd(import_run& run, const config_entry& root) {
  const config_section top(run, "", root, top_keys);
  const auto precision = top.section("mixed_precision_config", precision_keys);
  const auto optimizer = top.section("optimizer_config", optimizer_keys);
  const bool zero_one = optimizer && optimizer->flag("zero_one_enabled").value_or(false);
  if (optimizer) optimizer->means("zero_one_enabled", zero_one ? "ZeRO-1: float32 copies of the weights" : "no ZeRO-1");

  if (precision) {
    for (const std::string_view key : {"use_master_weights", "use_fp32_grad_acc", "use_master_weights_in_ckpt"}) {
      const bool on = precision->flag(key).value_or(key != "use_master_weights_in_ckpt" && zero_one);
      if (on && !zero_one)
        precision->fail(key, "needs the ZeRO-1 optimizer: optimizer_config.zero_one_enabled is not true");
      if (precision->has(key))
        precision->means(key, key == "use_fp32_grad_acc" ? (on ? "gradients are accumulated in float32"
                                                               : "gradients are accumulated in bfloat16")
                                                         : "nothing for the loss scale");
    }
  }
  run.no_scaling("bfloat16");
  run.means("NxD", "bfloat16, the loss is not scaled, no step is skipped");
  read_clipping(top, optimizer, zero_one);
}

}  // namespace ulp::io
