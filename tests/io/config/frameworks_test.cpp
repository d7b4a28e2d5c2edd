// Hugging Face, GPT-NeoX, fairseq, verl, torchtitan, NeMo and Cerebras's older files: what a file means, worked out by hand
// from the frameworks' sources, or the error; and what becomes of keys that are not known.
#include <string>
#include <vector>

#include <ulp/formats/catalog.hpp>
#include <ulp/model/machines/scaler.hpp>

#include "importer.hpp"
#include "support/catch.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

struct row {
  std::string text;
  std::string expected;
};

void check_all(const std::vector<row>& rows) {
  const importer read{framework_name::first};
  for (const auto& [text, expected] : rows) {
    CAPTURE(text);
    CHECK(read(text) == expected);
  }
}

const std::string by_accelerate =
    "Hugging Face: pytorch_gradscaler init_scale=65536 growth_factor=2 backoff_factor=0.5 growth_interval=2000 in "
    "float16";
const std::string zero_defaults =
    "scale_window=1000 delayed_shift=2 consecutive_hysteresis=false min_scale=1 in float16";

}  // namespace

TEST_CASE("Hugging Face's TrainingArguments") {
  check_all({
      {R"({"output_dir": "x", "per_device_train_batch_size": 8, "fp16": true, "max_grad_norm": 0.5})",
       by_accelerate + ", norm 0.5"},
      {"per_device_train_batch_size: 8\nlearning_rate: 1e-4\nfp16: true\nmax_grad_norm: 0\n", by_accelerate},
      {"per_device_train_batch_size: 8\nbf16: true\nfp16: false\n", "Hugging Face: none in bfloat16, norm 1"},
      {"per_device_train_batch_size: 8\nnum_train_epochs: 3\npure_bf16: true\n",
       "Hugging Face: none in bfloat16, norm 1"},
      {"per_device_train_batch_size: 8\nnum_train_epochs: 3\n", "Hugging Face: none in float32, norm 1"},
      {"python run_glue.py --fp16 True --max_grad_norm 2.0 --output_dir x --per_device_train_batch_size 4",
       by_accelerate + ", norm 2"},
      {"torchrun --nproc_per_node 8 run_clm.py --bf16 --output_dir x --per_device_train_batch_size=4 --learning_rate 1",
       "Hugging Face: none in bfloat16, norm 1"},

      {"per_device_train_batch_size: 8\nfp16: true\nbf16: true\n", "c: line 3: bf16 and fp16 cannot both be true"},
      {"per_device_train_batch_size: 8\nfp16: true\nfp16_backend: apex\n",
       "c: line 3: fp16_backend is apex, whose loss scale is another one; replay that by --scaler apex_amp"},
      {"per_device_train_batch_size: 8\nfp16: true\nmax_grad_nrom: 2\n",
       "c: line 3: 'max_grad_nrom' is not a known Hugging Face key, and nearly 'max_grad_norm'; correct it or remove "
       "it"},
      {"per_device_train_batch_size: 8\nfp16: true\ndeepspeed: nosuch.json\n",
       "c: line 3: deepspeed hands the loss scale to DeepSpeed, and there is no such file here; give it by --config "
       "with "
       "--format float16"},
      {"per_device_train_batch_size: 8\nbf16: true\ndeepspeed: nosuch.json\n",
       "Hugging Face: none in bfloat16, norm 1"},
      {"python run_glue.py --fp16 True --output_dir x --max_grad_norm $NORM",
       "c: line 1: max_grad_norm is '$NORM', whose value this file does not say; write it"},
  });
  const importer read{framework_name::first};
  read.write("ds.json", R"({"fp16": {"enabled": "auto", "initial_scale_power": 10}, "bf16": {"enabled": "auto"},
                           "gradient_clipping": "auto", "zero_optimization": {"stage": 2}})");
  CHECK(read("per_device_train_batch_size: 8\nfp16: true\nmax_grad_norm: 0.3\ndeepspeed: ds.json\n") ==
        "Hugging Face: deepspeed_dynamic init_scale=1024 " + zero_defaults + ", norm 0.3");
  CHECK(read("per_device_train_batch_size: 8\nfp16: true\nmax_grad_norm: 0\ndeepspeed: ds.json\n") ==
        "Hugging Face: deepspeed_dynamic init_scale=1024 " + zero_defaults);
  CHECK(read("per_device_train_batch_size: 8\nbf16: true\ndeepspeed: ds.json\n") ==
        "Hugging Face: none in bfloat16, norm 1");
  CHECK(read("per_device_train_batch_size: 8\nlearning_rate: 1\ndeepspeed: ds.json\n") ==
        "Hugging Face: none in float32, norm 1");
  CHECK(read("python t.py --deepspeed ds.json --fp16 --output_dir x --max_grad_norm 2") ==
        "Hugging Face: deepspeed_dynamic init_scale=1024 " + zero_defaults + ", norm 2");
}

