// Configurations of programs that are rows of analysis/io/config/programs: what they mean, worked out by hand from the programs'
// documentation, or the error; and that none is taken for another's.
#include <string>
#include <vector>

#include <ulp/formats/catalog.hpp>
#include <ulp/model/machines/scaler.hpp>

#include "importer.hpp"
#include "support/catch.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

const std::string torch =
    "pytorch_gradscaler init_scale=65536 growth_factor=2 backoff_factor=0.5 growth_interval=2000 in float16";

struct row {
  std::string text;
  std::string expected;  // or how the error begins
  std::string weights = {};
};

void check_all(const std::vector<row>& rows, const std::string& name = "c") {
  const importer read{framework_name::first};
  for (const row& r : rows) {
    CAPTURE(r.text);
    const std::string result = read(r.text, name);
    if (r.expected.starts_with(name + ": ")) {
      CAPTURE(result);
      CHECK(result.starts_with(r.expected));
      continue;
    }
    CHECK(result == r.expected);
    if (result != r.expected) continue;
    CHECK(read.last().weights_kept_in.value_or("") == r.weights);
    CHECK_NOTHROW(make_scaler(*find_scaler(read.last().scaler), read.last().parameters));
  }
}

}  // namespace

TEST_CASE("timm") {
  check_all({
      {"amp: true\namp_dtype: bfloat16\nclip_grad: null\nclip_mode: norm\nopt: lamb\n", "timm: none in bfloat16",
       "float32"},
      {"amp: false\namp_impl: native\nclip_grad: 5.0\nclip_mode: value\nopt: lamb\n", "timm: none in float32, value 5",
       "float32"},
      {"amp: true\namp_impl: apex\nopt: lamb\n", "c: line 2: amp_impl hands the loss scale to apex.amp"},
      {"amp: true\nclip_grad: 0.02\nclip_mode: agc\n",
       "c: line 3: clip_mode clips each unit by the norm of its weights"},
      {"native_amp: true\nclip_grad: null\nopt: sgd\n", "timm: " + torch, "float32"},
      {"python -m torch.distributed.launch --nproc_per_node=8 train.py /data --model vit_base --opt adamw --sched cosine --amp "
       "--amp-dtype bfloat16 --clip-grad 1.0 --grad-accum-steps 2",
       "timm: none in bfloat16, norm 1", "float32"},
      {"python train.py --amp /data/imagenet --model resnet50 --opt adamw --sched cosine --clip-grad 2.0",
       "timm: " + torch + ", norm 2", "float32"},
      {"python train.py --amp bfloat16 --model resnet50 --opt adamw --sched cosine --clip-grad 2.0",
       "c: line 1: amp is a value that timm is not known to take here: 'bfloat16'"},
      {"amp: true\namp_dtype: float8\nclip_mode: norm\n",
       "c: line 1: amp is a value that timm is not known to take here"},
  });
}

TEST_CASE("ultralytics") {
  check_all({
      {"task: segment\nmode: train\nimgsz: 640\namp: false\nlr0: 0.01\nclose_mosaic: 10\n",
       "ultralytics: none in float32, norm 10", "float32"},
      {"task: detect\nmode: train\nmodel: yolov8n.pt\nimgsz: 640\namp: true\n", "ultralytics: " + torch + ", norm 10",
       "float32"},
      {"yolo detect train data=coco8.yaml model=yolo11n.pt epochs=100 imgsz=640 amp=False",
       "ultralytics: none in float32, norm 10", "float32"},
      {"yolo detect train data=coco8.yaml model=yolo11n.pt epochs=100", "ultralytics: " + torch + ", norm 10",
       "float32"},
  });
}

TEST_CASE("ultralytics in a script") {
  check_all(
      {{"from ultralytics import YOLO\nmodel = YOLO('yolov8n.pt')\nr = model.train(data='c.yaml', epochs=5, imgsz=640, half=False)\n",
        "ultralytics: " + torch + ", norm 10", "float32"},
       {"model.train(data='c.yaml', imgsz=640, amp=False)\n", "ultralytics: none in float32, norm 10", "float32"},
       {"net.train(data='c.yaml', epochs=5, amp=True)\n", "c.py: has no key that only one program has"}},
      "c.py");
}

TEST_CASE("Levanter, OLMo and AudioCraft") {
  const std::string levanter = "trainer:\n  num_train_steps: 100\n  mp: ";
  const std::string olmo = "device_train_microbatch_size: 2\nfsdp:\n  wrapping_strategy: by_block\n  precision: pure\n";
  const std::string music = "solver: musicgen\nautocast_dtype: float16\noptim:\n  max_norm: 1.0\n";
  check_all({
      {levanter + "p=f32,c=bfloat16\n", "Levanter: none in bfloat16, norm 1", "float32"},
      {levanter + "f32\noptimizer:\n  type: adam\n  max_grad_norm: null\n", "Levanter: none in float32", "float32"},
      {levanter + "p=f32,c=bfloat16\noptimizer:\n  type: sophia-h\n",
       "c: line 5: optimizer.type has a clipping of its own"},
      {olmo + "precision: amp_bf16\nmax_grad_norm: 1.0\nmax_grad_norm_ratio: null\n", "OLMo: none in bfloat16, norm 1",
       "float32"},
      {olmo + "precision: amp_bf16\nmax_grad_norm_ratio: 2\n",
       "c: line 6: max_grad_norm_ratio clips each gradient by the mean"},
      {olmo + "max_grad_norm: 1.0\n", "c: line 1: precision is not given, and has no default"},
      {music + "autocast: true\n", "AudioCraft: " + torch + ", norm 1", "float32"},
      {music + "autocast: false\nfsdp:\n  use: true\n  param_dtype: float16\n", "AudioCraft: " + torch + ", norm 1",
       "float32"},
      {music, "c: line 1: autocast is not given: the solver's own file decides"},
  });
}

TEST_CASE("OpenRLHF and OneTrainer") {
  check_all({
      {"python3 -m openrlhf.cli.train_ppo_ray --bf16 --zero_stage 3 --micro_train_batch_size 4 --grad_accum_dtype fp32",
       "OpenRLHF: none in bfloat16, norm 1", "float32"},
      {"deepspeed --module openrlhf.cli.train_sft --zero_stage 2 --max_norm 0.5",
       "c: line 1: bf16 is not given, nor is param_dtype: newer versions train in bfloat16 then"},
      {R"({"training_method": "LORA", "model_type": "STABLE_DIFFUSION_XL_10_BASE", "train_dtype": "BFLOAT_16",
           "clip_grad_norm": 1.0, "lora_weight_dtype": "FLOAT_32"})",
       "OneTrainer: none in bfloat16, norm 1"},
      {R"({"training_method": "LORA", "model_type": "STABLE_DIFFUSION_15", "train_dtype": "FLOAT_16", "clip_grad_norm": 0.5})",
       "OneTrainer: " + torch + ", norm 0.5", "float32"},
      {R"({"training_method": "FINE_TUNE", "model_type": "FLUX", "train_dtype": "FLOAT_16", "transformer": {"weight_dtype": "FLOAT_16"}})",
       "c: line 1: train_dtype has a loss scale only where all trained weights are float32"},
  });
}

TEST_CASE("Paddle's programs") {
  check_all({
      {"{\"per_device_train_batch_size\": 8, \"bf16\": true, \"fp16_opt_level\": \"O2\", \"tensor_parallel_degree\": 8}",
       "PaddleNLP: none in bfloat16, norm 1", "float32"},
      {"{\"per_device_train_batch_size\": 8, \"fp16\": true, \"sharding\": \"stage2\", \"max_grad_norm\": 0}",
       "PaddleNLP: paddle_dygraph init_loss_scaling=32768 in float16", "float32"},
      {"AMP:\n  scale_loss: 128.0\n  level: O1\n", "PaddleClas: static loss_scale=128 in float16", "float32"},
      {"AMP:\n  scale_loss: 128.0\nOptimizer:\n  clip_norm: 10\n",
       "c: line 4: Optimizer.clip_norm clips each parameter by itself"},
      {"Global:\n  use_amp: true\n  scale_loss: 1024.0\n  use_dynamic_loss_scaling: true\n  epoch_num: 5\n",
       "PaddleOCR: paddle_dygraph init_loss_scaling=1024 in float16", "float32"},
  });
}

TEST_CASE("what Paddle's programs take from where") {
  const std::string ocr = "Global:\n  use_amp: true\n  amp_dtype: bfloat16\n  epoch_num: 5\n";
  check_all({
      {ocr + "  scale_loss: 1024.0\n", "PaddleOCR: static loss_scale=1024 in bfloat16", "float32"},
      {ocr + "  use_dynamic_loss_scaling: true\n", "PaddleOCR: none in bfloat16", "float32"},
      {"architecture: YOLOv3\nsnapshot_epoch: 5\namp: True\n",
       "c: line 3: amp counts for nothing in the file: the command line says it"},
  });
  const importer read{framework_name::first};
  read.write("a.yml", "architecture: YOLOv3\nsnapshot_epoch: 5\namp: True\n");
  CHECK(read("python tools/train.py -c a.yml --eval", "c.sh") == "PaddleDetection: none in float32");
  CHECK(read("python tools/train.py -c a.yml -o amp=True", "c.sh")
            .starts_with("PaddleDetection: paddle_dygraph init_loss_scaling=1024"));
}

