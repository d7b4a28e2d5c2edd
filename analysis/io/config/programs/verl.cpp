// verl's YAML, or its overrides on a command line: volcengine/verl @035682ed verl/trainer/config, workers/actor/dp_actor.py
// (float16 has a ShardedGradScaler whose growth interval is 400 and cannot be configured), bfloat16 by default.
#include "rows.hpp"

namespace ulp::io {
namespace {

constexpr std::string_view sharded = "init_scale=65536 growth_factor=2 backoff_factor=0.5 growth_interval=400";
constexpr std::string_view with_sharded =
    "float16 with a ShardedGradScaler, whose growth interval of 400 no key changes";

constexpr std::string_view contradicts =
    "is another format than mixed_precision.param_dtype; which of them counts is not known: keep one of them";

}  // namespace

program_row verl_program() {
  return {
      .name = "verl",
      .markers = "actor_rollout_ref",
      .settings = "config_name",
      .keys =
          {.read = "actor_rollout_ref.actor.fsdp_config.mixed_precision.reduce_dtype",
           .not_read =
               R"(defaults hydra data critic reward_model reward custom_reward_function algorithm trainer global_profiler ray_kwargs
          transfer_queue distillation actor_rollout_ref.ref actor_rollout_ref.rollout actor_rollout_ref.model
          actor_rollout_ref.hybrid_engine actor_rollout_ref.actor.optim actor_rollout_ref.actor.megatron
          actor_rollout_ref.actor.checkpoint actor_rollout_ref.actor.profiler
          actor_rollout_ref.actor.fsdp_config.mixed_precision.buffer_dtype)"},
      .defaults =
          "actor_rollout_ref.actor.fsdp_config.dtype=bfloat16 actor_rollout_ref.actor.strategy=fsdp actor_rollout_ref.actor.fsdp_config.model_dtype=fp32",
      .precision =
          {{.when = "actor_rollout_ref.actor.strategy=megatron",
            .refused =
                "is megatron, whose loss scale is set elsewhere; replay Megatron's by --scaler megatron_dynamic"},
           {.when =
                "actor_rollout_ref.actor.fsdp_config.dtype=float16|fp16|half actor_rollout_ref.actor.fsdp_config.mixed_precision.param_dtype !actor_rollout_ref.actor.fsdp_config.mixed_precision.param_dtype=float16|fp16|half",
            .refused = contradicts},
           {.when =
                "actor_rollout_ref.actor.fsdp_config.dtype=float32|fp32 actor_rollout_ref.actor.fsdp_config.mixed_precision.param_dtype !actor_rollout_ref.actor.fsdp_config.mixed_precision.param_dtype=float32|fp32",
            .refused = contradicts},
           {.when =
                "actor_rollout_ref.actor.fsdp_config.dtype actor_rollout_ref.actor.fsdp_config.dtype=bfloat16|bf16 actor_rollout_ref.actor.fsdp_config.mixed_precision.param_dtype !actor_rollout_ref.actor.fsdp_config.mixed_precision.param_dtype=bfloat16|bf16",
            .refused = contradicts},
           {.when =
                "actor_rollout_ref.actor.fsdp_config.mixed_precision.param_dtype=float16|fp16|half !actor_rollout_ref.actor.fsdp_config.dtype",
            .format = "float16",
            .meaning = "float16 without a scaler, which only fsdp_config.dtype would bring"},
           {.when =
                "!actor_rollout_ref.actor.fsdp_config.dtype actor_rollout_ref.actor.fsdp_config.mixed_precision.param_dtype=float32|fp32",
            .format = "float32",
            .meaning = in_float32},
           {.when = "actor_rollout_ref.actor.fsdp_config.dtype=float16|fp16|half",
            .format = "float16",
            .scaler = "pytorch_gradscaler",
            .parameters = sharded,
            .meaning = with_sharded},
           {.when = "actor_rollout_ref.actor.fsdp_config.dtype=float32|fp32",
            .format = "float32",
            .meaning = in_float32},
           {.when = "actor_rollout_ref.actor.fsdp_config.dtype=bfloat16|bf16",
            .format = "bfloat16",
            .meaning = "bfloat16, the loss is not scaled"}},
      .clipping = {{.key = "actor_rollout_ref.actor.grad_clip", .otherwise = 1, .clips_to_zero = true}},
      .remarks = {{.when = "actor_rollout_ref.actor.fsdp_config.model_dtype=bfloat16|bf16",
                   .text = "the actor's weights are kept in bfloat16"}}};
}

}  // namespace ulp::io