TEST_CASE("a program that Accelerate launches") {
  const importer read{framework_name::first};
  CHECK(read("accelerate launch --mixed_precision fp16 --num_processes 2 train.py --use_ema")
            .starts_with("Accelerate: pytorch_gradscaler "));
  // What the program makes of an argument of its own is not known.
  CHECK(read("accelerate launch --mixed_precision fp16 --num_processes 2 train.py --max_grad_norm=1 --use_ema")
            .starts_with("c: line 1: max_grad_norm is not known in a configuration of Accelerate, and may change that "
                         "nothing is clipped; "));
  CHECK(read("accelerate launch train.py --mixed_precision=\"bf16\" --use_ema") == "Accelerate: none in bfloat16");
}

TEST_CASE("a script whose arguments are in another file names it") {
  const importer read{framework_name::first};
  CHECK(read("accelerate launch --config_file a.yaml train.py --foo 1") ==
        "c: starts 'train.py' with no argument of a framework that is read; give the file that it names: 'a.yaml'");
  CHECK(read("llamafactory-cli train b.yaml") ==
        "c: starts no Python program, and has no argument of a framework that is read; give the file that it names: "
        "'b.yaml'");
}

TEST_CASE("GPT-NeoX") {
  const std::string shape = "\"num-layers\": 2, \"hidden-size\": 8, \"train-iters\": 1";
  check_all({
      {"# a\n{" + shape + ", \"fp16\": {\"fp16\": true, \"enabled\": true, \"loss_scale\": 0, \"hysteresis\": 2},\n}",
       "GPT-NeoX: deepspeed_fused_nonzero cur_scale=65536 scale_window=1000 min_loss_scale=1 in float16, norm 1"},
      // `precision` alone fills in a section without any key of the loss scale: the defaults of the class.
      {"{" + shape + R"(, "precision": "fp16", "zero_optimization": {"stage": 1}, "gradient_clipping": 0.5})",
       "GPT-NeoX: deepspeed_dynamic init_scale=4294967296 scale_window=1000 delayed_shift=1 "
       "consecutive_hysteresis=false min_scale=1 in float16, norm 0.5"},
      {"{" + shape + R"(, "fp16": {"enabled": true, "initial-scale-power": 8}, "zero-optimization": {"stage": 1}})",
       "GPT-NeoX: deepspeed_dynamic init_scale=256 " + zero_defaults + ", norm 1"},
      {"{" + shape + R"(, "fp16": {"enabled": true, "loss_scale": 64}, "gradient_clipping": 0})",
       "GPT-NeoX: static loss_scale=64 in float16"},
      {"{" + shape + R"(, "precision": "bfloat16"})", "GPT-NeoX: none in bfloat16, norm 1"},
      {"{" + shape + "}", "GPT-NeoX: none in float32, norm 1"},
      {"{" + shape + R"(, "precision": "bfloat16", "fp16": {"enabled": true}})",
       "c: line 1: precision is bfloat16 and fp16.enabled is true, which GPT-NeoX refuses; change one of them"},
      // In older versions the section's type.
      {"{" + shape + R"(, "fp16": {"enabled": true, "type": "bfloat16", "loss_scale": 0}, "gradient_clipping": 0.5})",
       "GPT-NeoX: none in bfloat16, norm 0.5"},
      {"{" + shape + R"(, "fp16": {"enabled": true, "type": "fp16", "loss_scale": 64}, "gradient_clipping": 0})",
       "GPT-NeoX: static loss_scale=64 in float16"},
      {"{" + shape + R"(, "fp16": {"enabled": true, "type": "float8"}})",
       "c: line 1: fp16 has the type 'float8', and GPT-NeoX knows fp16 and bfloat16; correct it"},
      {"{" + shape + R"(, "precision": "fp16", "fp16": {"enabled": true, "type": "bfloat16"}})",
       "c: line 1: precision is fp16 and fp16.type is bfloat16; remove one of them"},
      {"{" + shape + R"(, "fp16": {"enabled": true, "inital_scale_power": 8}})",
       "c: line 1: 'inital_scale_power' is not a known GPT-NeoX key of 'fp16', and nearly 'initial_scale_power'; "
       "correct "
       "it or remove it"},
  });
}