TEST_CASE("MMCV's own scaler") {
  const std::string rest = "optimizer_config = dict(grad_clip=None)\nlr_config = dict(policy='step')\n";
  check_all(
      {
          {"fp16 = dict(loss_scale=dict(init_scale=512., mode='static'))\n" + rest,
           "MMCV: static loss_scale=512 skip_on_overflow=false in float16", "float32"},
          {"fp16 = dict(loss_scale=dict(init_scale=512., mode='dynamic'))\n" + rest,
           "MMCV: apex_fp16_utils init_scale=512 in float16", "float32"},
          {"fp16 = dict(loss_scale=dict(init_scale=512., scale_window=100))\n" + rest,
           "MMCV: apex_fp16_utils init_scale=512 scale_window=100 in float16", "float32"},
          {"fp16 = dict(loss_scale=dict(init_scale=512., growth_interval=100))\n" + rest,
           "MMCV: pytorch_gradscaler init_scale=512 growth_factor=2 backoff_factor=0.5 growth_interval=100 in float16",
           "float32"},
      },
      "c.py");
  const importer read;
  CHECK(read("_base_ = '../no.py'\nfp16 = dict(loss_scale=512.)\noptimizer_config = dict(grad_clip=dict(max_norm=35))\n"
             "lr_config = dict(policy='step')\n",
             "c.py") == "static loss_scale=512 in float16, norm 35");
  CHECK(read.last().notes.front() == "builds on '../no.py', which is not here: what that file says was not read");
  for (const std::string& meaning : read.last().meanings) CHECK(meaning.find("_base_") == std::string::npos);
}

TEST_CASE("a float16 of verl's wrapper has no scaler") {
  const std::string start = "python3 -m verl.trainer.main_ppo actor_rollout_ref.actor.fsdp_config.";
  check_all({
      {start + "mixed_precision.param_dtype=fp16", "verl: none in float16, norm 1"},
      {start + "dtype=float16",
       "verl: pytorch_gradscaler init_scale=65536 growth_factor=2 backoff_factor=0.5 growth_interval=400 in float16, norm 1"},
  });
}

TEST_CASE("programs with timm's arguments are not timm") {
  const importer read;
  CHECK(read("python main.py --model deit_small --clip-grad 5.0", "c.sh", {}, "timm")
            .starts_with("c.sh: starts 'main.py', which is not timm's own"));
  CHECK(read("python train.py /data --model deit_small --clip-grad 5.0", "c.sh", {}, "timm") ==
        "none in float32, norm 5");
}

TEST_CASE("the Trainer clips nothing without a norm") {
  check_all({{"fp16: true\nper_device_train_batch_size: 4\nmax_grad_norm: null\n", "Hugging Face: " + torch},
             {"fp16: true\nper_device_train_batch_size: 4\nmax_grad_norm: 0\n", "Hugging Face: " + torch}});
  check_all({{"args = TrainingArguments('o', fp16=True, max_grad_norm=None)\n", "Hugging Face: " + torch}}, "c.py");
}

TEST_CASE("what the Trainer trains in is the model's type without fp16 and bf16") {
  const std::string args = "args = TrainingArguments('o', learning_rate=1e-4)\n";
  const std::string load = "model = AutoModelForCausalLM.from_pretrained('gpt2', ";
  check_all(
      {
          {load + "torch_dtype=torch.bfloat16).cuda()\n" + args, "Hugging Face: none in bfloat16, norm 1", "bfloat16"},
          {load + "\n    dtype='float16',\n)\n" + args, "Hugging Face: none in float16, norm 1", "float16"},
          {load + "a=1).half()\n" + args, "Hugging Face: none in float16, norm 1", "float16"},
          {"model = M()\nmodel.bfloat16()\n" + args, "Hugging Face: none in bfloat16, norm 1", "bfloat16"},
          {load + "torch_dtype=torch.float32)  # torch_dtype=torch.float16\n" + args,
           "Hugging Face: none in float32, norm 1"},
          {load + "torch_dtype='auto')\n" + args, "c.py: line 1: loads or casts a model"},
          {"from peft import LoraConfig\n" + load + "torch_dtype=torch.float16)\n" + args,
           "c.py: line 2: loads or casts a model"},
          {load + "torch_dtype=torch.bfloat16)\nargs = TrainingArguments('o', bf16=True)\n",
           "Hugging Face: none in bfloat16, norm 1"},
          {load + "quantization_config=BitsAndBytesConfig(bnb_4bit_compute_dtype=torch.bfloat16))\n" + args,
           "Hugging Face: none in float32, norm 1"},
      },
      "c.py");
}

TEST_CASE("MMDetection's --amp") {
  const importer read{framework_name::first};
  read.write("a.py", "optim_wrapper = dict(type='OptimWrapper', clip_grad=dict(max_norm=35))\n");
  read.write("b.py", "optim_wrapper = dict(type='AmpOptimWrapper', loss_scale=128.)\n");
  CHECK(read("python tools/train.py a.py --amp", "c.sh") == "MMEngine: " + torch + ", norm 35");
  CHECK(read("python tools/train.py a.py", "c.sh") == "MMEngine: none in float32, norm 35");
  CHECK(read("python tools/train.py a.py --amp --cfg-options optim_wrapper.clip_grad.max_norm=1", "c.sh") ==
        "MMEngine: " + torch + ", norm 1");
  CHECK(read("python tools/train.py b.py --amp", "c.sh") == "MMEngine: static loss_scale=128 in float16");
  CHECK(read("python tools/train.py no.py --amp --cfg-options optim_wrapper.clip_grad.max_norm=1", "c.sh")
            .find("builds on 'no.py'") != std::string::npos);
}

TEST_CASE("sd-scripts' sections only group its keys") {
  const std::string file =
      "[model_arguments]\nv2 = false\n[training_arguments]\nmixed_precision = \"fp16\"\n"
      "network_module = \"networks.lora\"\nnetwork_dim = 8\nmax_grad_norm = 0.5\n";
  const importer read{framework_name::first};
  CHECK(read(file, "c.toml") == "sd-scripts: " + torch + ", norm 0.5");
  CHECK(read(file, "c.toml", {}, "sd-scripts") == "sd-scripts: " + torch + ", norm 0.5");
  CHECK(read("python train_network.py --config_file c.toml --max_grad_norm 0.2", "c.sh") ==
        "sd-scripts: " + torch + ", norm 0.2");
  CHECK(read("python sdxl_train.py --mixed_precision bf16 --max_grad_norm 0.0 --fused_backward_pass", "c.sh") ==
        "sd-scripts: none in bfloat16");
}

TEST_CASE("scripts of fastai and Flax whose calls are long, or in a branch") {
  const importer read{framework_name::first};
  const std::string learner =
      "learn = vision_learner(dls, resnet34, metrics=error_rate, cbs=[GradientClip(0.1), GradientAccumulation(n_acc=32)])";
  CHECK(read(learner + ".to_fp16()\n", "c.py").starts_with("fastai: " + torch));
  CHECK(read(learner + ".to_bf16()\n", "c.py", {}, "fastai") == "fastai: none in bfloat16");
  CHECK(read(learner + "\n", "c.py", {}, "fastai").starts_with("c.py: calls neither to_fp16 nor to_bf16"));
  CHECK(read("dynamic_scale = None\nif half:\n  dynamic_scale = lib.DynamicScale()\nelse:\n  dynamic_scale = None\n",
             "c.py")
            .starts_with("c.py: calls DynamicScale nowhere but perhaps in a branch"));
}

TEST_CASE("TOML is TOML, but in files that are not called so JSON's values are taken") {
  const importer read;
  const std::string titan = "[training]\nmixed_precision_param = \"bfloat16\"\nmax_norm = 1.0\n";
  CHECK(read(titan + "[more]\na = {b = 1, c = [1, 2,]}\n", "c.toml") == "none in bfloat16, norm 1");
  const auto refused = [&](const std::string& line) { return read(titan + "[more]\n" + line + "\n", "c.toml"); };
  CHECK(refused("a = {b: null}") == "c.toml: line 5: is not TOML: = is missing");
  CHECK(refused("a = {\"b\": 1}") == "c.toml: line 5: is not TOML: = is missing");
  CHECK(refused("a = null") == "c.toml: line 5: is not TOML: it has no null; leave the key out");
  CHECK(refused("a = {b = 1 c = 2}") == "c.toml: line 5: is not TOML: a comma is missing between two values");
  CHECK(refused("a = [1 2]") == "c.toml: line 5: is not TOML: a comma is missing between two values");
}

TEST_CASE("clipping is not denied where the program may clip") {
  const importer read;
  const auto meanings = [&](const std::string& script) {
    read(script, "c.py");
    std::string all;
    for (const std::string& line : read.last().meanings) all += line + "\n";
    return all;
  };
  for (const std::string script :
       {"learn = Learner(dls, model)\nlearn = learn.to_fp16(init_scale=64)\n",
        "scale = dynamic_scale_lib.DynamicScale(growth_interval=500)\n", "network.T5Config.dtype = 'bfloat16'\n"}) {
    INFO(script);
    CHECK(meanings(script).find("clipping") == std::string::npos);
    REQUIRE(read.last().notes.size() == 1);
    CHECK(read.last().notes.front().find("give --clip-norm") != std::string::npos);
  }
}

TEST_CASE("refusals say what to do") {
  const importer read;
  CHECK(read("onmt-main --config data.yml --mixed_precision train --num_gpus 4", "c.sh").find("must be no, fp16") ==
        std::string::npos);
  CHECK(read("{ trainer: { use_amp: true } }", "c.jsonnet").starts_with("c.jsonnet: is Jsonnet"));
  CHECK(read("args = TrainingArguments('o', bf16=True, deepspeed={'zero_optimization': {'stage': 2}})\n", "c.py")
            .find("deepspeed holds DeepSpeed's settings themselves") != std::string::npos);
  CHECK(read("args = TrainingArguments('o', fp16=True)\nargs.fp16 = False\n", "c.py") ==
        "c.py: line 1: fp16 is assigned on lines 1 and 2, and only a run tells what counts; write it once");
  CHECK(read("args = TrainingArguments('o', fp16=True)\n", "c.py") == torch + ", norm 1");
  for (const std::string& note : read.last().notes) CHECK(note.find("left out: 0") == std::string::npos);
  CHECK(read("a: 1\n", "c.yaml", {}, "list").find("Accelerate, AllenNLP, AudioCraft, Cerebras") != std::string::npos);
  CHECK(read("Global: {use_amp: False, epoch_num: 5}\nOptimizer: {clip_norm: None}\n", "c.yml") == "none in float32");
}

