#!/bin/bash
#SBATCH --job-name=deepseek-train
#SBATCH --nodes=8                            # one
#SBATCH --ntasks-per-node=1                  # another
node_list=$(scontrol show hostnames $SLURM_JOB_NODELIST)
node_array=(${node_list})
master_node=${node_array[0]}
export SLURM_MASTER_ADDR="${SLURM_MASTER_ADDR:-$master_node}"
export DOCKER_IMAGE=${DOCKER_IMAGE:-"docker.io/rocm/megatron-lm:v25.4"}
if docker ps; then
    export container_command=docker
else
    export container_command=podman
fi
srun bash -c '${container_command} run --rm \
 --env SLURM_MASTER_ADDR=$SLURM_MASTER_ADDR \
 --env "SLURM_PROCID=$SLURM_PROCID" \
 --ipc=host --network=host --device=/dev/kfd  --cap-add=SYS_PTRACE \
 $DOCKER_IMAGE /bin/bash -c \
 "echo $(date); \
 cd ${MEGATRON_DIR}; \
PR=bf16 \
AC=full \
bash examples/deepseek_v3/train_deepseekv3.sh 2>&1 | tee log.txt; \
echo $(date)"'
