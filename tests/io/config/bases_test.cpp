// Configurations that change others, and command lines that name a file of settings. Merged by the rules of detectron2
// (config/config.py), mmengine (config/config.py), mindyolo (utils/config.py).
#include <string>

#include "importer.hpp"
#include "support/catch.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

const std::string torch =
    "pytorch_gradscaler init_scale=65536 growth_factor=2 backoff_factor=0.5 growth_interval=2000 in float16";

}  // namespace

TEST_CASE("a file builds on those that it names") {
  const importer read;
  read.write("Base.yaml",
             "SOLVER:\n  AMP: {ENABLED: True}\n  CLIP_GRADIENTS: {ENABLED: True, CLIP_TYPE: full_model}\n");
  read.write("Middle.yaml", "_BASE_: Base.yaml\nSOLVER:\n  CLIP_GRADIENTS: {CLIP_VALUE: 0.4}\n");
  const std::string own = "SOLVER:\n  IMS_PER_BATCH: 8\n";
  CHECK(read("_BASE_: Base.yaml\n" + own) == torch + ", norm 1");
  CHECK(read("_BASE_: Middle.yaml\n" + own) == torch + ", norm 0.4");
  CHECK(read("_BASE_: Middle.yaml\n" + own + "  AMP: {ENABLED: False}\n") == "none in float32, norm 0.4");
  CHECK(
      read("_BASE_: Other.yaml\n" + own) ==
      "c: line 1: builds on 'Other.yaml', which is not here and may say what SOLVER.AMP.ENABLED is; put it beside this "
      "file, or write SOLVER.AMP.ENABLED");
  read.write("Circle.yaml", "_BASE_: Circle.yaml\n");
  CHECK(read("_BASE_: Circle.yaml\n" + own).find("which is based on itself") != std::string::npos);

  // Of several the last counts; `_delete_` keeps what is below out.
  read.write("a.yaml", "ms_amp_level: O2\nms_loss_scaler: static\nms_loss_scaler_value: 512\nclip_grad: False\n");
  read.write("b.yaml", "ms_loss_scaler: dynamic\noverflow_still_update: False\n");
  CHECK(read("__BASE__: ['a.yaml', 'b.yaml']\nms_loss_scaler_value: 64.\n") ==
        "mindspore_amp_scaler scale_value=64 scale_factor=2 scale_window=2000 in float16");
  read.write("base.py", "optim_wrapper = dict(type='AmpOptimWrapper', loss_scale=128., clip_grad=dict(max_norm=35))\n");
  CHECK(read("_base_ = ['./base.py']\noptim_wrapper = dict(clip_grad=dict(max_norm=1))\n", "c.py") ==
        "static loss_scale=128 in float16, norm 1");
  CHECK(read("_base_ = ['./base.py']\noptim_wrapper = dict(_delete_=True, type='OptimWrapper')\n", "c.py") ==
        "none in float32");
}

TEST_CASE("a command line builds on the file that it names") {
  const importer read;
  read.write("d2.yaml", "SOLVER:\n  IMS_PER_BATCH: 8\n  AMP: {ENABLED: True}\n");
  CHECK(read("./train_net.py --config-file d2.yaml SOLVER.AMP.ENABLED False SOLVER.BASE_LR 0.1", "c.sh") ==
        "none in float32");
  CHECK(read("./train_net.py --config-file d2.yaml SOLVER.IMS_PER_BATCH 4", "c.sh") == torch);
  CHECK(
      read("./train_net.py --config-file other.yaml SOLVER.AMP.ENABLED False", "c.sh") ==
      "c.sh: line 1: builds on 'other.yaml', which is not here and may say what SOLVER.CLIP_GRADIENTS.ENABLED is; put it "
      "beside this file, or write SOLVER.CLIP_GRADIENTS.ENABLED");

  read.write("ppyoloe.yml",
             "architecture: YOLOv3\nsnapshot_epoch: 5\ninit_loss_scaling: 32752\n"
             "OptimizerBuilder: {clip_grad_by_norm: 35}\n");
  const std::string paddle = "python -m paddle.distributed.launch --gpus 0,1 tools/train.py -c ";
  CHECK(read(paddle + "ppyoloe.yml --eval --amp", "c.sh") ==
        "paddle_dygraph init_loss_scaling=32752 incr_every_n_steps=2000 decr_every_n_nan_or_inf=1 in float16, norm 35");
  CHECK(read(paddle + "ppyoloe.yml --eval", "c.sh") == "none in float32, norm 35");
  CHECK(read(paddle + "other.yml --eval --amp", "c.sh").find("builds on 'other.yml'") != std::string::npos);

  read.write("train_gpt2.py", "block_size = 1024\nmax_iters = 600000\ngrad_clip = 0.5\n");
  CHECK(read("python train.py train_gpt2.py --dtype=float16 --block_size=64 --max_iters=10", "c.sh") ==
        torch + ", norm 0.5");
  // The file says whose it is.
  CHECK(read("python train.py train_gpt2.py --dtype=float16", "c.sh") == torch + ", norm 0.5");
  CHECK(read("./train_net.py --config-file d2.yaml --num-gpus 8 SOLVER.BASE_LR 0.1", "c.sh") == torch);
  read.write("hparams.yaml", "number_of_epochs: 2\nepoch_counter: 1\nprecision: fp16\n");
  CHECK(read("python train.py hparams.yaml --precision=bf16 --max_grad_norm=2", "c.sh") == "none in bfloat16, norm 2");
  // Not where the program takes no such file.
  read.write("args.yaml", "per_device_train_batch_size: 2\noutput_dir: o\nfp16: true\n");
  CHECK(read("python train.py args.yaml", "c.sh").find("give the file that it names: 'args.yaml'") !=
        std::string::npos);
}