TEST_CASE("MindFormers") {
  check_all({
      {"runner_wrapper:\n  type: MFTrainOneStepCell\n  scale_sense: 1.0\n  use_clip_grad: True\nmodel:\n  model_config:\n"
       "    compute_dtype: bfloat16\n",
       "MindFormers: none in bfloat16, norm 1"},
      {"runner_wrapper:\n  scale_sense:\n    type: FixedLossScaleUpdateCell\n    loss_scale_value: 1024\n",
       "MindFormers: static loss_scale=1024 in float16"},
      {"runner_wrapper:\n  scale_sense:\n    type: AdaptiveLossScaleUpdateCell\n    loss_scale_value: 4096\n",
       "c: line 3: runner_wrapper.scale_sense.type is no scaler that is known here"},
  });
}

TEST_CASE("torchtune, LLM Foundry, ESPnet, torchtitan") {
  check_all({
      {"model:\n  _component_: torchtune.models.llama3.llama3_8b\ndtype: fp32\nclip_grad_norm: null\n",
       "torchtune: none in float32", "float32"},
      {"tune run --nproc_per_node 2 full_finetune_distributed --config llama3/8B_full dtype=bf16 clip_grad_norm=0.5",
       "torchtune: none in bfloat16, norm 0.5", "bfloat16"},
      {"tokenizer:\n  _component_: a.b\nbatch_size: 2\n", "c: line 1: dtype is not given"},
      {"precision: amp_bf16\ndevice_train_microbatch_size: 4\nalgorithms:\n  gradient_clipping:\n    clipping_type: value\n"
       "    clipping_threshold: 0.1\n",
       "LLM Foundry: none in bfloat16, value 0.1", "float32"},
      {"device_train_microbatch_size: 4\n", "c: line 1: precision is not given"},
      {"batch_bins: 1000\naccum_grad: 2\nmax_epoch: 3\n", "ESPnet: none in float32, norm 5", "float32"},
      {"use_amp: true\nbatch_bins: 1000\ngrad_clip: -1\n", "ESPnet: " + torch, "float32"},
      {"use_amp: true\nbatch_bins: 1000\nuse_deepspeed: true\n",
       "c: line 3: use_deepspeed hands the loss scale to DeepSpeed"},
      {"use_amp: true\nbatch_bins: 1000\ngrad_clip_type: inf\n", "c: line 3: grad_clip_type is another norm than L2"},
      {"[job]\n[training]\ndtype = \"bfloat16\"\n", "torchtitan: none in bfloat16, norm 1", "bfloat16"},
  });
}

TEST_CASE("icefall and guided-diffusion scale by rules of their own") {
  check_all({
      {"./pruned_transducer_stateless7/train.py --world-size 4 --use-fp16 True --max-duration 750",
       "icefall: icefall_gradscaler double_below=1 double_seldom_below=8 in float16", "float32"},
      {"./zipformer/train.py --use-fp16 1 --max-duration 750", "icefall: icefall_gradscaler in float16", "float32"},
      {"./pruned_transducer_stateless2/train.py --use-fp16 1 --exp-dir e --max-duration 550", "icefall: " + torch,
       "float32"},
      {"./lstm_transducer_stateless2/train.py --use-fp16 True --exp-dir e", "icefall: " + torch, "float32"},
      {"python3 ./conformer_ctc3/train.py --use-fp16 1 --max-duration 300", "icefall: " + torch, "float32"},
      {"./pruned_transducer_stateless9/train.py --use-fp16 1 --exp-dir e",
       "c: line 1: use_fp16 has a GradScaler that starts at 65536 in some of icefall's recipes"},
      {"python train.py --use-fp16 1 --max-duration 300",
       "c: line 1: use_fp16 has a GradScaler that starts at 65536 in some"},
      {"./pruned_transducer_stateless9/train.py --exp-dir e", "icefall: none in float32", "float32"},
      {"./pruned_transducer_stateless7/train.py --world-size 4 --use-fp16 0 --max-duration 750",
       "icefall: none in float32", "float32"},
      {"python scripts/image_train.py --use_fp16 True --fp16_scale_growth 1e-3 --lr 1e-4",
       "c: line 1: use_fp16 has a scale of its own"},
  });
}

TEST_CASE("OpenCLIP, TF Model Garden, Swin, Detectron2") {
  check_all({
      {"torchrun --nproc_per_node 4 -m open_clip_train.main --train-data x --precision amp_bf16 --grad-clip-norm 1.0 --accum-freq 2",
       "OpenCLIP: none in bfloat16, norm 1", "float32"},
      {"python -m training.main --train-data x --batch-size 320", "OpenCLIP: " + torch, "float32"},
      {"python -m training.main --precision pure_bf16", "OpenCLIP: none in bfloat16", "bfloat16"},
      {"runtime:\n  mixed_precision_dtype: float16\n  loss_scale: dynamic\ntrainer:\n  optimizer_config:\n    optimizer:\n"
       "      type: adamw\n",
       "TF Model Garden: tf_keras_dynamic initial_loss_scale=32768 growth_steps=2000 in float16, norm 1", "float32"},
      {"runtime:\n  mixed_precision_dtype: 'float16'\n  loss_scale: 128\n",
       "TF Model Garden: static skip_on_overflow=false loss_scale=128 in float16", "float32"},
      {"runtime:\n  distribution_strategy: tpu\n  mixed_precision_dtype: bfloat16\ntask: {}\n",
       "TF Model Garden: none in bfloat16", "float32"},
      {"MODEL:\n  TYPE: swin\n  SWIN:\n    EMBED_DIM: 96\n", "Swin Transformer: " + torch + ", norm 5", "float32"},
      {"SOLVER:\n  BASE_LR: 0.01\n  IMS_PER_BATCH: 16\n  AMP:\n    ENABLED: True\n  CLIP_GRADIENTS:\n    ENABLED: True\n"
       "    CLIP_TYPE: full_model\n    CLIP_VALUE: 0.01\n",
       "Detectron2: " + torch + ", norm 0.01", "float32"},
      {"_BASE_: ../Base.yaml\nSOLVER:\n  IMS_PER_BATCH: 8\n",
       "c: line 1: builds on '../Base.yaml', which is not here and may say what SOLVER.AMP.ENABLED is"},
  });
}

TEST_CASE("sd-scripts, diffusers, metaseq") {
  check_all({
      {"accelerate launch train_network.py --network_module networks.lora --network_dim 8 --mixed_precision bf16 --max_grad_norm 0",
       "sd-scripts: none in bfloat16", "float32"},
      {"accelerate launch sdxl_train.py --mixed_precision bf16 --full_bf16", "sd-scripts: none in bfloat16, norm 1",
       "bfloat16"},
      {"accelerate launch sdxl_train.py --full_fp16", "c: line 1: full_fp16 needs --mixed_precision fp16"},
      {"accelerate launch --mixed_precision=\"fp16\" train_text_to_image_lora.py --max_grad_norm 2",
       "diffusers: " + torch + ", norm 2", "float32"},
      {"accelerate launch train_dreambooth.py --output_dir x",
       "c: has no --mixed_precision, which accelerate takes from its own"},
      {"metaseq-train /data --task streaming_language_modeling --bf16 --clip-norm 1",
       "metaseq: none in bfloat16, norm 1", "float32"},
      {"metaseq-train --bf16 /data --clip-norm 1", "metaseq: none in bfloat16, norm 1", "float32"},
      {"metaseq-train /data --fp16 --bf16 --clip-norm 1", "metaseq: none in bfloat16, norm 1", "float32"},
      {"metaseq-train /data --memory-efficient-fp16 --fp16-init-scale 4 --bf16", "metaseq: none in bfloat16",
       "bfloat16"},
      {"metaseq-train /data --fp16 --clip-norm-type inf --clip-norm 1",
       "c: line 1: clip_norm_type is another norm than L2"},
  });
}

TEST_CASE("Megatron-LM sums gradients in what --main-grads-dtype says") {
  const importer read;
  const std::string start = "python pretrain_gpt.py --bf16 --use-distributed-optimizer ";
  (void)read(start + "--use-precision-aware-optimizer --main-grads-dtype bf16");
  CHECK(read.last().accumulates_in->format == "bfloat16");
  CHECK(read(start + "--main-grads-dtype bf16") ==
        "c: line 1: --main-grads-dtype needs --use-precision-aware-optimizer: Megatron-LM refuses it without");
}