TEST_CASE("fairseq") {
  const std::string rest = " --arch a --task t --criterion c --max-tokens 8 ";
  check_all({
      {"fairseq-train data --fp16 --fp16-init-scale 4 --fp16-scale-window 128 --fp16-scale-tolerance 0.25 "
       "--threshold-loss-scale 1 --min-loss-scale 0.001 --clip-norm 0.1" +
           rest,
       "fairseq: fairseq_cli init_scale=4 scale_window=128 tolerance=0.25 threshold=1 min_loss_scale=0.001 in float16, "
       "norm 0.1"},
      {"fairseq-train data --memory-efficient-fp16 --distributed-world-size 8 --update-freq 4" + rest,
       "fairseq: fairseq_cli init_scale=128 scale_window=512 in float16"},
      {"python train.py data --bf16" + rest, "fairseq: none in bfloat16"},
      // Behind a flag is what stands by itself.
      {"fairseq-train --memory-efficient-fp16 data-bin/wikitext --distributed-world-size 8 --update-freq 4" + rest,
       "fairseq: fairseq_cli init_scale=128 scale_window=512 in float16"},
      {"fairseq-train --bf16 $DATA" + rest, "fairseq: none in bfloat16"},
      {"fairseq-train --fp16 bfloat16" + rest, "c: line 1: fp16 takes true or false, not 'bfloat16'"},
      {"fairseq-train data --amp" + rest, "fairseq: pytorch_gradscaler init_scale=128 growth_interval=2000 in float16"},
      {"fairseq-train data --amp --fp16-init-scale 64 --amp-init-scale 256" + rest,
       "fairseq: pytorch_gradscaler init_scale=64 growth_interval=2000 in float16"},
      {"fairseq-train data --amp --amp-scale-window 500 --amp-init-scale 1024" + rest,
       "fairseq: pytorch_gradscaler init_scale=128 growth_interval=1024 in float16"},
      {"fairseq-hydra-train common.fp16=true common.fp16_init_scale=8 common.fp16_scale_window=64 task.data=x "
       "optimization.clip_norm=2",
       "fairseq: fairseq_cli init_scale=8 scale_window=64 in float16, norm 2"},
      {"fairseq-train data --fp16 --update-freq 4,8" + rest,
       "c: line 1: update_freq has several values, for which fairseq wants fp16_scale_window to be given"},
      {"fairseq-train data --fp16 --fp16-scale-windw 8" + rest,
       "c: line 1: 'fp16_scale_windw' is not a known fairseq key, and nearly 'fp16_scale_window'; correct it or remove "
       "it"},
      {"W=7\nfairseq-train data --fp16 --fp16-scale-window $W" + rest,
       "fairseq: fairseq_cli init_scale=128 scale_window=7 in float16"},
  });
}

TEST_CASE("verl and torchtitan") {
  check_all({
      {"actor_rollout_ref:\n  actor:\n    grad_clip: 0.5\n    fsdp_config:\n      dtype: float16\n",
       "verl: pytorch_gradscaler init_scale=65536 growth_factor=2 backoff_factor=0.5 growth_interval=400 in float16, "
       "norm 0.5"},
      {"python3 -m verl.trainer.main_ppo actor_rollout_ref.actor.fsdp_config.dtype=fp16",
       "verl: pytorch_gradscaler init_scale=65536 growth_factor=2 backoff_factor=0.5 growth_interval=400 in float16, "
       "norm 1"},
      {"actor_rollout_ref:\n  actor:\n    strategy: megatron\n",
       "c: line 3: actor_rollout_ref.actor.strategy is megatron, whose loss scale is set elsewhere; replay Megatron's "
       "by "
       "--scaler megatron_dynamic"},
      {"[job]\nx = 1\n[training]\nmixed_precision_param = \"float32\"\nmax_norm = 0.5\n",
       "torchtitan: none in float32, norm 0.5"},
      {"# a\n\n[training] # b\nmixed_precision_param = \"float16\"\n[job]\n",
       "c: line 4: training.mixed_precision_param is a value that torchtitan is not known to take here: 'float16'"},
      {"[job]\n[training]\nmax_norm = 1\nmax_norm = 2\n",
       "c: line 4: the key 'max_norm' is given twice, first on line 3"},
      {"[job]\n[training]\nmax_norm 1\n", "c: line 3: is not TOML: = is missing"},
      {"[job]\nx = \"\"\"\n[training]\n",
       "c: line 2: has a string of several lines, which is not read here; leave it out"},
      {"[training]\nlocal_batch_size = 8\nseq_len = 9\nmixed_precision_param = \"float32\"\nx = {a = [1, 2], \"b\" : {c.d = 1}}\n",
       "torchtitan: none in float32, norm 1"},
      {"[job]\nx = {a = 1, a = 2}\n", "c: line 2: the key 'a' is given twice"},
      {"[job]\nx = {a = 1\n", "c: line 3: is not TOML: a table does not end"},
  });
}