TEST_CASE("files of settings that a command names are read") {
  const importer read{framework_name::first};
  read.write("swin.yaml", "MODEL: {SWIN: {EMBED_DIM: 96}}\nAMP_ENABLE: False\n");
  const std::string swin = "python -m torch.distributed.launch main.py --cfg ";
  CHECK(read(swin + "swin.yaml --opts TRAIN.CLIP_GRAD 1.0", "c.sh") == "Swin Transformer: none in float32, norm 1");
  CHECK(read(swin + "swin.yaml", "c.sh") == "Swin Transformer: none in float32, norm 5");
  CHECK(read(swin + "no.yaml --opts TRAIN.CLIP_GRAD 1.0", "c.sh").find("builds on 'no.yaml'") != std::string::npos);

  read.write("lit.yaml", "trainer: {precision: bf16-mixed, gradient_clip_val: 0.5, max_epochs: 3}\n");
  CHECK(read("python main.py fit --config lit.yaml --trainer.gradient_clip_val 0.1", "c.sh") ==
        "Lightning: none in bfloat16, norm 0.1");
  read.write("asr.yaml", "use_amp: true\nbatch_bins: 100\naccum_grad: 4\n");
  CHECK(read("python -m espnet2.bin.asr_train --config asr.yaml --grad_clip 1.5", "c.sh") ==
        "ESPnet: " + torch + ", norm 1.5");
  read.write("ocr.yml", "Global: {use_amp: True, scale_loss: 512.0, use_dynamic_loss_scaling: True, epoch_num: 5}\n");
  CHECK(read("python3 tools/train.py -c ocr.yml -o Global.scale_loss=1024", "c.sh")
            .starts_with("PaddleOCR: paddle_dygraph init_loss_scaling=1024"));
  read.write("mpt.yaml",
             "precision: amp_fp16\ndevice_train_microbatch_size: 4\nalgorithms:\n  gradient_clipping: {clipping_type: "
             "value, clipping_threshold: 1.0}\n");
  CHECK(read("composer train/train.py mpt.yaml precision=amp_bf16", "c.sh") ==
        "LLM Foundry: none in bfloat16, value 1");
  read.write("w2v.yaml",
             "common: {fp16: true, fp16_init_scale: 4, fp16_scale_window: 8}\noptimization: {clip_norm: 2}\n");
  CHECK(read("fairseq-hydra-train task.data=d +optimization.update_freq='[8]' --config-dir . --config-name w2v",
             "c.sh") == "fairseq: fairseq_cli init_scale=4 scale_window=8 in float16, norm 2");
  read.write("titan.toml", "[training]\nmixed_precision_param = \"float32\"\nmax_norm = 0.25\n");
  const std::string titan = "--training.mixed_precision_param bfloat16";
  CHECK(read("CONFIG_FILE=titan.toml ./run_train.sh " + titan, "c.sh") == "torchtitan: none in bfloat16, norm 0.25");
  CHECK(read("torchrun -m torchtitan.train --job.config_file titan.toml " + titan, "c.sh") ==
        "torchtitan: none in bfloat16, norm 0.25");
  CHECK(read("CONFIG_FILE=no.toml ./run_train.sh " + titan, "c.sh").find("builds on 'no.toml'") != std::string::npos);
  read.write("yolo.yaml", "amp: false\nlr0: 0.1\n");
  CHECK(read("yolo detect train cfg=yolo.yaml data=coco8.yaml", "c.sh") == "ultralytics: none in float32, norm 10");
}

TEST_CASE("no answer where the file of settings that a command names was not read") {
  const importer read;
  const auto refuses = [&](const std::string& text, const std::string& what, const std::string& framework = "") {
    CAPTURE(text);
    CHECK(read(text, "c.sh", {}, framework).starts_with("c.sh: line 1: " + what + ", which decides and was not read"));
  };
  const std::string hydra = "fairseq-hydra-train task.data=d common.fp16=true --config-dir a/b --config-name c";
  refuses(hydra, "--config-name names the file 'a/b/c.yaml'");
  refuses(hydra, "--config-name names the file 'a/b/c.yaml'", "fairseq");
  refuses("python main.py fit --config lit.yaml --trainer.precision 16", "--config names the file 'lit.yaml'",
          "Lightning");
  refuses("python main.py fit --trainer=t.yaml --trainer.precision 16 --trainer.max_epochs 5",
          "--trainer names the file 't.yaml'", "Lightning");
  refuses("python train.py --cfg=a.yaml --fp16 --per_device_train_batch_size 2", "--cfg names the file 'a.yaml'");
  refuses("accelerate launch --mixed_precision fp16 train.py --config a.yaml", "--config names the file 'a.yaml'");
  CHECK(read("python run_clm.py args.json --fp16 --output_dir o", "c.sh")
            .starts_with("c.sh: 'run_clm.py' names the file 'args.json', which decides"));
  CHECK(read("python main.py fit --config lit.yaml --trainer.precision 16", "c.sh").find("'lit.yaml'") !=
        std::string::npos);
  refuses("python x.py -cn a trainer.precision=16 trainer.max_epochs=2", "--config_name names the file 'a'", "NeMo 2");
  refuses("python basicsr/train.py -opt o.yml --fp16 --per_device_train_batch_size 1", "--opt names the file 'o.yml'");
  // What says nothing of the training.
  CHECK(read("fairseq-train data --bf16 --config-yaml config.yaml", "c.sh") == "none in bfloat16");
  CHECK(read("python run_clm.py --config_name gpt2/config.json --train_file a.json --fp16", "c.sh") ==
        torch + ", norm 1");
}