TEST_CASE("Python configurations") {
  check_all({
      {"optim_wrapper = dict(type='OptimWrapper', optimizer=dict(type='SGD'), clip_grad=dict(max_norm=35, norm_type=2))\n",
       "MMEngine: none in float32, norm 35", "float32"},
      {"max_norm = 1\noptim_wrapper = dict(type=AmpOptimWrapper, loss_scale='dynamic', dtype='bfloat16',\n"
       "    clip_grad=dict(max_norm=max_norm, error_if_nonfinite=False))\n",
       "MMEngine: pytorch_gradscaler init_scale=65536 growth_factor=2 backoff_factor=0.5 growth_interval=2000 in bfloat16, norm 1",
       "float32"},
      {"optim_wrapper = dict(type='AmpOptimWrapper', loss_scale=512.)\n", "MMEngine: static loss_scale=512 in float16",
       "float32"},
      {"_base_ = './a.py'\noptim_wrapper = dict(type='AmpOptimWrapper', loss_scale='dynamic')\n",
       "c: line 1: _base_ holds the configuration that this one changes"},
      {"optim_wrapper = dict(type='AmpOptimWrapper', loss_scale=SCALE * 2)\n",
       "c: line 1: optim_wrapper.loss_scale is 'SCALE * 2', whose value this file does not say; write it"},
      {"optimizer_config = dict(grad_clip=dict(max_norm=35, norm_type=2))\nlr_config = dict(policy='step')\n"
       "fp16 = dict(loss_scale=512.)\n",
       "MMCV: static loss_scale=512 in float16, norm 35", "float32"},
      {"from colossalai.booster.plugin import LowLevelZeroPlugin\nplugin = LowLevelZeroPlugin(stage=2, precision='fp16', "
       "initial_scale=2**12, max_norm=1.0)\n",
       "Colossal-AI: colossalai_mixin initial_scale=4096 in float16, norm 1"},
      {"plugin = GeminiPlugin(precision='bf16', max_norm=0.5)\n", "Colossal-AI: none in bfloat16, norm 0.5"},
      {"base_params = {\n  'dtype': 'mixed',\n  'loss_scaling': 'LogMax',\n  'max_grad_norm': 1.0,\n}\n",
       "OpenSeq2Seq: openseq2seq_logmax in float16, norm 1", "float32"},
      {"base_params = {\n  'dtype': tf.float32,\n}\n", "OpenSeq2Seq: none in float32", "float32"},
      {"import x\nargs = Seq2SeqTrainingArguments(output_dir='x', bf16=True,\n  max_grad_norm=0.5)\n",
       "Hugging Face: none in bfloat16, norm 0.5"},
      {"import x\nargs = TrainingArguments(output_dir='x', fp16=not torch.cuda.is_bf16_supported())\n",
       "c: line 2: fp16 is 'not torch.cuda.is_bf16_supported()', whose value this file does not say; write it"},
      {"import x\nargs = TrainingArguments(output_dir='x', **more)\n",
       "c: line 2: takes in **more, which this file does not say"},
      {"import x\na = TrainingArguments(fp16=True)\nb = TrainingArguments(bf16=True)\n",
       "c: line 3: calls 'TrainingArguments' again, first on line 2; keep one of them"},
      {"import x\na = pl.Trainer(max_epochs=3, precision='16-mixed')\nb = pl.Trainer(precision='bf16-mixed')\n",
       "c: line 3: calls 'Trainer' again, first on line 2; keep one of them"},
      {"import x\ndef f():\n  t = Trainer(max_epochs=3, precision='16-mixed')\ndef g():\n  t = Trainer(precision='bf16-mixed')\n",
       "c: line 5: calls 'Trainer' again, first on line 3; keep one of them"},
      {"trainer = Trainer(precision='16-mixed', max_epochs=3)\ntrainer.fit(m)\ntrainer = Trainer(precision='32-true')\n",
       "c: line 3: calls 'Trainer' again, first on line 1; keep one of them"},
      {"import x\nif x:\n  a = TrainingArguments(fp16=True)\nelse:\n  a = TrainingArguments(bf16=True)\n",
       "c: line 5: calls 'TrainingArguments' again, first on line 3; keep one of them"},
      {"import x\na = pl.Trainer(max_epochs=3, precision='bf16-mixed')\nb = Trainer(model=m, args=a)\n",
       "Lightning: none in bfloat16", "float32"},
      {"import lightning as L\ntrainer = L.Trainer(max_epochs=3, precision='bf16-mixed', gradient_clip_val=0.5)\n",
       "Lightning: none in bfloat16, norm 0.5", "float32"},
      {"optim_wrapper = dict(type='AmpOptimWrapper', clip_grad=clipping)\n",
       "c: line 1: optim_wrapper.clip_grad holds keys and values here, not 'clipping'"},
      {"clipping = dict(max_norm=2)\noptim_wrapper = dict(type='OptimWrapper', clip_grad=clipping)\n",
       "MMEngine: none in float32, norm 2", "float32"},
      {"from nemo.collections import llm\nrecipe = llm.pretrain_recipe(name='x')\nrecipe.trainer.plugins = bf16_mixed()\n",
       "NeMo 2: none in bfloat16, norm 1", "float32"},
      {"import lightning as L\ntrainer = L.Trainer(max_epochs=3, plugins=[MixedPrecision('16-mixed', 'cuda', scaler)])\n",
       "c: line 2: plugins holds a precision plugin"},
      {"import x\nlr = 0.1\n", "c: has no key of a configuration that is read"},
      {"import x\nargs = SFTConfig(output_dir='x')\n", "c: line 2: bf16 is not given, nor is fp16: TRL's versions"},
      {"import x\naccelerator = Accelerator(gradient_accumulation_steps=4)\n",
       "c: line 2: mixed_precision is not given to Accelerator"},
      {"Namespace(amp=True, amp_dtype='bfloat16', clip_grad=1.0, clip_mode='norm', opt='adamw')\n",
       "timm: none in bfloat16, norm 1", "float32"},
      {"2026-05-12 10:00:00 - INFO - __main__ - Training/evaluation parameters Seq2SeqTrainingArguments(\n_n_gpu=1,\nbf16=True,\n"
       "fp16=False,\nlogging_dir=/tmp/runs/x_12-00-00,\nmax_grad_norm=1.0,\n)\n",
       "Hugging Face: none in bfloat16, norm 1"},
  });
}

TEST_CASE("MaxText, nanotron, LitGPT, nanoGPT") {
  check_all({
      {"base_config: base.yml\nrun_name: x\nbase_output_directory: gs://b\n", "MaxText: none in bfloat16, norm 1",
       "float32"},
      {"python3 -m MaxText.train MaxText/configs/base.yml run_name=r dtype=float16 weight_dtype=bfloat16 "
       "gradient_clipping_threshold=0.5 steps=10",
       "MaxText: none in float16, norm 0.5", "bfloat16"},
      {"python3 -m maxtext.trainers.pre_train.train src/maxtext/configs/base.yml run_name=r steps=10",
       "MaxText: none in bfloat16, norm 1", "float32"},
      {"python3 -m MaxText.train MaxText/configs/my.yml run_name=r dtype=float16",
       "c: line 1: builds on 'MaxText/configs/my.yml', which is not here and may say what weight_dtype is"},
      {"model: {dtype: bfloat16, ddp_bucket_cap_mb: 25}\noptimizer: {accumulate_grad_in_fp32: true, clip_grad: 1.0}\n",
       "nanotron: none in bfloat16, norm 1", "float32"},
      {"model: {dtype: float16}\noptimizer: {accumulate_grad_in_fp32: false, clip_grad: null}\n",
       "nanotron: none in float16", "float16"},
      {"precision: bf16-mixed\ninitial_checkpoint_dir:\ntokenizer_dir: t\nmodel_name: m\ntrain: {global_batch_size: 8, "
       "micro_batch_size: 4}\n",
       "LitGPT: none in bfloat16, norm 1", "float32"},
      {"checkpoint_dir: c\nprecision: bf16-true\ntrain:\n  global_batch_size: 8\n  micro_batch_size: 4\n  max_norm:\n",
       "LitGPT: none in bfloat16", "bfloat16"},
      {"litgpt finetune_lora microsoft/phi-2 --precision 16-mixed --train.micro_batch_size 1", "LitGPT: " + torch,
       "float32"},
      {"litgpt pretrain pythia-160m --precision bf16-true --train.max_norm 0.5", "LitGPT: none in bfloat16, norm 0.5",
       "bfloat16"},
      {"litgpt finetune_full microsoft/phi-2 --precision 16-true --train.max_norm 0.7",
       "c: line 1: train.max_norm is refused by LitGPT where it finetunes"},
      {"litgpt finetune_full microsoft/phi-2", "c: line 1: precision is not given, and depends on the GPU then"},
      {"out_dir = 'out'\neval_interval = 250\ngrad_clip = 0.0\ndtype = 'float16'\n", "nanoGPT: " + torch, "float32"},
      {"out_dir = 'out'\neval_interval = 250\neval_iters = 20\ndevice = 'cpu'\n", "nanoGPT: none in float32, norm 1",
       "float32"},
      {"out_dir = 'out'\neval_interval = 250\neval_iters = 20\n",
       "c: line 1: dtype is not given, and depends on the GPU then"},
  });
}

TEST_CASE("Detectron2's LazyConfig") {
  check_all({{"from ..common.train import train\ntrain['amp']['enabled'] = True\ntrain.ddp.fp16_compression = True\n",
              "Detectron2: " + torch, "float32"},
             {"train = dict(max_iter=9, amp=dict(enabled=False))\n", "Detectron2: none in float32", "float32"}},
            "c.py");
}

TEST_CASE("Keras") {
  const std::string lso = "Keras: keras3_lso initial_scale=32768 dynamic_growth_steps=2000 in float16";
  check_all({{"keras.config.set_dtype_policy('mixed_float16')\nmodel.compile(optimizer=keras.optimizers.Adam(1e-3, "
              "global_clipnorm=1.0))\n",
              lso + ", norm 1", "float32"},
             {"policy = mixed_precision.Policy('mixed_bfloat16')\nmixed_precision.set_global_policy(policy)\n",
              "Keras: none in bfloat16", "float32"},
             {"policy = mixed_precision.Policy('mixed_float16')\nmixed_precision.set_global_policy(policy)\n"
              "opt = keras.optimizers.Adam(1e-3, clipvalue=0.5)\n"
              "opt = mixed_precision.LossScaleOptimizer(opt, initial_scale=1024, dynamic_growth_steps=500)\n"
              "model.compile(optimizer=opt)\n",
              "Keras: keras3_lso initial_scale=1024 dynamic_growth_steps=500 in float16, value 0.5", "float32"},
             {"opt = keras.optimizers.LossScaleOptimizer(keras.optimizers.Adam(clipnorm=1.0))\n",
              "c.py: line 1: clipnorm clips each variable by itself"},
             {"opt = tf.keras.mixed_precision.LossScaleOptimizer(opt, dynamic=False, initial_scale=8)\n",
              "c.py: line 1: dynamic is a constant scale"}},
            "c.py");
}

