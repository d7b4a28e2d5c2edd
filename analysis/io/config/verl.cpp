// verl's YAML, or its overrides on a command line: volcengine/verl @035682ed verl/trainer/config, workers/actor/dp_actor.py
// (float16 has a ShardedGradScaler whose growth interval is 400 and cannot be configured), bfloat16 by default.
#include "frameworks.hpp"

namespace ulp::io {
namespace {

constexpr known_keys top_keys{.read = "actor_rollout_ref",
                              .not_read = R"(defaults hydra data critic reward_model reward custom_reward_function
        algorithm trainer global_profiler ray_kwargs transfer_queue distillation)"};
constexpr known_keys model_keys{.read = "actor", .not_read = "ref rollout model hybrid_engine nccl_timeout"};
constexpr known_keys actor_keys{.read = "strategy grad_clip fsdp_config",
                                .not_read = R"(_target_ ppo_mini_batch_size ppo_micro_batch_size
        ppo_micro_batch_size_per_gpu use_dynamic_bsz ppo_max_token_len_per_gpu clip_ratio clip_ratio_low
        clip_ratio_high clip_ratio_c policy_loss loss_agg_mode entropy_coeff use_kl_loss use_torch_compile
        kl_loss_coef kl_loss_type ppo_epochs shuffle checkpoint optim use_fused_kernels profiler
        ulysses_sequence_parallel_size entropy_from_logits_with_chunking entropy_checkpointing use_remove_padding
        megatron load_weight data_loader_seed)"};
constexpr known_keys fsdp_keys{.read = "dtype mixed_precision",
                               .not_read = R"(_target_ wrap_policy param_offload optimizer_offload offload_policy
        reshard_after_forward fsdp_size forward_prefetch model_dtype use_orig_params seed full_determinism
        ulysses_sequence_parallel_size entropy_from_logits_with_chunking use_torch_compile entropy_checkpointing
        forward_only strategy)"};
constexpr known_keys mixed_keys{.read = "param_dtype", .not_read = "reduce_dtype buffer_dtype"};

std::string format_of(const config_section& where, std::string_view key) {
  const std::string text = where.text(key).value_or("bfloat16");
  const bool half = text == "float16" || text == "fp16" || text == "half";
  const bool single = text == "float32" || text == "fp32";
  if (!half && !single && text != "bfloat16" && text != "bf16") where.fail(key, "must be fp16, bf16 or fp32");
  where.means(key, half ? "float16, the loss is scaled" : single ? "float32" : "bfloat16, the loss is not scaled");
  return half ? "float16" : single ? "float32" : "bfloat16";
}

}  // namespace

std::size_t verl_keys_in(const config_node& root) {
  return root.find("actor_rollout_ref") != nullptr ? all_its_own : 0;
}

void import_verl(import_run& run, const config_entry& root) {
  const config_section top(run, "", root, top_keys);
  const auto model = top.section("actor_rollout_ref", model_keys);
  const auto actor = model ? model->section("actor", actor_keys) : std::nullopt;
  const std::string strategy = actor ? actor->text("strategy").value_or("fsdp") : "fsdp";
  if (strategy.find("fsdp") == std::string::npos)
    actor->fail("strategy", "is " + strategy +
                                ", whose loss scale is set elsewhere; replay Megatron's by --scaler megatron_dynamic");
  const auto fsdp = actor ? actor->section("fsdp_config", fsdp_keys) : std::nullopt;
  const auto mixed = fsdp ? fsdp->section("mixed_precision", mixed_keys) : std::nullopt;
  std::string format = "bfloat16";
  if (fsdp && fsdp->find("dtype") != nullptr)
    format = format_of(*fsdp, "dtype");
  else if (mixed && mixed->find("param_dtype") != nullptr)
    format = format_of(*mixed, "param_dtype");
  else
    run.means("actor_rollout_ref.actor.fsdp_config.dtype is not given", "bfloat16, the loss is not scaled");
  if (format == "float16") {
    set_grad_scaler(run);
    run.out.parameters.back().second = 400.0;
    run.means("the scaler has no key", "ShardedGradScaler with a growth interval of 400");
  } else {
    run.no_scaling(format);
  }
  const double norm = actor ? actor->number("grad_clip").value_or(1) : 1;
  if (norm < 0) actor->fail("grad_clip", "must not be negative");
  run.means(actor ? actor->given("grad_clip") : "actor_rollout_ref.actor.grad_clip is not given",
            norm > 0 ? "clipped to L2 norm " + number_text(norm) : "no clipping");
  if (norm > 0) run.out.clip_norm = norm;
}

}  // namespace ulp::io
