TASK_NAME=mnli
HF_PATH=~/projects
NGPUS=16
OUTPUT_DIR=./${TASK_NAME}/output_g${NGPUS}

TEST=$1

if [ ${TEST} == "0" ]
then
    python -m torch.distributed.launch --nproc_per_node=$NGPUS $HF_PATH/run_glue.py \
    --model_name_or_path bert-base-cased \
    --task_name $TASK_NAME \
    --do_train \
    --per_device_train_batch_size 64 \
    --learning_rate 2e-5 \
    --output_dir ${OUTPUT_DIR}_0 \
    --save_strategy "no"
elif [ ${TEST} == "z0" ]
then
    deepspeed --num_nodes=1 $HF_PATH/run_glue.py --deepspeed ../dsconfigs/ds_config_z0.json \
    --model_name_or_path bert-base-cased \
    --task_name $TASK_NAME \
    --do_train \
    --per_device_train_batch_size 64 \
    --output_dir ${OUTPUT_DIR}_z0
elif [ ${TEST} == "z1" ]
then
    deepspeed --num_nodes=1 $HF_PATH/run_glue.py --deepspeed ../dsconfigs/ds_config_z1.json \
    --model_name_or_path bert-base-cased \
    --task_name $TASK_NAME \
    --do_train \
    --per_device_train_batch_size 64 \
    --output_dir ${OUTPUT_DIR}_z1
fi