TEST_CASE("WeNet") {
  const std::string recipe =
      "encoder: conformer\ndataset_conf: {shuffle: true}\ngrad_clip: 5\naccum_grad: 4\nmax_epoch: 240\n";
  check_all({
      {recipe, "c: line 1: dtype is not given: WeNet takes it from its command line"},
      {recipe + "dtype: fp16\n", "c: line 6: dtype is fp16, and leaves open whose scaler it is"},
      {recipe + "dtype: bf16\n", "WeNet: none in bfloat16, norm 5", "float32"},
      {"torchrun wenet/bin/train.py --train_engine torch_ddp --use_amp --config $train_config",
       "c: line 1: builds on '$train_config', which is not here and may say what grad_clip is"},
      {"torchrun wenet/bin/train.py --train_engine deepspeed --config a.yaml",
       "c: line 1: train_engine hands the loss scale to"},
  });
  const importer read{framework_name::first};
  read.write("a.yaml", recipe);
  CHECK(read("torchrun wenet/bin/train.py --train_engine torch_ddp --use_amp --config a.yaml") ==
        "WeNet: " + torch + ", norm 5");
  CHECK(read("torchrun wenet/bin/train.py --train_engine torch_fsdp --dtype bf16 --config a.yaml") ==
        "WeNet: none in bfloat16, norm 5");
  CHECK(read("torchrun wenet/bin/train.py --config a.yaml") == "WeNet: none in float32, norm 5");
}

TEST_CASE("YOLOX, AllenNLP, OpenNMT-py, DINOv2") {
  check_all({
      {"python -m yolox.tools.train -n yolox-s -d 8 -b 64 --fp16 -o --cache", "YOLOX: " + torch, "float32"},
      {"python -m yolox.tools.train -n yolox-s -d 8 -b 64 -o", "YOLOX: none in float32", "float32"},
  });
  const std::string reader = "{\"dataset_reader\": {\"type\": \"snli\"}, ";
  check_all({
      {reader + "\"trainer\": {\"use_amp\": true, \"grad_norm\": 1.5}}", "AllenNLP: " + torch + ", norm 1.5",
       "float32"},
      {reader + "\"trainer\": {\"use_amp\": true, \"grad_scaling\": false}}", "AllenNLP: none in float16", "float32"},
      {reader + "\"trainer\": {\"grad_norm\": 2}}", "AllenNLP: none in float32, norm 2", "float32"},
      {reader + "\"trainer\": {\"use_amp\": true, \"grad_norm\": true}}", "c: line 1: trainer.grad_norm is true, with"},
      {reader + "\"trainer\": {\"use_amp\": true, \"grad_clipping\": 0.1}}",
       "c: line 1: trainer.grad_clipping clamps gradients as they arise"},
      {reader + "\"trainer\": {\"type\": \"mine\", \"use_amp\": true}}",
       "c: line 1: trainer.type is not AllenNLP's own"},
  });
  const std::string nmt = "save_model: m\nsrc_vocab: v\nmodel_dtype: fp16\n";
  check_all({
      {nmt + "optim: adam\n", "OpenNMT-py: " + torch + ", norm 5", "float32"},
      {nmt + "optim: fusedadam\nmax_grad_norm: 0.0\n", "OpenNMT-py: apex_fp16_utils init_scale=65536 in float16",
       "float32"},
      {nmt + "optim: fusedadam\nloss_scale: 128\n", "OpenNMT-py: static loss_scale=128 in float16", "float32"},
      {nmt + "optim: fusedadam\napex_opt_level: O2\n", "c: line 5: apex_opt_level hands the loss scale to apex.amp"},
      {"gpu_ranks: [0]\nsrc_vocab: v\n", "OpenNMT-py: none in float32, norm 5", "float32"},
  });
  const std::string dino = "compute_precision:\n  grad_scaler: true\n";
  check_all({
      {dino, "DINOv2: " + torch, "float32"},
      {"compute_precision: {grad_scaler: false}\n", "DINOv2: none in float16", "float32"},
      {dino + "  student: {backbone: {mixed_precision: {param_dtype: bf16}}}\n",
       "c: line 3: compute_precision.student.backbone.mixed_precision.param_dtype is not fp16"},
  });
}

TEST_CASE("where weights have a float32 copy") {
  const importer read;
  const auto kept = [&](const std::string& text) {
    CAPTURE(text, read(text));
    return read.last().weights_kept_in.value_or("?");
  };
  CHECK(kept("python pretrain_gpt.py --bf16 --num-layers 2") == "float32");
  CHECK(kept("python pretrain_gpt.py --bf16 --use-precision-aware-optimizer --main-params-dtype fp16") == "?");
  CHECK(kept("fairseq-train data --arch a --fp16") == "float32");
  CHECK(kept("fairseq-train data --arch a --memory-efficient-fp16") == "float16");
  CHECK(kept("fairseq-train data --arch a --memory-efficient-bf16") == "bfloat16");
}

TEST_CASE("SpeechBrain, PaddleDetection, MindYOLO, nnU-Net, Fabric") {
  check_all({
      {"number_of_epochs: 2\nprecision: fp16\nclip: 2.5\nmax_grad_norm: !ref <clip>\ngrad_accumulation_factor: 4\n",
       "SpeechBrain: " + torch + ", norm 2.5", "float32"},
      {"__set_seed: !apply:torch.manual_seed [1986]\nprecision: bf16\n", "SpeechBrain: none in bfloat16, norm 5",
       "float32"},
      {"__set_seed: 1\nprecision: !apply:f [1]\n", "c: line 2: precision is"},
      {"TrainReader: {}\nEvalReader: {}\nOptimizerBuilder: {clip_grad_by_norm: 35}\n",
       "c: line 1: amp is not given: PaddleDetection takes it"},
      {"ms_amp_level: O2\nms_loss_scaler: dynamic\nms_loss_scaler_value: 65536.0\noverflow_still_update: False\nclip_grad: True\n",
       "MindYOLO: mindspore_amp_scaler scale_value=65536 scale_factor=2 scale_window=2000 in float16, norm 10"},
      {"ms_amp_level: O2\nkeep_loss_fp32: True\n",
       "MindYOLO: static loss_scale=1024 skip_on_overflow=false in float16"},
      {"ms_amp_level: O0\nms_jit: True\n", "MindYOLO: none in float32"},
      {"nnUNetv2_train 2 3d_fullres 0 --npz", "nnU-Net: " + torch + ", norm 12", "float32"},
      {"nnUNetv2_train 2 3d_fullres 0 -device cpu", "nnU-Net: none in float32, norm 12", "float32"},
  });
  check_all({{"from lightning.fabric import Fabric\nfabric = Fabric(devices=8, precision='16-mixed')\n"
              "fabric.clip_gradients(model, optimizer, max_norm=0.5)\n",
              "Fabric: " + torch + ", norm 0.5", "float32"},
             {"fabric = Fabric(precision='bf16-true', strategy='ddp')\n", "Fabric: none in bfloat16", "bfloat16"},
             {"fabric = Fabric(precision='16-mixed', strategy='deepspeed')\n",
              "c.py: line 1: strategy may keep the loss scale"}},
            "c.py");
}

// NVIDIA/NeMo nemo/collections/llm/recipes, hpcaitech/ColossalAI docs, explosion/spacy-transformers README, docs of the others.
TEST_CASE("NeMo 2's plugins and recipes") {
  const std::string megatron =
      "megatron_dynamic initial_scale=4294967296 min_scale=1 growth_interval=1000 hysteresis=2 in float16, norm ";
  check_all(
      {{"import nemo.lightning as nl\ntrainer = nl.Trainer(devices=8, max_steps=9, accelerator='gpu',\n"
        "    plugins=nl.MegatronMixedPrecision(precision='16-mixed', params_dtype=torch.half))\n",
        "NeMo 2: " + megatron + "1", "float32"},
       {"def recipe():\n    t = run.Config(nl.Trainer, accelerator='gpu', plugins=bf16_mixed(), devices=8)\n"
        "    return run.Partial(llm.pretrain, trainer=t)\n",
        "NeMo 2: none in bfloat16, norm 1", "float32"},
       {"recipe = llm.gpt3_175b.pretrain_recipe(num_nodes=64)\nrecipe.trainer.plugins = fp16_mixed()\n"
        "recipe.optim.config.clip_grad = 0.5\n",
        "NeMo 2: " + megatron + "0.5", "float32"},
       {"recipe = run.Partial(llm.pretrain, trainer=run.Config(nl.Trainer, plugins=run.Config(nl.MegatronMixedPrecision, "
        "precision='bf16-mixed')), optim=run.Config(nl.MegatronOptimizerModule, config=run.Config(OptimizerConfig, "
        "bf16=True, clip_grad=0.5)))\n",
        "NeMo 2: none in bfloat16, norm 0.5", "float32"},
       {"plugin = MegatronMixedPrecision(precision='16-mixed', fp16_loss_scale=1024.0)\n",
        "NeMo 2: megatron_constant initial_scale=1024 in float16, norm 1", "float32"},
       {"recipe = llm.llama3_8b.pretrain_recipe(dir='/c')\nrecipe.trainer.plugins.grad_reduce_in_fp32 = True\n",
        "c.py: line 1: is a recipe of NeMo 2 (llm.llama3_8b.pretrain_recipe), and does not say trainer.plugins"},
       {"trainer = Trainer(max_epochs=1, precision='16-mixed', plugins=[SLURMEnvironment()])\n", "Lightning: " + torch,
        "float32"},
       {"trainer = Trainer(max_epochs=1, plugins=[my_plugin()])\n",
        "c.py: line 1: plugins holds a plugin that is not known here, and may decide"}},
      "c.py");
}

