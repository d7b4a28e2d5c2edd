python -m verl.trainer.main_ppo actor_rollout_ref.actor.fsdp_config.dtype=fp16 actor_rollout_ref.actor.grad_clip=0.5 a.b=1
