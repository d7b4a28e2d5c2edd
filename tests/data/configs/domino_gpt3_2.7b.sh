# adapted from another
#!/bin/bash --login

export CUDA_DEVICE_MAX_CONNECTIONS=1
GPUS_PER_NODE=2
NNODES=1
WORLD_SIZE=$(($GPUS_PER_NODE*$NNODES))
CHECKPOINT_PATH=checkpoint
rm -rf $CHECKPOINT_PATH/*
SCRIPT_DIR="$( cd "$( dirname "${BASH_SOURCE[0]}" )" &> /dev/null && pwd )"
export PYTHONPATH=$SCRIPT_DIR:$PYTHONPATH

GPT_ARGS="
    --num-layers 12 \
    --hidden-size 2560 \
    --lr 0.00015 \
    --clip-grad 1.0 \
    --fp16 \
    --tensor-model-parallel-size $WORLD_SIZE \
    --seed 3407
"

DATA_ARGS="
    --split 949,50,1
"
 
cmd="deepspeed --num_gpus $WORLD_SIZE \
    pretrain_gpt.py \
    $GPT_ARGS \
    $DATA_ARGS \
    " 

echo $cmd
eval $cmd 
