#!/bin/bash
DIR=`pwd`
###############################################################################
## settings
SEQ_LEN=2048
# GLOBAL_BATCH_SIZE=256
GLOBAL_BATCH_SIZE=2048 # 8x
TRAIN_TOKENS=300000000000
TRAIN_SAMPLES=$(( ${TRAIN_TOKENS} * 3 / ${SEQ_LEN} ))
ZERO_STAGE=0
NUM_GPUS=$(($(ds_ssh nvidia-smi --query-gpu=name --format=csv,noheader | wc -l)-2))
NAME="gpt3-bs-${GLOBAL_BATCH_SIZE}-gpus-${NUM_GPUS}"
if [ "${NO_PP}" = "true" ]; then
    NAME="${NAME}-no_pp"
fi

megatron_options=" \
        --override-lr-scheduler \
        --train-samples ${TRAIN_SAMPLES} \
        --clip-grad 1.0 \
        --hysteresis 2 \
        --num-workers 0 \
        --fp16"

if [ "${ACTIVATION_CHECKPOINT}" = "true" ]; then
megatron_options="${megatron_options} \
        --checkpoint-activations"
fi

template_json="ds_config_gpt_TEMPLATE.json"
config_json="ds_config_${NAME}.json"
sed "s/CONFIG_BATCH_SIZE/${GLOBAL_BATCH_SIZE}/" ${template_json} \
    | sed "s/ZERO_STAGE/${ZERO_STAGE}/" \
    | sed "s/CONFIG_FP16_ENABLED/true/" \
      > ${config_json}

deepspeed_options=" \
            --deepspeed \
            --deepspeed_config ${config_json} \
            --zero-stage ${ZERO_STAGE}"

for (( node = 0; node <= NUM_NODE-1; node++ ))
do
    if $(ssh -q worker-"$node" "test -f \"$ITERATION_FILE\""); then
        ITERATION=$(( ${LOCAL_ITERATION} > ${ITERATION} ? ${LOCAL_ITERATION} :  ${ITERATION} ))
    fi
done

run_cmd="deepspeed ${DIR}/../../pretrain_gpt.py ${megatron_options} ${deepspeed_options} &> log/${NAME}.log"
echo ${run_cmd}
eval ${run_cmd}
set +x