TEST_CASE("a strategy, a booster or handlers of a script bring the scaler") {
  check_all(
      {{"mp = FP16TorchMixedPrecision(init_scale=1024.0, growth_interval=500)\nb = Booster(mixed_precision=mp, "
        "plugin=TorchDDPPlugin())\n",
        "Colossal-AI: pytorch_gradscaler init_scale=1024 growth_factor=2 backoff_factor=0.5 growth_interval=500 in float16",
        "float32"},
       {"booster = Booster(mixed_precision='fp16', plugin=TorchDDPPlugin())\n", "Colossal-AI: " + torch, "float32"},
       {"booster = Booster(mixed_precision='bf16')\n",
        "c.py: line 1: mixed_precision is none whose scaler is known here: fp16 is"},
       {"plugin = HybridParallelPlugin(tp_size=2, precision='fp16', initial_scale=2**8, max_norm=1.0)\n"
        "booster = Booster(plugin=plugin)\n",
        "Colossal-AI: colossalai_mixin initial_scale=256 in float16, norm 1"},
       {"strategy = dict(type='DeepSpeedStrategy', fp16=dict(enabled=True, loss_scale=0, loss_scale_window=500, "
        "initial_scale_power=15, hysteresis=2, min_loss_scale=1), inputs_to_half=[0], zero_optimization=dict(stage=3))\n"
        "optim_wrapper = dict(type='DeepSpeedOptimWrapper', optimizer=dict(type='AdamW'))\n",
        "MMEngine: deepspeed_dynamic init_scale=32768 scale_window=500 delayed_shift=2 consecutive_hysteresis=false "
        "min_scale=1 in float16",
        "float32"},
       {"strategy = dict(type='DeepSpeedStrategy', bf16=dict(enabled=True), zero_optimization=dict(stage=2), "
        "gradient_clipping=1.0)\noptim_wrapper = dict(type='DeepSpeedOptimWrapper')\n",
        "MMEngine: none in bfloat16, norm 1", "float32"},
       {"strategy = dict(type='DeepSpeedStrategy', config='ds.json')\n",
        "c.py: line 1: strategy.config holds DeepSpeed's configuration"},
       {"optim_wrapper = dict(type='AmpOptimWrapper', loss_scale=dict(growth_interval=500))\n",
        "MMEngine: pytorch_gradscaler init_scale=65536 growth_factor=2 backoff_factor=0.5 growth_interval=500 in float16",
        "float32"},
       {"kwargs = GradScalerKwargs(init_scale=1024, growth_interval=100)\n"
        "accelerator = Accelerator(mixed_precision='fp16', kwargs_handlers=[kwargs])\n",
        "Accelerate: pytorch_gradscaler init_scale=1024 growth_factor=2 backoff_factor=0.5 growth_interval=100 in float16"},
       {"accelerator = Accelerator(mixed_precision='fp16', kwargs_handlers=[DistributedDataParallelKwargs(a=True)])\n",
        "Accelerate: " + torch},
       {"accelerator = Accelerator(mixed_precision='fp16', kwargs_handlers=[GradScalerKwargs(1024.0)])\n",
        "c.py: line 1: kwargs_handlers gives GradScalerKwargs() a value without a name"},
       {"accelerator = Accelerator(mixed_precision='fp16', kwargs_handlers=made())\n",
        "c.py: line 1: kwargs_handlers holds 'made()', which this file does not say"},
       {"accelerator = Accelerator(mixed_precision='fp16', kwargs_handlers=handlers)\n",
        "c.py: line 1: kwargs_handlers holds 'handlers', which this file does not say"}},
      "c.py");
}

TEST_CASE("what DeepSpeed is passed by sd-scripts and OpenRLHF") {
  const std::string zero = " scale_window=1000 delayed_shift=";
  const std::string rest = " consecutive_hysteresis=false min_scale=1 in float16, norm ";
  check_all({
      {"accelerate launch sdxl_train_network.py --mixed_precision fp16 --deepspeed --zero_stage 2 --max_grad_norm 0.5",
       "sd-scripts: deepspeed_dynamic init_scale=1" + zero + "2" + rest + "0.5", "float32"},
      {"accelerate launch sdxl_train.py --mixed_precision fp16 --deepspeed --zero_stage 0",
       "c: line 1: deepspeed without ZeRO leaves the loss scale to the optimizer's wrapper"},
      {"accelerate launch sdxl_train.py --mixed_precision bf16 --deepspeed --zero_stage 3",
       "sd-scripts: none in bfloat16, norm 1", "float32"},
      {"deepspeed --module openrlhf.cli.train_sft --zero_stage 2 --param_dtype bf16 --max_norm 0.5",
       "OpenRLHF: none in bfloat16, norm 0.5", "float32"},
      {"deepspeed --module openrlhf.cli.train_sft --zero_stage 3 --param_dtype fp16",
       "OpenRLHF: deepspeed_dynamic init_scale=4294967296" + zero + "1" + rest + "1", "float32"},
      {"deepspeed --module openrlhf.cli.train_sft --zero_stage 3 --param_dtype fp32",
       "c: line 1: param_dtype is not a type whose scaler is known here"},
  });
}

TEST_CASE("spaCy, fastai, Flax, T5X, TRL and NxD in a script") {
  const std::string spacy =
      "[paths]\ntrain = null\n[nlp]\nlang = \"en\"\npipeline = [\"transformer\",\"ner\"]\n"
      "tokenizer = {\"@tokenizers\":\"spacy.Tokenizer.v1\"}\n[components.transformer.model]\n"
      "@architectures = \"spacy-transformers.TransformerModel.v3\"\n";
  const std::string training =
      "[training]\nseed = ${paths.train}\naccumulate_gradient = 3\n[training.optimizer]\ngrad_clip = 1.0\n";
  check_all(
      {{spacy + "mixed_precision = true\ngrad_scaler_config = {\"init_scale\": 32768}\n" + training,
        "spaCy: pytorch_gradscaler init_scale=32768 growth_factor=2 backoff_factor=0.5 growth_interval=2000 in float16",
        "float32"},
       {spacy + "mixed_precision = true\n[components.transformer.model.grad_scaler_config]\nenabled = false\n" +
            training,
        "spaCy: none in float16", "float32"},
       {spacy + training, "spaCy: none in float32", "float32"},
       {spacy + "[training]\nmixed_precision = true\n",
        "c.cfg: line 10: training.mixed_precision is not known in a configuration of spaCy"},
       {"[nlp]\nlang = \"en\"\npipeline = [\"ner\"]\n", "c.cfg: components.transformer.model is not given"}},
      "c.cfg");
  check_all(
      {{"from fastai.vision.all import *\nlearn = vision_learner(dls, resnet34).to_fp16()\nlearn.fine_tune(1)\n",
        "fastai: " + torch, "float32"},
       {"learn = Learner(dls, model, cbs=[MixedPrecision(init_scale=1024), GradientClip(1.0)])\n",
        "fastai: pytorch_gradscaler init_scale=1024 growth_factor=2 backoff_factor=0.5 growth_interval=2000 in float16",
        "float32"},
       {"learn = Learner(dls, model).to_bf16()\n", "fastai: none in bfloat16", "float32"},
       {"model = MyNet().to_bf16()\nscaler = GradScaler(init_scale=1024.0)\n",
        "c.py: is of a program that is not read here: scaler.init_scale may decide"},
       {"learn = Learner(dls, model)\nlearn = learn.to_fp16(init_scale=64)\n",
        "fastai: pytorch_gradscaler init_scale=64 growth_factor=2 backoff_factor=0.5 growth_interval=2000 in float16",
        "float32"},
       {"learn = cnn_learner(data, models.resnet34).to_fp16(loss_scale=512.0)\n",
        "c.py: line 1: calls to_fp16 or to_bf16 of fastai in a chain"},
       {"dynamic_scale = dynamic_scale_lib.DynamicScale(growth_interval=500)\n",
        "Flax: flax_dynamic_scale growth_interval=500 in float16"},
       {"config = ml_collections.ConfigDict()\nconfig.half_precision = True\n",
        "c.py: line 2: config.half_precision is float16 with a DynamicScale on GPUs, and bfloat16"},
       {"network.T5Config.dtype = 'bfloat16'\n", "T5X: none in bfloat16", "float32"},
       {"network.T5Config.num_layers = 12\n",
        "c.py: line 1: network.T5Config.dtype is not given here: T5X takes it from the gin files"},
       {"config = nxd.neuronx_distributed_config(optimizer_config={'zero_one_enabled': True, 'grad_clipping': True, "
        "'max_grad_norm': 1.0}, mixed_precision_config={'use_master_weights': True})\n",
        "NxD: none in bfloat16, norm 1", "float32"}},
      "c.py");
  check_all({{"include 't5x/examples/t5/t5_1_1/base.gin'\nTRAIN_STEPS = 10000\nDROPOUT_RATE = 0.0\n",
              "c.gin: network.T5Config.dtype is not given here: T5X takes it from the gin files that it includes"},
             {"include 't5x/configs/runs/pretrain.gin'\nnetwork.T5Config.dtype = 'float32'\n", "T5X: none in float32",
              "float32"}},
            "c.gin");
  check_all({
      {"trl sft --model_name_or_path m --dataset_name d --output_dir o --fp16 --max_grad_norm 0.5",
       "Hugging Face: " + torch + ", norm 0.5"},
      {"accelerate launch trl/scripts/sft.py --model_name_or_path m --bf16", "Hugging Face: none in bfloat16, norm 1"},
      {"trl dpo --model_name_or_path m --dataset_name d", "c: line 1: bf16 is not given, nor is fp16: TRL's versions"},
  });
}

