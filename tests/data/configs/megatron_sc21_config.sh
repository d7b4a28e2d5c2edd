#!/bin/bash

: "${SLURM_PARTITION:?Set SLURM_PARTITION}"
: "${SLURM_ACCOUNT:?Set SLURM_ACCOUNT}"
export SLURM_PARTITION
export SLURM_ACCOUNT
: "${MEGATRON_CODE_DIR:?Set MEGATRON_CODE_DIR}"
export MEGATRON_CODE_DIR
: "${DOCKER_MOUNT_DIR:?Set DOCKER_MOUNT_DIR}"
export DOCKER_MOUNT_DIR

# It is another script that starts the program with these.
export MEGATRON_PARAMS=" ${MEGATRON_EXTRA_PARAMS} \
	--tensor-model-parallel-size ${TP} \
	--pipeline-model-parallel-size ${PP} \
	--micro-batch-size ${MBS} \
	--global-batch-size ${GBS} \
        --num-layers ${NLS} \
        --hidden-size ${HS} \
        --num-attention-heads ${NAH} \
	--DDP-impl ${DDP} \
	--data-path ${MEGATRON_DATA} \
	--vocab-file ${BPE_VOCAB_FILE} \
	--merge-file ${BPE_MERGE_FILE} \
        --log-interval 5 \
        --seq-length 2048 \
        --max-position-embeddings 2048 \
        --train-iters 500 \
        --lr-decay-iters 320 \
        --lr 0.0001 \
	--min-lr 0.00001 \
        --lr-decay-style cosine \
        --lr-warmup-fraction 0.01 \
        --split 969,30,1 \
        --eval-iters 100 \
        --eval-interval 1000 \
        --clip-grad 1.0 \
        --fp16 \
	--loss-scale 8192 "
