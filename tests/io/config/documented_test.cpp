// Configurations written from the documentation of 32 programs, without a look at what reads them, and what each means by that
// documentation; or the key for which it is refused. None may be answered wrongly.
#include <string>
#include <vector>

#include <ulp/model/machines/scaler.hpp>

#include "importer.hpp"
#include "support/catch.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

const std::string torch =
    "pytorch_gradscaler init_scale=65536 growth_factor=2 backoff_factor=0.5 growth_interval=2000 in float16";
const std::string zero = " scale_window=1000 delayed_shift=2 consecutive_hysteresis=false min_scale=1 in float16";

struct row {
  std::string file;
  std::string text;
  std::string expected;  // or behind '!' a part of the error
};

const std::vector<row> documented{
    // deepspeed.ai/docs/config-json: fp16 training options.
    {"ds.json", R"({"train_batch_size": 8, "gradient_accumulation_steps": 1, "gradient_clipping": 1.0,
  "optimizer": {"type": "Adam", "params": {"lr": 0.00015}}, "zero_optimization": {"stage": 2},
  "fp16": {"enabled": true, "auto_cast": false, "loss_scale": 0, "initial_scale_power": 16, "loss_scale_window": 1000,
           "hysteresis": 2, "consecutive_hysteresis": false, "min_loss_scale": 1}})",
     "DeepSpeed: deepspeed_dynamic init_scale=65536" + zero + ", norm 1"},
    {"ds.json", R"({"train_micro_batch_size_per_gpu": 4, "bf16": {"enabled": true}, "zero_optimization": {"stage": 3},
  "communication_data_type": "fp32", "gradient_clipping": 0.3})",
     "DeepSpeed: none in bfloat16, norm 0.3"},
    // huggingface.co/docs/transformers: DeepSpeed, Trainer, one GPU.
    {"ds.json", R"({"fp16": {"enabled": "auto", "loss_scale": 0, "loss_scale_window": 1000, "initial_scale_power": 16,
  "hysteresis": 2, "min_loss_scale": 1}, "zero_optimization": {"stage": 2}, "gradient_clipping": "auto",
  "train_batch_size": "auto"})",
     "!fp16.enabled is 'auto'"},
    {"train.py",
     "from transformers import TrainingArguments\nargs = TrainingArguments(output_dir='o', "
     "per_device_train_batch_size=1, gradient_accumulation_steps=4, fp16=True, **default_args)\n",
     "!takes in **default_args, which this file does not say"},
    {"train.sh",
     "python run_translation.py --model_name_or_path t5-small --do_train --output_dir /tmp/t "
     "--per_device_train_batch_size=4 --max_grad_norm 0.5 --fp16",
     "Hugging Face: " + torch + ", norm 0.5"},
    // huggingface.co/docs/trl
    {"train.py", "from trl import SFTConfig\ntraining_args = SFTConfig(packing=True, bf16=True, max_grad_norm=0.3)\n",
     "Hugging Face: none in bfloat16, norm 0.3"},
    // huggingface.co/docs/accelerate: FSDP and DeepSpeed guides.
    {"fsdp.yaml",
     "compute_environment: LOCAL_MACHINE\ndebug: false\ndistributed_type: FSDP\ndowncast_bf16: 'no'\n"
     "fsdp_config:\n  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n  fsdp_sharding_strategy: 1\n"
     "machine_rank: 0\nmixed_precision: bf16\nnum_machines: 1\nnum_processes: 2\nuse_cpu: false\n",
     "Accelerate: none in bfloat16"},
    {"zero.yaml",
     "compute_environment: LOCAL_MACHINE\ndeepspeed_config:\n gradient_accumulation_steps: 1\n"
     " gradient_clipping: 1.0\n offload_optimizer_device: none\n zero3_init_flag: true\n zero_stage: 2\n"
     "distributed_type: DEEPSPEED\nmixed_precision: fp16\nnum_processes: 2\n",
     "Accelerate: deepspeed_dynamic init_scale=4294967296 scale_window=1000 delayed_shift=1 consecutive_hysteresis=false "
     "min_scale=1 in float16, norm 1"},
    // lightning.ai/docs: LightningCLI, N-bit precision, fabric.
    {"cli.yaml",
     "seed_everything: true\ntrainer:\n  accelerator: gpu\n  precision: 16-mixed\n  gradient_clip_val: 0.5\n"
     "  gradient_clip_algorithm: value\nmodel:\n  class_path: m.Model\ndata:\n  batch_size: 4\n",
     "Lightning: " + torch + ", value 0.5"},
    {"train.py", "trainer = Trainer(accelerator=\"gpu\", devices=1, precision=\"bf16-true\")\n",
     "Lightning: none in bfloat16"},
    {"train.py",
     "from lightning.fabric import Fabric\nfabric = Fabric(accelerator='cuda', devices=8, precision='16-mixed')\n"
     "fabric.clip_gradients(model, optimizer, max_norm=2.0)\n",
     "Fabric: " + torch + ", norm 2"},
    // Megatron-LM's README of GPT-3.
    {"train.sh",
     "GPT_MODEL_ARGS=(--num-layers 12 --hidden-size 512)\nTRAINING_ARGS=(\n  --micro-batch-size 1\n"
     "  --weight-decay 0.1\n  --adam-beta1 0.9\n  --fp16\n  --init-method-std 0.006\n  --clip-grad 1.0\n"
     "  --lr 6.0e-5\n)\ntorchrun --nproc_per_node 8 pretrain_gpt.py ${GPT_MODEL_ARGS[@]} ${TRAINING_ARGS[@]}\n",
     "Megatron-LM: megatron_dynamic initial_scale=4294967296 min_scale=1 growth_interval=1000 hysteresis=2 in float16, "
     "norm 1"},
    // GPT-NeoX's configs/README.
    {"neox.yml",
     "{\n \"num-layers\": 12, \"hidden-size\": 768,\n \"zero_optimization\": {\"stage\": 1},\n \"fp16\": {\n"
     "   \"fp16\": true, \"enabled\": true, \"loss_scale\": 0, \"loss_scale_window\": 1000,\n"
     "   \"hysteresis\": 2, \"min_loss_scale\": 1},\n \"gradient_clipping\": 1.0\n}\n",
     "GPT-NeoX: deepspeed_dynamic init_scale=65536" + zero + ", norm 1"},
    // fairseq's examples/translation, examples/language_model (Hydra).
    {"train.sh",
     "CUDA_VISIBLE_DEVICES=0 fairseq-train data-bin/iwslt14.tokenized.de-en --arch transformer_iwslt_de_en "
     "--optimizer adam --adam-betas '(0.9, 0.98)' --clip-norm 0.1 --lr 5e-4 --max-tokens 4096 --fp16",
     "fairseq: fairseq_cli init_scale=128 scale_window=16384 in float16, norm 0.1"},
    {"hydra.yaml",
     "common:\n  fp16: true\n  fp16_init_scale: 4\n  threshold_loss_scale: 1\n  fp16_scale_window: 128\n"
     "task:\n  _name: sentence_prediction\noptimization:\n  clip_norm: 0.0\n  lr: [1e-05]\n",
     "fairseq: fairseq_cli init_scale=4 scale_window=128 threshold=1 in float16"},
    // timm's training script.
    {"train.sh",
     "./distributed_train.sh 4 /data/imagenet/ --model seresnet34 --sched cosine --epochs 150 --lr 0.4 "
     "--reprob 0.5 --remode pixel --batch-size 256 --amp -j 4",
     "timm: " + torch},
    // docs.ultralytics.com/modes/train
    {"train.sh", "yolo detect train data=coco8.yaml model=yolo11n.pt epochs=100 imgsz=640 amp=False",
     "ultralytics: none in float32, norm 10"},
    // YOLOv5's README: AMP is on by itself.
    {"train.sh", "python train.py --data coco.yaml --epochs 300 --weights '' --cfg yolov5n.yaml --batch-size 128",
     "!starts 'train.py' with no argument of a framework that is read"},
    // mmengine's and mmdetection 2's documentation of mixed precision.
    {"config.py",
     "optim_wrapper = dict(\n    type='AmpOptimWrapper',\n    loss_scale='dynamic',\n"
     "    optimizer=dict(type='SGD', lr=0.02, momentum=0.9),\n    clip_grad=dict(max_norm=35, norm_type=2))\n",
     "MMEngine: " + torch + ", norm 35"},
    {"config.py",
     "optimizer = dict(type='SGD', lr=0.02)\noptimizer_config = dict(grad_clip=dict(max_norm=35, norm_type=2))\n"
     "lr_config = dict(policy='step')\nfp16 = dict(loss_scale=512.)\n",
     "MMCV: static loss_scale=512 in float16, norm 35"},
    // detectron2.readthedocs.io: config reference.
    {"rcnn.yaml",
     "MODEL:\n  META_ARCHITECTURE: GeneralizedRCNN\nSOLVER:\n  IMS_PER_BATCH: 16\n  AMP:\n    ENABLED: True\n"
     "  CLIP_GRADIENTS:\n    ENABLED: True\n    CLIP_TYPE: full_model\n    CLIP_VALUE: 0.01\n    NORM_TYPE: 2.0\n",
     "Detectron2: " + torch + ", norm 0.01"},
    // nanoGPT's README: dtype is left to the GPU.
    {"train.sh",
     "python train.py config/train_shakespeare_char.py --compile=False --eval_iters=20 --block_size=64 "
     "--batch_size=12 --n_layer=4 --n_head=4 --n_embd=128 --max_iters=2000 --lr_decay_iters=2000 --dropout=0.0",
     "!dtype is not given, and depends on the GPU then"},
    {"gpt2.py",
     "wandb_log = True\nbatch_size = 12\nblock_size = 1024\nmax_iters = 600000\nlr_decay_iters = 600000\n"
     "eval_interval = 1000\neval_iters = 200\nweight_decay = 1e-1\ndtype = 'float16'\ngrad_clip = 0.0\n",
     "nanoGPT: " + torch},
    // torchtune's and torchtitan's recipes.
    {"full.yaml",
     "tokenizer:\n  _component_: torchtune.models.llama3.llama3_tokenizer\noptimizer:\n"
     "  _component_: bitsandbytes.optim.PagedAdamW8bit\nclip_grad_norm: 1.0\ndtype: bf16\n",
     "torchtune: none in bfloat16, norm 1"},
    {"titan.toml",
     "[job]\ndump_folder = \"./outputs\"\n[training]\nlocal_batch_size = 8\nseq_len = 2048\nmax_norm = 1.0\n"
     "[parallelism]\ndata_parallel_shard_degree = -1\n",
     "torchtitan: none in bfloat16, norm 1"},
    // LLM Foundry's scripts/train/yamls.
    {"mpt.yaml",
     "max_duration: 4800ba\nprecision: amp_bf16\ndevice_train_microbatch_size: 4\nalgorithms:\n"
     "  gradient_clipping:\n    clipping_type: norm\n    clipping_threshold: 1.0\nfsdp_config:\n"
     "  mixed_precision: PURE\n",
     "LLM Foundry: none in bfloat16, norm 1"},
    // docs.axolotl.ai, LLaMA-Factory's examples.
    {"lora.yml",
     "base_model: NousResearch/Llama-3.2-1B\nload_in_8bit: true\nadapter: lora\nsequence_len: 2048\n"
     "micro_batch_size: 2\nbf16: auto\ntf32: false\n",
     "Hugging Face: none in bfloat16, norm 1"},
    {"sft.yaml",
     "model_name_or_path: m\nstage: sft\ndo_train: true\nfinetuning_type: full\ndeepspeed: ds_z3_config.json\n"
     "template: llama3\ncutoff_len: 2048\noutput_dir: o\nbf16: true\n",
     "Hugging Face: none in bfloat16, norm 1"},
    // verl.readthedocs.io quickstart, OpenRLHF's README.
    {"ppo.sh",
     "PYTHONUNBUFFERED=1 python3 -m verl.trainer.main_ppo data.train_files=a.parquet data.train_batch_size=256 "
     "actor_rollout_ref.model.path=m actor_rollout_ref.actor.optim.lr=1e-6 "
     "actor_rollout_ref.actor.ppo_mini_batch_size=64 trainer.n_gpus_per_node=1",
     "verl: none in bfloat16, norm 1"},
    {"sft.sh",
     "deepspeed --module openrlhf.cli.train_sft --max_len 4096 --dataset d --pretrain m --zero_stage 2 "
     "--max_epochs 1 --param_dtype bf16 --learning_rate 5e-6 --packing_samples",
     "OpenRLHF: none in bfloat16, norm 1"},
    // sd-scripts' docs, diffusers' DreamBooth README.
    {"lora.sh",
     "accelerate launch --num_cpu_threads_per_process 1 train_network.py --network_module=networks.lora "
     "--mixed_precision=\"fp16\" --save_precision=\"fp16\" --max_grad_norm=0 --gradient_checkpointing",
     "sd-scripts: " + torch},
    {"db.sh",
     "accelerate launch --mixed_precision=\"fp16\" train_dreambooth.py --instance_prompt=\"a photo of sks dog\" "
     "--use_8bit_adam --gradient_accumulation_steps=1 --max_grad_norm=0.7",
     "diffusers: " + torch + ", norm 0.7"},
    // keras.io/api/mixed_precision: compile() wraps the optimizer.
    {"fit.py",
     "import keras\nkeras.config.set_dtype_policy(\"mixed_float16\")\n"
     "model.compile(loss='mse', optimizer=keras.optimizers.Adam(global_clipnorm=1.0))\n",
     "Keras: keras3_lso initial_scale=32768 dynamic_growth_steps=2000 in float16, norm 1"},
    // tensorflow/models: imagenet_resnet50_gpu.yaml.
    {"resnet.yaml",
     "runtime:\n  distribution_strategy: 'mirrored'\n  mixed_precision_dtype: 'float16'\n"
     "  loss_scale: 'dynamic'\ntask:\n  model:\n    num_classes: 1001\n",
     "TF Model Garden: tf_keras_dynamic initial_loss_scale=32768 growth_steps=2000 in float16"},
    // PaddleClas's documentation of AMP.
    {"amp.yaml",
     "Global:\n  epochs: 120\nAMP:\n  use_amp: True\n  scale_loss: 128.0\n  use_dynamic_loss_scaling: True\n"
     "  level: O1\nArch:\n  name: ResNet50\n",
     "PaddleClas: paddle_dygraph init_loss_scaling=128 incr_every_n_steps=2000 decr_every_n_nan_or_inf=1 in float16"},
    // ESPnet's tutorial, icefall's recipes.
    {"asr.yaml",
     "batch_type: numel\nbatch_bins: 16000000\naccum_grad: 4\nmax_epoch: 50\noptim: adam\ngrad_clip: 1.0\n"
     "use_amp: true\n",
     "ESPnet: " + torch + ", norm 1"},
    {"zip.sh",
     "./zipformer/train.py --world-size 4 --num-epochs 30 --use-fp16 1 --exp-dir zipformer/exp "
     "--max-duration 1000",
     "icefall: icefall_gradscaler in float16"},
    // NeMo's megatron_gpt_config.yaml.
    {"gpt.yaml",
     "trainer:\n  devices: 1\n  accelerator: gpu\n  precision: 16\n  gradient_clip_val: 1.0\nmodel:\n"
     "  tensor_model_parallel_size: 1\n  native_amp_init_scale: 65536\n  native_amp_growth_interval: 500\n"
     "  hysteresis: 2\n",
     "NeMo: nemo_megatron init_scale=65536 growth_interval=500 hysteresis=2 in float16, norm 1"},
    // Composer's documentation: a Trainer in Python.
    {"fit.py",
     "from composer import Trainer\ntrainer = Trainer(model=model, max_duration='2ep', precision='amp_fp16')\n",
     "!trainer.precision"},
    // DINO's README: a script of its own.
    {"dino.sh",
     "python -m torch.distributed.launch --nproc_per_node=8 main_dino.py --arch vit_small --use_fp16 true "
     "--clip_grad 3.0 --data_path d",
     "!use_fp16, clip_grad"},
};

}  // namespace

TEST_CASE("what the programs' documentation shows is read rightly, or refused with the key") {
  const importer read{framework_name::first};
  std::size_t refused = 0;
  CHECK(documented.size() == 40);
  for (const row& r : documented) {
    CAPTURE(r.file, r.text);
    const std::string result = read(r.text, r.file);
    if (r.expected.starts_with('!')) {
      ++refused;
      CAPTURE(result);
      CHECK(result.starts_with(r.file + ": "));
      CHECK(result.find(r.expected.substr(1)) != std::string::npos);
      continue;
    }
    CHECK(result == r.expected);
    if (result == r.expected) CHECK_NOTHROW(make_scaler(*find_scaler(read.last().scaler), read.last().parameters));
  }
  CHECK(refused <= 10);
}