TEST_CASE("keys that many programs have name none") {
  check_all({
      {"amp: true\nlr: 0.1\n",
       "c: has no key that only one program has, but amp, as DeepSpeed, MMEngine, PaddleDetection, fairseq, timm, ultralytics may"},
      {"clip_grad_norm: 1.0\ndtype: float16\n",
       "c: has no key that only one program has, but clip_grad_norm, dtype, as "},
      {"python train.py --fp16 --max_grad_norm 1",
       "c: has no key that only one program has, but fp16, max_grad_norm, as "},
      {"python train.py --precision amp", "c: has no key that only one program has, but precision, as "},
      {"mixed_precision: fp16\nlr: 1\n",
       "c: has no key that only one program has, but mixed_precision, as Accelerate, "},
      {"fp16: true\nseed: 1\n", "c: has no key that only one program has, but fp16, as "},
      {"use_half_precision: true\n",
       "c: is of a program that is not read here: use_half_precision may decide; give --scaler, --format and --clip-norm"},
  });
}

TEST_CASE("--framework says whose a configuration is") {
  const importer read{framework_name::first};
  CHECK(read("amp: true\nclip_grad: 1\n", "c", {}, "timm") == "timm: " + torch + ", norm 1");
  CHECK(read("amp: true\n", "c", {}, "Ultralytics") == "ultralytics: " + torch + ", norm 10");
  CHECK(read("fp16: true\n", "c", {}, "hugging-face") == "Hugging Face: " + torch + ", norm 1");
  CHECK(read("python train.py --fp16 --clip-grad 0.5", "c", {}, "megatron_lm")
            .starts_with("Megatron-LM: megatron_dynamic "));
  CHECK(read("amp: true\n", "c", {}, "nosuch")
            .starts_with("c: --framework 'nosuch' is not known; there are Accelerate, "));
  CHECK(read("amp: true\n", "c", {}, "Cerebras") == "c: line 1: trainer is missing");
  CHECK(read("fp16: true\n", "c", {}, "Megatron-LM") ==
        "c: is read as Megatron-LM's from its arguments alone; give the script that starts it");
}

TEST_CASE("keys that sound as if they decided are an error where a default would") {
  check_all({
      {"per_device_train_batch_size: 4\namp_dtype: float16\n",
       "c: line 2: amp_dtype is not known in a configuration of Hugging Face, and may change that it trains in float32; remove what"},
      {"per_device_train_batch_size: 4\ntrainer:\n  half_precision: true\n",
       "c: line 2: trainer.half_precision is not known in a configuration of Hugging Face"},
      {"per_device_train_batch_size: 4\nbf16: true\ngrad_clip: 0.5\n",
       "c: line 3: grad_clip is not known in a configuration of Hugging Face, and may change the clipping by default"},
      {"zero_optimization: {stage: 2}\nfp16: {enabled: true}\nloss_scaler: {window: 5}\n",
       "c: line 3: loss_scaler is not known in a configuration of DeepSpeed, and may change the scaler's parameters; "},
      {"trainer:\n  max_epochs: 3\n  train_dtype: bf16\n",
       "c: line 3: trainer.train_dtype is not known in a configuration of Lightning, and may change that it trains in float32"},
      // Off, or as it is concluded: no doubt.
      {"per_device_train_batch_size: 4\namp: false\ntrain_dtype: float32\n", "Hugging Face: none in float32, norm 1"},
      // Settled by keys that are known.
      {"per_device_train_batch_size: 4\nbf16: true\namp_dtype: bfloat16\nmax_grad_norm: 1\ngrad_clip: 0.5\n",
       "Hugging Face: none in bfloat16, norm 1"},
      {"python pretrain_gpt.py --num-layers 2 $PRECISION_ARGS",
       "c: does not say what $PRECISION_ARGS holds, which may change that it"},
  });
}

TEST_CASE("arguments that are not in the text are an error where the format is only a default") {
  const std::string hf = "Hugging Face: " + torch + ", norm 1";
  check_all({
      {"ARGS=$(cat args.txt)\npython run_clm.py --output_dir x $ARGS",
       "c: does not say what $(cat args.txt) holds, which may"},
      {"python run_clm.py $(cat args.txt)", "c: does not say what $(cat args.txt) holds, which may"},
      {"python run_clm.py --do_train `cat args.txt`", "c: does not say what `cat args.txt` holds, which may"},
      {"python run_clm.py --output_dir x \"$@\"", "c: does not say what $@ holds, which may"},
      {"python run_clm.py --output_dir x $*", "c: does not say what $* holds, which may"},
      {"python run_clm.py --output_dir x ${@:2}", "c: does not say what ${@:2} holds, which may"},
      {"python run_clm.py args.json", "c: 'run_clm.py' names the file 'args.json', which"},
      {"torchrun run_clm.py conf/args.yaml", "c: 'run_clm.py' names the file 'conf/args.yaml', which"},
      {"python run_clm.py --fp16 \"$@\"", hf},
      // The value of an option.
      {"python run_clm.py --seed $(shuf -n 1) --output_dir x --train_file a.json",
       "Hugging Face: none in float32, norm 1"},
  });
}

TEST_CASE("lines that go on as Windows' shells have it") {
  const std::string hf = "Hugging Face: " + torch + ", norm 0.3";
  check_all({
      {"python run_clm.py ^\r\n  --fp16 ^\r\n  --max_grad_norm 0.3\r\n", hf},
      {"python run_clm.py `\n  --fp16 `\n  --max_grad_norm 0.3\n", hf},
  });
  check_all({{"@echo off\r\npython run_clm.py --output_dir x^\r\n --fp16 --max_grad_norm 0.3\r\n", hf}}, "c.bat");
  check_all({{"python run_clm.py --output_dir x %*\r\n", "c.bat: does not say what %* holds, which may"}}, "c.bat");
}

TEST_CASE("who keeps the loss scale by accelerate's options") {
  const std::string zero =
      "Accelerate: deepspeed_dynamic init_scale=4294967296 scale_window=1000 delayed_shift=1 "
      "consecutive_hysteresis=false min_scale=1 in float16";
  check_all({
      {"accelerate launch --use_deepspeed --zero_stage 2 --mixed_precision fp16 --gradient_clipping 0.7 train.py",
       zero + ", norm 0.7", "float32"},
      {"accelerate launch --use_megatron_lm --mixed_precision bf16 train.py", "Accelerate: none in bfloat16, norm 1",
       "float32"},
      {"accelerate launch --use_deepspeed --deepspeed_config_file ds.json --mixed_precision fp16 train.py",
       "c: line 1: --deepspeed_config_file names the file that sets the loss scale"},
      {"accelerate launch --config_file no.yaml --mixed_precision fp16 train.py",
       "c: line 1: --config_file names 'no.yaml', which is not here"},
      {"accelerate launch --config_file no.yaml run_clm.py --fp16",
       "c: line 1: --config_file names 'no.yaml', which is not here"},
      {"accelerate launch --config_file no.yaml run_clm.py --bf16", "Hugging Face: none in bfloat16, norm 1"},
      {"accelerate launch --use_deepspeed run_clm.py --fp16", "c: line 1: --use_deepspeed hands the loss scale to"},
      {"accelerate launch --use_deepspeed sdxl_train.py --mixed_precision fp16",
       "c: line 1: --use_deepspeed hands the loss scale to"},
  });
  const importer read{framework_name::first};
  read.write("a.yaml", "distributed_type: DEEPSPEED\ndeepspeed_config:\n  zero_stage: 2\nmixed_precision: bf16\n");
  CHECK(read("accelerate launch --config_file a.yaml --mixed_precision fp16 train.py") == zero);
  CHECK(read("accelerate launch --config_file a.yaml train.py") == "Accelerate: none in bfloat16");
  CHECK(read("accelerate launch --config_file a.yaml run_clm.py --fp16")
            .starts_with("c: line 1: --config_file hands the loss scale to"));
  read.write("b.yaml", "distributed_type: MULTI_GPU\nmixed_precision: fp16\n");
  CHECK(read("accelerate launch --config_file b.yaml train_text_to_image.py --max_grad_norm 2") ==
        "diffusers: " + torch + ", norm 2");
}

TEST_CASE("axolotl's formats without AMP") {
  check_all({
      {"base_model: a\nsequence_len: 8\nbf16: false\nfloat16: true\n", "Hugging Face: none in float16, norm 1",
       "float16"},
      {"base_model: a\nsequence_len: 8\nfloat16: true\n",
       "c: line 1: bf16 is not given: newer versions of axolotl take auto"},
      {"base_model: a\nsequence_len: 8\n", "c: line 1: bf16 is not given: newer versions of axolotl take auto"},
      {"base_model: a\nsequence_len: 8\nbf16: false\n", "Hugging Face: none in float32, norm 1"},
      {"base_model: a\nsequence_len: 8\nbfloat16: true\n", "Hugging Face: none in bfloat16, norm 1", "bfloat16"},
      {"base_model: a\nsequence_len: 8\nfloat16: true\nfp16: true\n", "Hugging Face: " + torch + ", norm 1"},
      {"base_model: a\nsequence_len: 8\nbf16: false\nfloat16: true\nadapter: lora\n",
       "c: line 4: float16 casts the model"},
  });
}

