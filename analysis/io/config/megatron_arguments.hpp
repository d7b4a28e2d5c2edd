// Arguments of Megatron-LM without meaning for the loss scale, as data: an argument that is in no list is taken for a
// mistake. From NVIDIA/Megatron-LM @000c4ac2 megatron/training/arguments.py, and from earlier versions of that file and
// of bigscience-workshop/Megatron-DeepSpeed's what scripts still have.
#ifndef ULP_IO_CONFIG_MEGATRON_ARGUMENTS_HPP
#define ULP_IO_CONFIG_MEGATRON_ARGUMENTS_HPP

#include <string_view>

namespace ulp::io {

inline constexpr std::string_view megatron_arguments = R"(
--abort-on-unmet-fused-kernel-constraints --account-for-embedding-in-pipeline-split
--account-for-loss-in-pipeline-split --activation-func-clamp-value --adam-beta1 --adam-beta2 --adam-eps --add-qkv-bias
--adlr-autoresume --adlr-autoresume-interval --allow-ambiguous-pad-tokens --app-tag-run-name --app-tag-run-version
--apply-layernorm-1p --apply-query-key-layer-scaling --apply-residual-connection-post-layernorm --async-save
--attention-backend --attention-dropout --attention-softmax-in-fp32 --auto-detect-ckpt-format --batch-size
--bert-binary-head --bert-embedder-type --bert-load --bert-no-binary-head --biencoder-projection-dim
--biencoder-shared-query-context-model --block-data-path --cache-mla-latents --calc-ft-timeouts
--calculate-per-token-loss --check-for-large-grads --check-for-spiky-loss
--check-weight-hash-across-dp-replicas-interval --checkpoint-activations --checkpoint-in-cpu --checkpoint-method
--checkpoint-num-layers --ckpt-assume-constant-structure --ckpt-convert-format --ckpt-convert-save
--ckpt-convert-update-legacy-dist-opt-format --ckpt-format --ckpt-fully-parallel-load --ckpt-fully-parallel-save
--ckpt-step --classes-fraction --cls-weight --config-logger-dir --context-parallel-size --contigious-checkpointing
--cp-comm-type --cpu-offloading-num-layers --cpu-optimizer --create-moe-param-group --cross-entropy-fusion-impl
--cross-entropy-loss-fusion --cuda-graph-impl --cuda-graph-scope --cuda-graph-warmup-steps --data-args-path
--data-cache-path --data-impl --data-parallel-random-init --data-parallel-sharding-strategy --data-path
--data-per-class-fraction --dataloader-type --ddp-average-in-collective --ddp-bucket-size --DDP-impl --ddp-num-buckets
--ddp-pad-buckets-for-high-nccl-busbw --ddp-reduce-scatter-with-fp32-accumulation --decode-only-cuda-graphs
--decoder-first-pipeline-num-layers --decoder-last-pipeline-num-layers --decoder-num-layers --decoder-seq-length
--decoupled-lr --decoupled-min-lr --decrease-batch-size-if-needed --deepscale --deepscale_config
--deepspeed-activation-checkpointing --deepspeed_config --defer-embedding-wgrad-compute --delay-grad-reduce
--delay-param-gather --delay-wgrad-compute --deterministic-mode --dino-bottleneck-size --dino-freeze-last-layer
--dino-head-hidden-size --dino-local-crops-number --dino-local-img-size --dino-norm-last-layer --dino-teacher-temp
--dino-warmup-teacher-temp --dino-warmup-teacher-temp-epochs --disable-bf16-reduced-precision-matmul
--disable-bias-linear --disable-chunked-prefill --disable-gloo-process-groups --disable-mamba-mem-eff-path
--disable-moe-token-dropping --disable-msc --disable-straggler-on-startup --disable-symmetric-registration
--disable-tp-comm-bulk-dgrad --disable-tp-comm-bulk-wgrad --disable-tp-comm-overlap-ag --disable-tp-comm-overlap-rs
--disable-tp-comm-split-ag --disable-tp-comm-split-rs --dist-ckpt-format --dist-ckpt-optim-fully-reshardable
--dist-ckpt-save-pre-mcore-014 --dist-ckpt-strictness --distrib-optim-fully-reshardable-mem-efficient
--distribute-saved-activations --distributed-backend --distributed-timeout-minutes
--distributed-timeout-seconds-after-init --ds-inference --ds-sequence-parallel-size --dump-param-to-param-group-map
--embed-layernorm --embedding-init-method-std --embedding-path --empty-unused-memory-level --enable-cuda-graph
--enable-experimental --enable-ft-package --enable-full-sharding-in-hsdp --enable-one-logger --encoder-num-layers
--encoder-pipeline-model-parallel-size --encoder-seq-length --encoder-tensor-model-parallel-size --end-weight-decay
--eod-mask-loss --error-injection-rate --error-injection-type --eval-interval --eval-iters --evidence-data-path
--exit-duration-in-mins --exit-interval --exit-on-missing-checkpoint --exit-signal-handler --exp-avg-dtype
--exp-avg-sq-dtype --expert-model-parallel-size --expert-parallel --expert-tensor-parallel-size --external-cuda-graph
--ffn-hidden-size --finetune --first-last-layers-bf16 --flash-decode --fp16-lm-cross-entropy --fp32-residual-connection
--fp4-format --fp4-param-gather --fp4-quantizer-factory --fp4-recipe --fp8-amax-compute-algo --fp8-amax-history-len
--fp8-e4m3 --fp8-hybrid --fp8-interval --fp8-margin --fp8-param-gather --fp8-quantizer-factory --fp8-recipe --fp8-wgrad
--fsdp-double-buffer --full-validation --global-batch-size --glu-activation --glu-linear-offset --grad-reduce-in-bf16
--group-query-attention --grpo-clamp-eps-lower --grpo-clamp-eps-upper --grpo-default-temperature --grpo-default-top-p
--grpo-entropy-term-weight --grpo-filter-groups-with-same-reward --grpo-group-size --grpo-iterations --grpo-kl-beta
--grpo-prompts-per-step --head-lr-mult --heterogeneous-layers-config-encoded-json --heterogeneous-layers-config-path
--hidden-dropout --hidden-size --hierarchical-context-parallel-sizes --high-priority-stream-groups
--hybrid-attention-ratio --hybrid-mlp-ratio --hybrid-override-pattern --ict-head-size --ict-load --img-h --img-w
--indexer-batch-size --indexer-log-interval --inference --inference-batch-times-seqlen-threshold
--inference-dynamic-batching --inference-dynamic-batching-block-size
--inference-dynamic-batching-buffer-guaranteed-fraction --inference-dynamic-batching-buffer-overflow-factor
--inference-dynamic-batching-buffer-size-gb --inference-dynamic-batching-max-requests-override
--inference-dynamic-batching-max-tokens-override --inference-dynamic-batching-num-cuda-graphs
--inference-dynamic-batching-track-paused-request-events --inference-dynamic-batching-unified-memory-level
--inference-max-batch-size --inference-max-requests --inference-max-seq-length --inference-rng-tracker
--inference-wandb-logging-step-interval --init-method-std --init-method-xavier-uniform --init-model-with-meta-device
--inprocess-active-world-size --inprocess-barrier-timeout --inprocess-completion-timeout --inprocess-empty-cuda-cache
--inprocess-granularity --inprocess-hard-timeout --inprocess-heartbeat-interval --inprocess-heartbeat-timeout
--inprocess-last-call-wait --inprocess-max-iterations --inprocess-monitor-process-interval
--inprocess-monitor-thread-interval --inprocess-progress-watchdog-interval --inprocess-restart --inprocess-soft-timeout
--inprocess-termination-grace-time --is-hybrid-model --iter-per-epoch --iterations-to-skip --keep-fp8-transpose-cache
--kill-switch-path --kitchen-config-file --kitchen-recipe-number --kv-channels --kv-lora-rank --langrl-env-config
--langrl-external-server --langrl-inference-server-conversation-template --langrl-inference-server-type --lazy-mpu-init
--legacy-tokenizer --load --load-main-params-from-ckpt --local-rank --log-batch-size-to-tensorboard --log-energy
--log-interval --log-learning-rate-to-tensorboard --log-level --log-level-replica --log-loss-scale-to-tensorboard
--log-memory-to-tensorboard --log-num-zeros-in-grad --log-params-norm --log-progress --log-straggler --log-throughput
--log-timers-to-tensorboard --log-validation-ppl-to-tensorboard --log-world-size-to-tensorboard --logging-level
--loss-on-targets-only --lr --lr-decay-iters --lr-decay-samples --lr-decay-style --lr-warmup-fraction --lr-warmup-init
--lr-warmup-iters --lr-warmup-samples --lr-wsd-decay-iters --lr-wsd-decay-samples --lr-wsd-decay-style
--main-grads-dtype --main-params-dtype --make-vocab-size-divisible-by --mamba-head-dim --mamba-num-groups
--mamba-num-heads --mamba-state-dim --manual-gc --manual-gc-interval --mask-factor --mask-prob --mask-type
--max-position-embeddings --max-tokens-to-oom --memory-centric-tiled-linear --memory-snapshot-path --merge-file
--micro-batch-size --microbatch-group-size-per-virtual-pipeline-stage --mid-level-dataset-surplus --min-lr
--mlp-chunks-for-prefill --mock-data --model-parallel-size --moe-apply-probs-on-input --moe-aux-loss-coeff
--moe-deepep-num-sms --moe-enable-deepep --moe-eval-capacity-factor --moe-expert-capacity-factor
--moe-expert-parallel-size --moe-extended-tp --moe-ffn-hidden-size --moe-grouped-gemm --moe-input-jitter-eps
--moe-layer-freq --moe-layer-recompute --moe-loss-coeff --moe-min-capacity --moe-pad-expert-input-to-capacity
--moe-pad-experts-for-cuda-graph-inference --moe-per-layer-logging --moe-permute-fusion --moe-router-bias-update-rate
--moe-router-dtype --moe-router-enable-expert-bias --moe-router-force-load-balancing --moe-router-fusion
--moe-router-group-topk --moe-router-load-balancing-type --moe-router-num-groups --moe-router-padding-for-fp8
--moe-router-pre-softmax --moe-router-score-function --moe-router-topk --moe-router-topk-scaling-factor
--moe-shared-expert-intermediate-size --moe-shared-expert-overlap --moe-token-dispatcher-type --moe-token-drop-policy
--moe-train-capacity-factor --moe-upcycling-granularity --moe-use-legacy-grouped-gemm --moe-use-upcycling
--moe-z-loss-coeff --mrope-section --mscale --mscale-all-dim --mtp-loss-scaling-factor --mtp-num-layers
--multi-latent-attention --multiple-validation-sets --muon-extra-scale-factor --muon-fp32-matmul-prec --muon-momentum
--muon-no-split-qkv --muon-num-ns-steps --muon-scale-mode --muon-tp-mode --muon-use-nesterov
--nccl-all-reduce-for-prefill --nccl-communicator-config-path --no-align-grad-reduce --no-align-param-gather
--no-async-tensor-model-parallel-allreduce --no-barrier-with-level-1-timing --no-bias-dropout-fusion
--no-bias-gelu-fusion --no-bias-swiglu --no-bias-swiglu-fusion --no-check-for-nan-in-loss-and-grad
--no-ckpt-fully-parallel-save --no-clone-scatter-output-in-embedding --no-contiguous-buffers-in-local-ddp
--no-create-attention-mask-in-dataloader --no-data-sharding --no-fp8-wgrad --no-gradient-accumulation-fusion
--no-gradient-reduce-div-fusion --no-initialization --no-langrl-external-server --no-load-optim --no-load-rng
--no-log-learnig-rate-to-tensorboard --no-log-learning-rate-to-tensorboard --no-log-loss-scale-to-tensorboard
--no-manual-gc-eval --no-masked-softmax-fusion --no-mmap-bin-files --no-one-logger --no-overlap-p2p-communication
--no-persist-layer-norm --no-pin-cpu-grads --no-pin-cpu-params --no-pipeline-parallel --no-position-embedding
--no-query-key-layer-scaling --no-rl-calculate-intra-group-similarity --no-rl-inference-logprobs-is-correction
--no-rl-offload-kv-cache-during-training --no-rl-partial-rollouts --no-rl-remove-kv-cache-during-training
--no-rl-reset-cuda-graphs --no-rope-freq --no-rope-fusion --no-save-optim --no-save-rng
--no-scatter-gather-tensors-in-pipeline --no-strict-fsdp-dtensor-load --no-use-tokenizer-model-from-checkpoint-args
--non-persistent-ckpt-type --non-persistent-global-ckpt-dir --non-persistent-local-ckpt-algo
--non-persistent-local-ckpt-dir --non-persistent-save-interval --norm-epsilon --normalization --num-attention-heads
--num-channels --num-classes --num-dataset-builder-threads --num-distributed-optimizer-instances --num-experts
--num-layers --num-layers-at-end-in-bf16 --num-layers-at-start-in-bf16 --num-layers-per-virtual-pipeline-stage
--num-query-groups --num-virtual-stages-per-pipeline-rank --num-workers --object-storage-cache-path --one-logger-async
--one-logger-project --one-logger-run-name --onnx-safe --openai-gelu --optimizer --optimizer-cpu-offload
--optimizer-offload-fraction --output-bert-embeddings --overlap-cpu-optimizer-d2h-h2d --overlap-grad-reduce
--overlap-moe-expert-parallel-comm --overlap-p2p-communication-warmup-flush --overlap-param-gather
--overlap-param-gather-with-optimizer-step --override-lr-scheduler --override-opt-param-scheduler
--override-opt_param-scheduler --padded-vocab-size --partition-activations --patch-dim --per-split-data-args-path
--perform-rl-step --persistent-save-interval --pipeline-model-parallel-comm-backend --pipeline-model-parallel-layout
--pipeline-model-parallel-size --pipeline-model-parallel-split-rank --position-embedding-type --pp-partition-method
--pretrained-checkpoint --profile --profile-backward --profile-ranks --profile-step-end --profile-step-start
--q-lora-rank --qk-head-dim --qk-l2-norm --qk-layernorm --qk-pos-emb-head-dim --query-in-block-prob --quick-geglu
--rampup-batch-size --recompute-activations --recompute-granularity --recompute-method --recompute-modules
--recompute-num-layers --record-memory-history --relative-attention-max-distance --relative-attention-num-buckets
--remote-device --replication --replication-factor --replication-jump --rerun-mode --reset-attention-mask
--reset-position-ids --result-rejected-tracker-filename --retriever-report-topk-accuracies --retriever-score-scaling
--retriever-seq-length --retro-add-retriever --retro-attention-gate --retro-cyclic-train-iters
--retro-encoder-attention-dropout --retro-encoder-hidden-dropout --retro-encoder-layers
--retro-no-verify-neighbor-count --retro-num-neighbors --retro-num-retrieved-chunks --retro-project-dir
--reuse-grad-buf-for-mxfp8-param-ag --reweight-loss-based-on-position-frequency --rl-calculate-intra-group-similarity
--rl-importance-sampling-truncation-coef --rl-inference-logprobs-is-correction --rl-offload-kv-cache-during-training
--rl-offload-optimizer-during-inference --rl-partial-rollouts --rl-prompts-per-eval
--rl-remove-kv-cache-during-training --rl-reset-cuda-graphs --rl-sequence-packing-algo --rl-sequence-packing-bin-size
--rl-use-sequence-packing --rope-scaling-factor --rope-type --rotary-base --rotary-interleaved --rotary-percent
--rotary-scaling-factor --rotary-seq-len-interpolation-factor --run-workload-inspector-server --sample-rate --save
--save-interval --save-retain-interval --scatter-gather-tensors-in-pipeline --seed --seq-length --sequence-parallel
--sft --sft-tokenizer-prompt-format --sgd-momentum --sharp-enabled-group --short-seq-prob --skip-train
--skip-train-iteration-range --softmax-type --spec --split --squared-relu --standalone-embedding-stage
--start-weight-decay --straggler-ctrlr-port --straggler-minmax-count --suggested-communication-unit-size --swiglu
--swin-backbone-type --symmetric-ar-type --sync-tp-duplicated-parameters --synchronize-each-layer --te-rng-tracker
--tensor-model-parallel-size --tensorboard-dir --tensorboard-log-interval --tensorboard-queue-size --test-data-path
--test-mode --test-weighted-split-paths --tiktoken-num-special-tokens --tiktoken-pattern --tiktoken-special-tokens
--tile-factor --timing-log-level --timing-log-option --titles-data-path --tokenizer-metadata --tokenizer-model
--tokenizer-type --topk --torch-fsdp2-no-reshard-after-forward --tp-comm-bootstrap-backend --tp-comm-overlap
--tp-comm-overlap-cfg --tp-comm-overlap-rs-dgrad --train-data-path --train-iters --train-samples --train-sync-interval
--train-weighted-split-paths --transformer-impl --trust-remote-code --universal-checkpoint
--untie-embeddings-and-output-weights --use-bnb-optimizer --use-checkpoint-args --use-checkpoint-lr-scheduler
--use-checkpoint-opt-param-scheduler --use-checkpoint-opt_param-scheduler --use-cpu-initialization --use-dist-ckpt
--use-distributed-optimizer --use-flash-attn --use-flash-attn-triton --use-flash-attn-v1 --use-flash-attn-v2
--use-fused-weighted-squared-relu --use-legacy-models --use-legacy-static-engine --use-mcore-models --use-megatron-fsdp
--use-mp-args-from-checkpoint-args --use-nccl-ub --use-one-sent-docs --use-persistent-ckpt-worker --use-pin-memory
--use-precision-aware-optimizer --use-pytorch-profiler --use-ring-exchange-p2p --use-rope-scaling
--use-rotary-position-embeddings --use-sharp --use-te-activation-func --use-torch-fsdp2
--use-torch-optimizer-for-cpu-offload --use-tp-pp-dp-mapping --use-tutel --v-head-dim --valid-data-path
--valid-weighted-split-paths --vision-backbone-type --vision-pretraining --vision-pretraining-type --vocab-extra-ids
--vocab-file --vocab-size --wandb-entity --wandb-exp-name --wandb-project --wandb-save-dir --warmup --weight-decay
--weight-decay-incr-style --wgrad-deferral-limit --window-attn-skip-freq --window-size --zero-stage
)";

// Of torchrun, python -m torch.distributed.launch and the deepspeed launcher, which stand before the script's own
// (pytorch/pytorch torch/distributed/run.py).
inline constexpr std::string_view launcher_arguments = R"(
--nproc_per_node --nproc-per-node --nnodes --node_rank --node-rank --master_addr --master-addr --master_port
--master-port --rdzv_backend --rdzv-backend --rdzv_endpoint --rdzv-endpoint --rdzv_id --rdzv-id --rdzv_conf --rdzv-conf
--max_restarts --max-restarts --monitor_interval --monitor-interval --start_method --start-method --standalone --module
--no_python --no-python --run_path --run-path --log_dir --log-dir --redirects --tee --use_env --use-env --local_addr
--local-addr --role --local_ranks_filter --local-ranks-filter --num_nodes --num_gpus --hostfile --include --exclude
--launcher
)";

}  // namespace ulp::io

#endif
