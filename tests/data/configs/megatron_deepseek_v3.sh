#!/bin/bash
set -e

EXPERIMENT="deepseek_v3"
TIMESTAMP=$(date +%Y%m%d_%H%M%S)
CURRENT_DIR="$( cd "$( dirname "$0" )" && pwd )"
GPUS_PER_NODE=`python3 -c "import torch; print(torch.cuda.device_count())"`
RUN_ENV="${RUN_ENV:-cluster}"
if [ $RUN_ENV = "cluster" ]; then
    MASTER_ADDR=${MASTER_ADDR:-localhost}
    NNODES=${NNODES:-1}
elif [ $RUN_ENV = "slurm" ]; then
    MASTER_ADDR=${SLURM_MASTER_ADDR}
    NNODES=$SLURM_NNODES
fi
gpus=$(seq -s, 0 $((GPUS_PER_NODE - 1)))

PR=${PR:-bf16} # bf16, fp16, fp8
TP=${TP:-1}
TRAIN_ITERS=${TRAIN_ITERS:-10}
LR_WARMUP_ITERS=2
LR_DECAY_ITERS=$(( ${TRAIN_ITERS} - ${LR_WARMUP_ITERS}))

if [ $PR = fp16 ]; then
    pr_options=" \
		    --fp16 \
            --apply-query-key-layer-scaling"
    export NVTE_APPLY_QK_LAYER_SCALING=1
elif [ $PR = bf16 ]; then
    pr_options=" \
        --bf16"
elif [ $PR = fp8 ]; then
    TRANSFORMER_IMPL=transformer_engine
    pr_options=" \
        --bf16
        --fp8-format hybrid \
        --fp8-amax-compute-algo max \
        --fp8-amax-history-len 1024"
fi

if [ $TP -gt 1 ]; then
    sp_options=" \
		    --sequence-parallel"
else
    sp_options=" \
                    "
fi

megatron_options="  \
	--log-throughput \
        --lr 1e-5 \
        --clip-grad 1.0 \
        --init-method-std 0.008 \
        --lr-decay-iters ${LR_DECAY_ITERS} \
        --eval-iters -1 \
        --max-padding-length 4096 \
        --rotary-scaling-factor 40 \
        --eod-mask-loss 
        "

torchrun --nproc_per_node $GPUS_PER_NODE --nnodes $NNODES pretrain_deepseek.py \
    ${megatron_options} ${pr_options} ${sp_options} 2>&1 | tee train.log
