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