TEST_CASE("NeMo") {
  const std::string model = "model:\n  tensor_model_parallel_size: 2\n";
  check_all({
      {"trainer:\n  precision: 16\n" + model + "  native_amp_init_scale: 65536\n  hysteresis: 2\n",
       "NeMo: nemo_megatron init_scale=65536 hysteresis=2 in float16"},
      {"trainer:\n  precision: bf16\n  gradient_clip_val: 1.0\n" + model, "NeMo: none in bfloat16, norm 1"},
      {"trainer:\n  precision: 16\n" + model + "  native_amp_init_scal: 65536\n",
       "c: line 5: 'native_amp_init_scal' is not a known NeMo key of 'model', and nearly 'native_amp_init_scale'; "
       "correct "
       "it or remove it"},
  });
}

TEST_CASE("Cerebras's files of before the Trainer") {
  const std::string tf = "runconfig:\n  save_summary_steps: 1\n";
  const std::string torch = "runconfig:\n  checkpoint_steps: 1\n";
  const std::string mixed = "model:\n  mixed_precision: True\n";
  const std::string dynamic =
      "optimizer:\n  loss_scaling_factor: dynamic\n  initial_loss_scale: 1024\n  steps_per_increase: 100\n";
  check_all({
      {tf + mixed + dynamic + "  overflow_tolerance: 0.1\n  max_gradient_value: 0.5\n",
       "Cerebras: cerebras_tf_legacy initial_loss_scale=1024 increment_period=100 overflow_tolerance=0.1 in float16, "
       "value 0.5"},
      {tf + mixed + "optimizer:\n  loss_scaling_factor: tf_dynamic\n", "Cerebras: cerebras_tf_legacy in float16"},
      {tf + mixed + "optimizer:\n  loss_scaling_factor: 128.0\n  max_gradient_norm: 2\n",
       "Cerebras: static loss_scale=128 skip_on_overflow=false in float16, norm 2"},
      {tf + mixed + "optimizer:\n  loss_scaling_factor: 1.0\n", "Cerebras: none in float16"},
      {torch + mixed + dynamic,
       "Cerebras: cerebras_dls fp16_type=float16 init_scale=1024 steps_per_increase=100 in float16"},
      {torch + mixed + "  fp16_type: cbfloat16\n" + dynamic,
       "Cerebras: cerebras_dls fp16_type=cbfloat16 init_scale=1024 steps_per_increase=100 in cbfloat16"},
      {torch + mixed + "  use_bfloat16: True\n" + dynamic, "Cerebras: none in bfloat16"},
      {torch + mixed + "optimizer:\n  loss_scaling_factor: tf_dynamic\n",
       "c: line 6: optimizer.loss_scaling_factor must be a number or 'dynamic'"},
      {tf + mixed + "optimizer:\n  inital_loss_scale: 8\n",
       "c: line 6: 'inital_loss_scale' is not a known Cerebras key of 'optimizer', and nearly 'initial_loss_scale'; "
       "correct it or remove it"},
  });
}

TEST_CASE("keys that are not known are a note, and one of their own where they may matter") {
  const importer read{framework_name::first};
  (void)read(R"({"fp16": {"enabled": true, "hysteresis": 2, "new_key": 1}, "new_at_top": {"a": {"b": 1}},
                 "half_the_time": 1, "loss_scaling_policy": "x", "zero_optimization": {"stage": 1}})");
  const std::vector<std::string> expected{
      "may bear on precision, but not known here, and left out: half_the_time, loss_scaling_policy",
      "not known here, and left out: new_at_top, fp16.new_key"};
  CHECK(read.last().notes == expected);
}

TEST_CASE("fp16: true is not without meaning") {
  const importer read{framework_name::first};
  const auto all = [&] {
    std::string text;
    for (const std::string& line : read.last().meanings) text += line + "\n";
    return text;
  };
  CHECK(read("distributed_type: MULTI_GPU\nfp16: true\nnum_processes: 2\n")
            .starts_with("Accelerate: pytorch_gradscaler"));
  CHECK(all().find("fp16 = true -> the old name of mixed_precision: fp16\n") != std::string::npos);
  (void)read("distributed_type: MULTI_GPU\nfp16: true\nmixed_precision: fp16\nnum_processes: 2\n");
  CHECK(all().find("fp16 = true -> nothing beside mixed_precision") != std::string::npos);
  (void)read("per_device_train_batch_size: 8\nfp16: true\nlearning_rate: 1\n");
  CHECK(all().find("fp16 = true -> autocast to float16, the loss is scaled\n") != std::string::npos);
}

TEST_CASE("Lightning's 16-mixed on a TPU is bfloat16") {
  const importer read{framework_name::first};
  CHECK(read("trainer:\n  precision: 16-mixed\n  accelerator: tpu\n  gradient_clip_val: 1\n") ==
        "Lightning: none in bfloat16, norm 1");
  REQUIRE(read.last().notes.size() == 1);
  CHECK(read.last().notes.front().starts_with("on TPUs 16-mixed is bfloat16 without a scaler"));
  CHECK(read("trainer:\n  precision: 16\n  tpu_cores: 8\n") == "Lightning: none in bfloat16");
}