TEST_CASE("TRL's scripts have defaults of their own") {
  check_all({
      {"python trl/scripts/dpo.py --output_dir x --per_device_train_batch_size 1",
       "c: line 1: bf16 is not given, nor is fp16"},
      {"trl sft --output_dir x --per_device_train_batch_size 1", "c: line 1: bf16 is not given, nor is fp16"},
      {"python trl/scripts/dpo.py --bf16 --per_device_train_batch_size 1", "Hugging Face: none in bfloat16, norm 1"},
  });
}

TEST_CASE("a limit of 0, a fused backward pass, a CPU and a scaler that is off") {
  check_all({
      {"amp: true\nclip_grad: 0.0\nclip_mode: norm\nopt: lamb\n",
       "c: line 2: clip_grad clips every gradient to 0 in timm"},
      {"amp: true\namp_dtype: float16\nclip_mode: norm\ndevice: cpu\n", "c: line 4: device is cpu, where timm has no"},
      {"imgsz: 640\nlr0: 0.01\nmode: train\namp: true\ndevice: cpu\n", "ultralytics: none in float32, norm 10",
       "float32"},
      {"[optimizer]\nlr = 1e-4\n[training]\nmax_norm = 0.0\n[job]\ndump_folder = \"x\"\n[activation_checkpoint]\nmode = \"none\"\n",
       "c: line 4: training.max_norm clips every gradient to 0"},
      {"optim_wrapper = dict(type='AmpOptimWrapper', clip_grad=dict(max_norm=0))\n",
       "c: line 1: optim_wrapper.clip_grad.max_norm clips every gradient to 0"},
      {"optim_wrapper = dict(type='AmpOptimWrapper', dtype='bfloat16', loss_scale=dict(init_scale=1024, growth_interval=100))\n",
       "MMEngine: pytorch_gradscaler init_scale=1024 growth_factor=2 backoff_factor=0.5 growth_interval=100 in bfloat16",
       "float32"},
      {"optim_wrapper = dict(type='AmpOptimWrapper', loss_scale=dict(init_scale=4096., enabled=False))\n",
       "MMEngine: none in float16", "float32"},
      {"accelerate launch sdxl_train.py --pretrained_model_name_or_path=/m/x.safetensors --mixed_precision=bf16 --full_bf16 "
       "--fused_backward_pass --optimizer_type=Adafactor --max_grad_norm=1.0",
       "c: line 1: fused_backward_pass clips each parameter by itself"},
  });
  check_all(
      {{"keras.mixed_precision.set_global_policy('mixed_float16')\nmodel.compile(optimizer='adam', auto_scale_loss=False)\n",
        "Keras: none in float16", "float32"},
       {"keras.mixed_precision.set_global_policy('mixed_float16')\nopt = keras.optimizers.Adam(loss_scale_factor=1024.0)\n",
        "c.py: line 2: loss_scale_factor is a constant loss scale"}},
      "c.py");
}

TEST_CASE("another keeper of the loss scale, and keys that contradict one another") {
  check_all({
      {"trainer:\n  precision: 16\n  amp_backend: apex\n  amp_level: O2\n", "c: line 3: trainer.amp_backend is apex"},
      {"trainer:\n  precision: 32\n  amp_backend: apex\n", "Lightning: none in float32", "float32"},
      {"trainer:\n  precision: 16\n  strategy: colossalai\n",
       "c: line 3: trainer.strategy hands the loss scale to Colossal-AI"},
      {"trainer:\n  precision: 16\n  plugins: deepspeed_stage_2\n", "c: line 3: trainer.plugins holds a strategy"},
      {"trainer:\n  precision: 32-true\n  strategy: {class_path: FSDPStrategy, init_args: {mixed_precision: {param_dtype: "
       "float16}}}\n",
       "c: line 3: trainer.strategy has arguments that decide on precision"},
      {"trainer:\n  precision: 16-mixed\n  strategy: {class_path: FSDPStrategy, init_args: {mixed_precision: null, "
       "cpu_offload: true}}\n",
       "Lightning: " + torch, "float32"},
      {"trainer:\n  precision: 16-mixed\n  callbacks:\n  - class_path: GradientClipper\n    init_args: {max_norm: 0.1}\n",
       "c: line 3: trainer.callbacks holds 'max_norm' on line 5, of a callback"},
      {"trainer:\n  precision: 16-mixed\n  callbacks:\n  - class_path: ModelCheckpoint\n    init_args: {monitor: grad_norm}\n",
       "Lightning: " + torch, "float32"},
      {"optim_wrapper = dict(type='OptimWrapper', clip_grad=dict(clip_value=0.2))\n",
       "c: line 1: optim_wrapper.clip_grad.clip_value needs type='value'"},
      {"optim_wrapper = dict(type='OptimWrapper', clip_grad=dict(type='value', clip_value=0.2))\n",
       "MMEngine: none in float32, value 0.2", "float32"},
      {"actor_rollout_ref:\n  actor:\n    fsdp_config:\n      dtype: float16\n      mixed_precision:\n        param_dtype: bf16\n",
       "c: line 4: actor_rollout_ref.actor.fsdp_config.dtype is another format than mixed_precision.param_dtype"},
      {"fairseq-train data --amp --fp16", "c: line 1: amp and fp16 cannot both be given"},
      {"imgsz: 640\nlr0: 0.01\nmode: val\n", "c: line 3: mode is not train"},
      {"imgsz: 640\nlr0: 0.01\nmode: train\n", "ultralytics: " + torch + ", norm 10", "float32"},
  });
}

TEST_CASE("of Python, what is assigned behind a call counts, and what a comment holds does not") {
  check_all({
      {"import x\nargs = TrainingArguments(output_dir='a', fp16=True)\nargs.max_grad_norm = 0.3\n",
       "Hugging Face: " + torch + ", norm 0.3"},
      {"# args = TrainingArguments(output_dir='a', bf16=True)\nargs = TrainingArguments(output_dir='a', fp16=True)\n",
       "Hugging Face: " + torch + ", norm 1"},
      {"import x\nargs = TrainingArguments(output_dir='a', fp16=True)  # TrainingArguments(bf16=True)\n",
       "Hugging Face: " + torch + ", norm 1"},
  });
}

TEST_CASE("programs whose keys others have, too") {
  const std::string sft =
      "deepspeed --module openrlhf.cli.train_sft --data.max_len 2048 --train.batch_size 256 --ds.zero_stage 2 --adam.lr 5e-6";
  check_all({
      {sft, "OpenRLHF: none in bfloat16, norm 1", "float32"},
      {sft + " --ds.param_dtype bf16 --max_norm 0.5", "OpenRLHF: none in bfloat16, norm 0.5", "float32"},
      {"python3 -m openrlhf.cli.train_ppo_ray --actor.num_nodes 1 --train.batch_size 128 --ds.param_dtype bf16 --actor.max_norm 0.3",
       "OpenRLHF: none in bfloat16, norm 0.3", "float32"},
      {"swift sft --model Qwen/Qwen2.5-7B --torch_dtype bfloat16 --learning_rate 1e-4 --deepspeed zero2",
       "ms-swift: none in bfloat16, norm 1"},
      {"swift sft --model Qwen/Qwen2.5-7B --torch_dtype float16 --max_grad_norm 0.5",
       "ms-swift: " + torch + ", norm 0.5"},
      {"swift sft --model Qwen/Qwen2.5-7B --learning_rate 1e-4", "c: line 1: torch_dtype is not given"},
      {"torchrun -m verl.trainer.fsdp_sft_trainer data.train_files=a.parquet optim.lr=1e-4 model.partial_pretrain=Qwen/Qwen2.5",
       "verl SFT: none in bfloat16, norm 1", "float32"},
      {"train:\n  train_iters: 100\n  global_batch_size: 128\n  micro_batch_size: 2\nmodel:\n  tensor_model_parallel_size: 1\n",
       "c: line 1: mixed_precision is not given: it is then that of the recipe"},
      {"mixed_precision: fp16_mixed\ntrain:\n  train_iters: 100\n  global_batch_size: 128\nmodel:\n  tensor_model_parallel_size: 1\n",
       "Megatron Bridge: megatron_dynamic initial_scale=4294967296 min_scale=1 growth_interval=1000 hysteresis=2 in float16, norm 1",
       "float32"},
      {"trainer:\n  precision: bf16\n  gradient_clip_val: 1.0\nmodel:\n  tensor_model_parallel_size: 1\n"
       "  make_vocab_size_divisible_by: 128\n  native_amp_init_scale: 4294967296\n",
       "NeMo: none in bfloat16, norm 1", "float32"},
      {"type: transformer\nmini-batch-fit: true\nclip-norm: 5\n", "Marian: none in float32, norm 5", "float32"},
      {"type: transformer\nmini-batch-fit: true\nfp16: true\n", "c: line 3: fp16 scales by Marian's own rule"},
      {"#!/bin/bash\nMARIAN=../build\n$MARIAN/marian --type amun --model m.npz --early-stopping 5\n"
       "cat in | $MARIAN/marian-decoder -c m.npz.decoder.yml -b 12 > out\ncat out | sacrebleu data/ref.en\n",
       "Marian: none in float32, norm 1", "float32"},
      {"[job]\ndump_folder = './o'\n[model]\nconverters = ['float8']\n[training]\nlocal_batch_size = 1\nseq_len = 8192\n"
       "[float8]\nenable_fsdp_float8_all_gather = true\nprecompute_float8_dynamic_scale_for_fsdp = true\n",
       "torchtitan: none in bfloat16, norm 1", "float32"},
  });
}
