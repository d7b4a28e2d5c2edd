// Configurations of every framework and what they mean for a replay: scaler, parameters, format, clipping; or the error.
#include <algorithm>
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

void check_all(const std::string& framework, const std::vector<row>& rows) {
  const importer read;
  for (const auto& [text, expected] : rows) {
    CAPTURE(text);
    // Arguments alone may be of many programs.
    CHECK(read(text, "c", {}, text.starts_with("--") ? framework : "") == expected);
    const bool is_error = expected.starts_with("c: ");
    if (is_error) continue;
    CHECK(read.last().framework == framework);
    CHECK_FALSE(read.last().meanings.empty());
    // What is imported can be replayed.
    const scaler_entry* const entry = find_scaler(read.last().scaler);
    REQUIRE(entry != nullptr);
    CHECK_NOTHROW(make_scaler(*entry, read.last().parameters));
  }
}

std::string trainer(const std::string& precision, const std::string& init = "") {
  return "trainer:\n  init:\n    model_dir: ./model\n" + init + "    precision:\n" + precision;
}
const std::string on_gpu = "    backend:\n      backend_type: GPU\n";

}  // namespace

TEST_CASE("DeepSpeed") {
  const std::string json_defaults =
      "scale_window=1000 delayed_shift=2 consecutive_hysteresis=false min_scale=1 in float16";
  check_all(
      "DeepSpeed",
      {
          // No key of the loss scale: the class's own defaults.
          {R"({"fp16": {"enabled": true}, "zero_optimization": {"stage": 2}})",
           "deepspeed_dynamic init_scale=4294967296 scale_window=1000 delayed_shift=1 consecutive_hysteresis=false "
           "min_scale=1 in float16"},
          // loss_scale is not one of the keys that DeepSpeed looks for.
          {R"({"fp16": {"enabled": true, "loss_scale": 0}, "zero_optimization": {"stage": 1}})",
           "deepspeed_dynamic init_scale=4294967296 scale_window=1000 delayed_shift=1 consecutive_hysteresis=false "
           "min_scale=1 in float16"},
          // Any one of them: the documented defaults for the others.
          {R"({"fp16": {"enabled": true, "loss_scale_window": 1000}, "zero_optimization": {"stage": 3}})",
           "deepspeed_dynamic init_scale=65536 " + json_defaults},
          {R"({"fp16": {"enabled": true, "hysteresis": 2}, "zero_optimization": {"stage": 3}})",
           "deepspeed_dynamic init_scale=65536 " + json_defaults},
          {R"({"fp16": {"enabled": true, "min_loss_scale": 1}, "zero_optimization": {"stage": 3}})",
           "deepspeed_dynamic init_scale=65536 " + json_defaults},
          {R"({"fp16": {"enabled": true, "consecutive_hysteresis": false}, "zero_optimization": {"stage": 3}})",
           "deepspeed_dynamic init_scale=65536 " + json_defaults},
          {R"({"fp16": {"enabled": true, "initial_scale_power": 12, "loss_scale_window": 500, "hysteresis": 4,
               "consecutive_hysteresis": true, "min_loss_scale": 0.5}, "gradient_clipping": 0.5,
               "zero_optimization": {"stage": 2, "overlap_comm": true}, "train_batch_size": 8})",
           "deepspeed_dynamic init_scale=4096 scale_window=500 delayed_shift=4 consecutive_hysteresis=true "
           "min_scale=0.5 "
           "in float16, norm 0.5"},
          {R"({"fp16": {"enabled": true, "loss_scale": 128, "loss_scale_window": 5}, "gradient_clipping": 0})",
           "static loss_scale=128 in float16"},
          // Without ZeRO: the wrapper's own rules, which have no hysteresis.
          {R"({"fp16": {"enabled": true, "hysteresis": 4}, "optimizer": {"type": "Adam", "params": {"lr": 1e-3}}})",
           "deepspeed_fused_nonzero cur_scale=65536 scale_window=1000 min_loss_scale=1 in float16"},
          {R"({"fp16": {"enabled": true}, "zero_optimization": {"stage": 0}})",
           "deepspeed_fused_nonzero cur_scale=65536 scale_window=1000 min_loss_scale=1 in float16"},
          {R"({"fp16": {"enabled": true}, "optimizer": {"type": "Lamb"}})",
           "deepspeed_unfused cur_scale=65536 scale_window=1000 min_loss_scale=0.25 in float16"},
          {R"({"fp16": {"enabled": true, "initial_scale_power": 10},
               "optimizer": {"type": "AdamW", "params": {"torch_adam": true}}})",
           "deepspeed_unfused cur_scale=1024 scale_window=1000 min_loss_scale=1 in float16"},
          {R"({"bf16": {"enabled": true}, "fp16": {"enabled": false}, "gradient_clipping": 1.0})",
           "none in bfloat16, norm 1"},
          {R"({"bf16": {"enabled": true, "check_grad_overflow": true}})", "static loss_scale=1 in bfloat16"},
          // enabled is false where it is not given.
          {R"({"fp16": {"loss_scale": 0}, "train_batch_size": 8})", "none in float32"},
          {"// as hjson\n{\"steps_per_print\": 8 /* */}", "none in float32"},

          {"{\n\"fp16\": {\n\"enabled\": true,\n\"loss_scale_windw\": 500}}",
           "c: line 4: 'loss_scale_windw' is not a known DeepSpeed key of 'fp16', and nearly 'loss_scale_window'; "
           "correct it or remove it"},
          {"{\"fp16\": {\"enabled\": true},\n\"gradient_cliping\": 1}",
           "c: line 2: 'gradient_cliping' is not a known DeepSpeed key, and nearly 'gradient_clipping'; correct it or "
           "remove it"},
          {R"({"fp16": {"enabled": true}, "zero_optimization": {"stgae": 2}})",
           "c: line 1: 'stgae' is not a known DeepSpeed key of 'zero_optimization', and nearly 'stage'; correct it or "
           "remove it"},
          {R"({"fp16": {"enabled": true}, "bf16": {"enabled": true}})",
           "c: line 1: bf16 and fp16 cannot both be enabled"},
          {R"({"fp16": {"enabled": "auto"}})",
           "c: line 1: fp16.enabled is 'auto', which Hugging Face's Trainer fills from its own argument --fp16; write "
           "true or false, or say which by --format float16 or --format bfloat16"},
          {R"({"fp16": {"enabled": true, "loss_scale": -1}})",
           "c: line 1: fp16.loss_scale must not be negative; 0 is dynamic"},
          {R"({"fp16": {"enabled": true, "loss_scale_window": "500"}})",
           "c: line 1: fp16.loss_scale_window takes a number, not the text '500'"},
          {R"({"fp16": {"enabled": true, "fp16_master_weights_and_grads": true}, "zero_optimization": {"stage": 1}})",
           "c: line 1: fp16.fp16_master_weights_and_grads needs ZeRO stage 2"},
          {R"({"fp16": {"enabled": true}, "optimizer": {"type": "Adam", "params": {"max_grad_norm": 1}}})",
           "c: line 1: optimizer.params.max_grad_norm is refused by DeepSpeed; use gradient_clipping"},
          {R"({"amp": {"enabled": true}, "train_batch_size": 8})",
           "c: line 1: amp hands the loss scale to apex.amp; replay that by --scaler apex_amp"},
          {R"({"fp16": true, "steps_per_print": 8})", "c: line 1: 'fp16' holds keys and values, not 'true'"},
          {R"({"fp16": {"enabled": true, "loss_scale": 1e400}})",
           "c: line 1: is not JSON: number overflow parsing '1e400'"},
      });
}

TEST_CASE("what Hugging Face's Trainer fills in is decided by the format asked for") {
  const importer read;
  const std::string both = R"({"fp16": {"enabled": "auto", "loss_scale": 0, "initial_scale_power": 16},
                               "bf16": {"enabled": "auto"}, "zero_optimization": {"stage": 2}})";
  CHECK(read(both, "c", float16).starts_with("deepspeed_dynamic init_scale=65536 "));
  CHECK(read(both, "c", bfloat16) == "none in bfloat16");
  CHECK(read(both, "c", cbfloat16).starts_with("c: line 1: fp16.enabled is 'auto'"));
}

TEST_CASE("Cerebras") {
  check_all(
      "Cerebras",
      {
          {trainer("      fp16_type: cbfloat16\n      loss_scaling_factor: dynamic\n      max_gradient_norm: 1.0\n"),
           "cerebras_dls fp16_type=cbfloat16 raise_at_minimum=true in cbfloat16, norm 1"},
          {trainer("      fp16_type: float16\n      loss_scaling_factor: dynamic\n      initial_loss_scale: 1024\n"
                   "      steps_per_increase: 100\n      min_loss_scale: 1.0\n      max_loss_scale: 4096.0\n"
                   "      precision_opt_level: 1\n      log_loss_scale: true\n      max_gradient_value: 0.5\n"),
           "cerebras_dls fp16_type=float16 init_scale=1024 steps_per_increase=100 min_loss_scale=1 max_loss_scale=4096 "
           "raise_at_minimum=true in float16, value 0.5"},
          // A number never looks for overflow on CSX ...
          {trainer("      fp16_type: float16\n      loss_scaling_factor: 1024\n"),
           "static loss_scale=1024 skip_on_overflow=false in float16"},
          {trainer("      fp16_type: float16\n"), "static loss_scale=1 skip_on_overflow=false in float16"},
          {trainer("      loss_scaling_factor: dynamic\n"), "none in bfloat16"},
          // ... but halves on a GPU.
          {trainer("      fp16_type: float16\n      loss_scaling_factor: 1024\n", on_gpu),
           "cerebras_gpu loss_scaling_factor=1024 in float16"},
          {trainer("      fp16_type: float16\n      loss_scaling_factor: dynamic\n      steps_per_increase: 50\n"
                   "      max_loss_scale: 8\n",
                   on_gpu),
           "cerebras_gpu loss_scaling_factor=dynamic steps_per_increase=50 in float16"},
          {trainer("      fp16_type: cbfloat16\n", on_gpu), "cerebras_gpu loss_scaling_factor=1 in bfloat16"},
          {trainer("      enabled: false\n", on_gpu), "none in float32"},
          {trainer("      fp16_type: float16\n      loss_scaling_factor: dynamic\n",
                   "    backend: {backend_type: CPU}\n"),
           "none in bfloat16"},
          {trainer("      enabled: no\n      fp16_type: bfloat16\n"), "none in bfloat16"},
          {"trainer:\n- trainer:\n    init:\n      precision: {fp16_type: bfloat16}\n", "none in bfloat16"},

          {trainer("      fp16_type: cbfloat16\n      loss_scaling_factor: 1.0\n"),
           "c: line 6: trainer.init.precision.loss_scaling_factor must be 'dynamic' for cbfloat16: else gradients may "
           "underflow or overflow in training"},
          {trainer("      fp16_type: bfloat16\n      max_gradient_norm: 1.0\n      max_gradient_value: 1.0\n"),
           "c: line 7: trainer.init.precision.max_gradient_value and max_gradient_norm are both set: gradients are "
           "clipped "
           "by norm or by value, not both; keep one"},
          {trainer("      max_gradient_norm: 0\n"),
           "c: line 5: trainer.init.precision.max_gradient_norm must be above 0"},
          {trainer("      fp16_type: float16\n      loss_scaling_factor: dynamic\n      min_loss_scale: 64\n"
                   "      max_loss_scale: 32\n"),
           "c: line 7: trainer.init.precision.min_loss_scale is above max_loss_scale: the first step ends the run with "
           "ApplianceNanError, the scale being below its least"},
          {trainer("      loss_scaling_factor: null\n"),
           "c: line 5: trainer.init.precision.loss_scaling_factor is null, which bfloat16 does not take (a TypeError "
           "in "
           "precision.py); leave it out"},
          {trainer("      fp16_typ: float16\n"),
           "c: line 5: 'fp16_typ' is not a known Cerebras key of 'trainer.init.precision', and nearly 'fp16_type'; "
           "correct it or remove it"},
          {trainer("      fp16_type: half\n"),
           "c: line 5: trainer.init.precision.fp16_type must be float16, bfloat16 or cbfloat16"},
          {trainer("      loss_scaling_factor: tf_dynamic\n"),
           "c: line 5: trainer.init.precision.loss_scaling_factor must be a number, null, or 'dynamic'"},
          {trainer("      precision_opt_level: 3\n"),
           "c: line 5: trainer.init.precision.precision_opt_level must be 0, 1 or 2"},
          {trainer("      fp16_type: float16\n      loss_scaling_factor: dynamic\n      min_loss_scale: 2e-14\n"),
           "c: line 7: trainer.init.precision.min_loss_scale is too small: the least that is allowed is 2^-14 = "
           "6.103515625e-05, which the documentation's 2e-14 means"},
          {"trainer:\n  inti:\n    precision: {fp16_type: float16}\n",
           "c: line 2: 'inti' is not a known Cerebras key of 'trainer', and nearly 'init'; correct it or remove it"},
          {"trainer:\n  init:\n    seed: 1\n",
           "c: line 2: trainer.init.precision is missing, so the loss scaling is unknown"},
      });
}

TEST_CASE("NxD") {
  check_all(
      "NxD",
      {
          {"mixed_precision_config:\n  use_master_weights: true\n  use_fp32_grad_acc: true\n"
           "  use_master_weights_in_ckpt: false\noptimizer_config:\n  zero_one_enabled: true\n",
           "none in bfloat16, norm 1"},
          // The ZeRO-1 class is not told max_grad_norm.
          {R"({"optimizer_config": {"zero_one_enabled": true, "max_grad_norm": 0.5}})", "none in bfloat16, norm 1"},
          {R"({"optimizer_config": {"zero_one_enabled": false, "max_grad_norm": 0.5}})", "none in bfloat16, norm 0.5"},
          {"tensor_parallel_size: 8\noptimizer_config: {grad_clipping: false}\n", "none in bfloat16"},

          {"mixed_precision_config:\n  use_master_weights: true\n",
           "c: line 2: mixed_precision_config.use_master_weights needs the ZeRO-1 optimizer: "
           "optimizer_config.zero_one_enabled is not true"},
          {"mixed_precision_config:\n  use_fp32_grad_acc: true\noptimizer_config:\n  zero_one_enabled: false\n",
           "c: line 2: mixed_precision_config.use_fp32_grad_acc needs the ZeRO-1 optimizer: "
           "optimizer_config.zero_one_enabled is not true"},
          {"mixed_precision_config:\n  use_master_weights_in_ckpt: true\n",
           "c: line 2: mixed_precision_config.use_master_weights_in_ckpt needs the ZeRO-1 optimizer: "
           "optimizer_config.zero_one_enabled is not true"},
          {"mixed_precision_config:\n  use_master_weight: true\n",
           "c: line 2: 'use_master_weight' is not a known NxD key of 'mixed_precision_config', and nearly "
           "'use_master_weights'; correct it or remove it"},
      });
}

TEST_CASE("Lightning") {
  const std::string grad_scaler =
      "pytorch_gradscaler init_scale=65536 growth_factor=2 backoff_factor=0.5 growth_interval=2000 in float16";
  check_all(
      "Lightning",
      {
          {"trainer:\n  precision: 16-mixed\n  gradient_clip_val: 1.0\n", grad_scaler + ", norm 1"},
          {"seed_everything: 1\ntrainer:\n  precision: 16\n  gradient_clip_val: 0.5\n"
           "  gradient_clip_algorithm: value\nmodel:\n  class_path: any.Model\n",
           grad_scaler + ", value 0.5"},
          {"precision: \"16\"\ncheck_val_every_n_epoch: 3\n", grad_scaler},
          {"fit:\n  trainer:\n    precision: 16-mixed\n", grad_scaler},
          {"trainer:\n  precision: bf16-mixed\n", "none in bfloat16"},
          {"trainer:\n  precision: bf16\n  gradient_clip_val: 0\n", "none in bfloat16"},
          {"trainer:\n  precision: 16-true\n", "none in float16"},
          {"trainer:\n  precision: bf16-true\n", "none in bfloat16"},
          {"trainer:\n  precision: 64\n", "none in float64"},
          {"trainer:\n  max_epochs: 3\n", "none in float32"},
          {"trainer:\n  precision: transformer-engine-float16\n", "none in float16"},
          {"trainer:\n  precision: 16-mixed\n  accelerator: cpu\n", "none in bfloat16"},
          {"trainer:\n  precision: 16-mixed\n  strategy: deepspeed_stage_2\n",
           "deepspeed_dynamic init_scale=65536 scale_window=1000 delayed_shift=2 consecutive_hysteresis=false "
           "min_scale=1 "
           "in float16"},

          // Values that other mappings share; what stands beside them wins.
          {"all: &all\n  precision: 16-mixed\n  gradient_clip_val: 2\ntrainer:\n  <<: *all\n  gradient_clip_val: 1\n",
           grad_scaler + ", norm 1"},
          {"model: &all {precision: 16-mixed, gradient_clip_val: 2}\ntrainer:\n  <<: *all\n  gradient_clip_val: 1\n",
           grad_scaler + ", norm 1"},
          {"model: &a {precision: 16-mixed}\ndata: &b {precision: bf16, gradient_clip_val: 3}\ntrainer:\n"
           "  <<: [*a, *b]\n",
           grad_scaler + ", norm 3"},
          {"trainer:\n  <<: 16-mixed\n", "c: line 2: '<<' takes a mapping or a list of them"},

          {"trainer:\n  precision: 16-mixd\n",
           "c: line 2: trainer.precision is one of 16-mixed, bf16-mixed, 16-true, bf16-true, 32-true, 64-true, "
           "transformer-engine, "
           "transformer-engine-float16, or 16, bf16, 32, 64"},
          {"trainer:\n  precision: 16-mixed\n  gradient_clip_value: 1.0\n",
           "c: line 3: 'gradient_clip_value' is not a known Lightning key of 'trainer', and nearly "
           "'gradient_clip_val'; correct it or remove it"},
          {"trainer:\n  gradient_clip_val: 1.0\n  gradient_clip_algorithm: both\n",
           "c: line 3: trainer.gradient_clip_algorithm must be 'norm' or 'value'"},
          {"trainer:\n  precision: 16-mixed\n  strategy: fsdp\n  gradient_clip_val: 1.0\n",
           "c: line 4: trainer.gradient_clip_val by norm is refused by Lightning's FSDP strategy"},
          {"trainer:\n  plugins:\n  - class_path: lightning.pytorch.plugins.MixedPrecision\n",
           "c: line 2: trainer.plugins holds a precision plugin, which decides on the scaler; give --scaler and "
           "--format"},
      });
}

TEST_CASE("Megatron-LM") {
  check_all(
      "Megatron-LM",
      {
          {"--fp16 --num-layers 24 --lr 1e-4 --seed -1",
           "megatron_dynamic initial_scale=4294967296 min_scale=1 growth_interval=1000 hysteresis=2 in float16, norm "
           "1"},
          {"#!/bin/bash\n# --bf16 was tried\nexport X=1\nGPT_ARGS=\"\n    --num-layers 24 \\\n    --clip-grad 0.5\n\"\n"
           "torchrun --nproc_per_node 8 --master-port=1 pretrain_gpt.py $GPT_ARGS \\\n    --fp16 \\\n"
           "    --initial-loss-scale 65536 \\\n    --loss-scale-window 200 --hysteresis=4 --min-loss-scale 0.5 \\\n"
           "    --accumulate-allreduce-grads-in-fp32\n",
           "megatron_dynamic initial_scale=65536 min_scale=0.5 growth_interval=200 hysteresis=4 in float16, norm 0.5"},
          {"ARGS=(\n  --fp16\n  --loss-scale 128\n  --hysteresis 2\n)\n",
           "megatron_constant initial_scale=128 in float16, norm 1"},
          {"--bf16 --clip-grad 0.0\n", "none in bfloat16"},
          {"--bf16 --loss-scale 2\n", "megatron_constant initial_scale=2 in bfloat16, norm 1"},
          {"--fp16 --loss-scale 0\n",
           "megatron_dynamic initial_scale=4294967296 min_scale=1 growth_interval=1000 hysteresis=2 in float16, norm "
           "1"},
          {"--lr 1e-4\n", "none in float32, norm 1"},
          {"--fp16 --initial-loss-scale 8 --min-loss-scale 8",
           "megatron_dynamic initial_scale=8 min_scale=8 growth_interval=1000 hysteresis=2 in float16, norm 1"},
          // What stands behind a flag is not its value.
          {"--fp16 $DATA --lr 1 --fp16 $MORE",
           "megatron_dynamic initial_scale=4294967296 min_scale=1 growth_interval=1000 hysteresis=2 in float16, norm "
           "1"},
          {"--fp16 --min-scale 4\n",
           "megatron_dynamic initial_scale=4294967296 min_scale=4 growth_interval=1000 hysteresis=2 in float16, norm "
           "1"},
          {"--use-distributed-optimizer --loss-scale 128\n", "megatron_constant initial_scale=128 in float32, norm 1"},
          {"--loss-scale 128\n", "none in float32, norm 1"},

          {"--fp16 \\\n--loss-scale-windw 200\n",
           "c: line 2: '--loss-scale-windw' is not a known argument of Megatron-LM, and nearly '--loss-scale-window'; "
           "correct it or remove it"},
          {"--fp16 --bf16", "c: line 1: --bf16 and --fp16 cannot both be given"},
          {"--fp16 --loss-scale $SCALE",
           "c: line 1: --loss-scale is '$SCALE', whose value this file does not say; write it"},
          {"--fp16\n--hysteresis 2\n--hysteresis 3\n",
           "c: line 3: --hysteresis is given twice, first on line 2 with another value"},
          {"--fp16 --min-loss-scale 8 --initial-loss-scale 4",
           "c: line 1: --min-loss-scale must not be above --initial-loss-scale"},
          {"--fp16 --clip-grad", "c: line 1: --clip-grad takes a number, not ''"},
          {"--fp16 --deepspeed",
           "c: line 1: --deepspeed hands the loss scale to DeepSpeed; give the JSON that --deepspeed_config names"},
      });
  const importer read;
  (void)read("torchrun pretrain_gpt.py $MODEL_ARGS --fp16\n");
  CHECK(read.last().notes == std::vector<std::string>{"what $MODEL_ARGS holds is not in this file and was not read"});
}

TEST_CASE("Accelerate") {
  check_all(
      "Accelerate",
      {
          {"compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nmixed_precision: fp16\nuse_cpu: false\n"
           "num_processes: 8\n",
           "pytorch_gradscaler init_scale=65536 growth_factor=2 backoff_factor=0.5 growth_interval=2000 in float16"},
          {"distributed_type: FSDP\nfsdp_config:\n  fsdp_offload_params: false\nmixed_precision: bf16\n",
           "none in bfloat16"},
          {"distributed_type: 'NO'\nmixed_precision: 'no'\n", "none in float32"},
          {"distributed_type: 'NO'\nmixed_precision: no\n", "none in float32"},
          // The section that Accelerate writes has none of the keys of the loss scale.
          {"distributed_type: DEEPSPEED\ndeepspeed_config:\n  zero_stage: 2\n  gradient_clipping: 1.0\n"
           "mixed_precision: fp16\n",
           "deepspeed_dynamic init_scale=4294967296 scale_window=1000 delayed_shift=1 consecutive_hysteresis=false "
           "min_scale=1 in float16, norm 1"},
          {"distributed_type: DEEPSPEED\ndeepspeed_config:\n  zero_stage: 0\nmixed_precision: fp16\n",
           "deepspeed_fused_nonzero cur_scale=65536 scale_window=1000 min_loss_scale=1 in float16"},
          {"distributed_type: DEEPSPEED\nmixed_precision: bf16\n", "none in bfloat16"},
          {"distributed_type: MEGATRON_LM\nmegatron_lm_config:\n  megatron_lm_gradient_clipping: 0.5\n"
           "mixed_precision: fp16\n",
           "megatron_dynamic initial_scale=4294967296 min_scale=1 growth_interval=1000 hysteresis=2 in float16, norm "
           "0.5"},

          {"distributed_type: MULTI_GPU\nmixed_precison: fp16\n",
           "c: line 2: 'mixed_precison' is not a known Accelerate key, and nearly 'mixed_precision'; correct it or "
           "remove it"},
          {"distributed_type: DEEPSPEED\ndeepspeed_config:\n  zero_stag: 2\nmixed_precision: fp16\n",
           "c: line 3: 'zero_stag' is not a known Accelerate key of 'deepspeed_config', and nearly 'zero_stage'; "
           "correct it or remove it"},
          {"distributed_type: MULTI_CPU\nuse_cpu: true\nmixed_precision: fp16\n",
           "c: line 3: mixed_precision fp16 needs a GPU: Accelerate refuses it on CPUs and TPUs"},
          {"distributed_type: MULTI_GPU\nmixed_precision: half\n",
           "c: line 2: mixed_precision must be no, fp16, bf16 or fp8"},
          {"distributed_type: DEEPSPEED\ndeepspeed_config:\n  deepspeed_config_file: ds.json\nmixed_precision: fp16\n",
           "c: line 4: mixed_precision is refused by Accelerate together with deepspeed_config_file; write it in that "
           "file "
           "only"},
      });
}

TEST_CASE("Accelerate with DeepSpeed's own file") {
  const importer read;
  const std::string yaml =
      "distributed_type: DEEPSPEED\ndeepspeed_config:\n  deepspeed_config_file: ds.json\n  zero3_init_flag: true\n";
  read.write("ds.json", R"({"fp16": {"enabled": true, "hysteresis": 1}, "zero_optimization": {"stage": 3},
                            "gradient_clipping": "auto"})");
  CHECK(read(yaml) ==
        "deepspeed_dynamic init_scale=65536 scale_window=1000 delayed_shift=1 consecutive_hysteresis=false min_scale=1 "
        "in "
        "float16");
  // A pipe would be waited for.
  CHECK(read("distributed_type: DEEPSPEED\ndeepspeed_config:\n  deepspeed_config_file: /dev/null\n")
            .find("deepspeed_config_file names something that is not a file") != std::string::npos);
  // Its mistakes are its own.
  read.write("ds.json", "{\n\"fp16\": {\"enabeld\": true}}");
  CHECK(read(yaml) ==
        "ds.json: line 2: 'enabeld' is not a known DeepSpeed key of 'fp16', and nearly 'enabled'; correct it or remove "
        "it");
}

TEST_CASE("each key that is read is said to mean something") {
  const importer read;
  (void)read(R"({"fp16": {"enabled": true, "loss_scale_window": 500, "hysteresis": 3}, "steps_per_print": 10,
                 "optimizer": {"type": "Adam"}})");
  CHECK(read.last().meanings ==
        std::vector<std::string>{
            "fp16.enabled = true -> on", "optimizer.type = Adam -> wrapped in FP16_Optimizer (fused)",
            "fp16.loss_scale is not given -> dynamic",
            "fp16.loss_scale_window = 500 -> the scale doubles 500 steps after the last overflow, first one step later",
            "fp16.hysteresis = 3 -> nothing: the fp16 wrappers do not look at it, every overflow halves",
            "without meaning for the replay: steps_per_print"});
  (void)read(R"({"fp16": {"enabled": true, "loss_scale": 128, "hysteresis": 3}, "zero_optimization": {"stage": 1}})");
  CHECK(std::ranges::count(read.last().meanings,
                           "fp16.loss_scale = 128 -> static: it never changes, overflowed steps are skipped") == 1);
  CHECK(std::ranges::count(read.last().meanings, "fp16.hysteresis = 3 -> nothing, since the scale is static") == 1);
  // Keys that can mean something, but do not here.
  (void)read(R"({"fp16": {"enabled": true}, "optimizer": {"type": "Adam"}, "zero_optimization": {"stage": 1}})");
  CHECK(read.last().meanings.back() == "without meaning for the replay: optimizer");
  (void)read("trainer:\n  precision: 16-mixed\n  strategy: ddp\n  accelerator: gpu\n");
  CHECK(read.last().meanings.back() == "without meaning for the replay: trainer.strategy, trainer.accelerator");
  // Text of strangers is made safe for terminals.
  (void)read("{\"fp16\": {\"enabled\": true}, \"optimizer\": {\"type\": \"\\u001b[31m\"}}");
  CHECK(read.last().meanings.at(1) == "optimizer.type = \\x1B[31m -> wrapped in FP16_UnfusedOptimizer");
}

TEST_CASE("files that are no configuration") {
  const importer read;
  const auto starts = [&](const std::string& text, const std::string& expected) {
    const std::string result = read(text);
    INFO(result);
    CHECK(result.starts_with(expected));
  };
  CHECK(read("") == "c: is empty");
  CHECK(read(" \n\t\n") == "c: holds only blanks");
  CHECK(read(std::string("\0\1\2", 3)) == "c: is not a text file: it has control characters");
  CHECK(read("{\"fp16\": {\"enabled\": true},\n \"fp16\": {\"enabled\": false}}") ==
        "c: line 2: the key 'fp16' is given twice, first on line 1");
  CHECK(read("trainer:\n  precision: 16\n  precision: 32\n") ==
        "c: line 3: the key 'precision' is given twice, first on line 2");
  starts("[1, 2]",
         "c: is not a mapping of keys to values, as the programs' configurations are; --framework list names ");
  starts("- a\n- b\n", "c: is not a mapping");
  starts("just words", "c: is not a mapping");
  CHECK(read("# only a comment\n") == "c: holds only comments");
  starts("some: thing\nother: thing\n",
         "c: has no key of a configuration that is read; say by --framework NAME whose it is, or give --scaler and "
         "--format instead; --framework list names the programs that are known");
  starts("mixed_precision_confg:\n  use_master_weights: true\n",
         "c: has no key of a configuration that is read: 'mixed_precision_confg' is not a known key, and nearly "
         "'mixed_precision_config'; correct it or remove it; ");
  starts(
      "precision: 16\nuse_cpu: true\n",
      "c: has no key that only one program has, but precision, as GPT-NeoX, LLM Foundry, Lightning, LitGPT, Marian, OLMo, OpenCLIP, "
      "SpeechBrain may; say by "
      "--framework NAME whose it is, or give --scaler and --format instead");
  starts(
      "distributed_type: MULTI_GPU\ngradient_clip_val: 1\n",
      "c: may be for Accelerate or for Lightning, which both have keys that are theirs alone in it; say by --framework");
  starts("{\"fp16\":", "c: line 1: is not JSON: ");
  starts("{\"fp16\": {\"enabled\": true},\n\n}", "c: line 3: is not JSON: ");
  starts("trainer: [\n", "c: line 2: is not YAML: ");
  starts("trainer:\n  precision: 16\n---\ntrainer:\n", "c: line 3: holds a second YAML document");
  starts("trainer:\n  ? [a]\n  : b\n", "c: line 2: a key is not a word");

  for (const std::size_t depth : {65U, 1000U, 100'000U}) {
    starts("{\"fp16\": " + std::string(depth, '[') + std::string(depth, ']') + "}", "c: line 1: is nested deeper");
    starts("trainer: " + std::string(depth, '[') + std::string(depth, ']'), "c: line 1: is nested deeper");
  }
  std::string aliases = "a0: &a0 [1, 2, 3, 4, 5, 6, 7, 8, 9]\n";
  for (int i = 1; i < 20; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    aliases +=
        "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before + ", " + before + ", " + before + "]\n";
  }
  starts(aliases, "c: line 8: holds more than 20000 values");
  // A long name is neither printed nor compared at length.
  const std::string longest = read("{\"fp16\": {\"enabled\": true, \"" + std::string(3'000'000, 'x') + "\": 1}}");
  CHECK(longest.starts_with("deepspeed_fused"));
  CHECK(read("--fp16 --hysteresis 2 --" + std::string(3'000'000, 'x')).starts_with("megatron_dynamic"));
  CHECK(read.last().notes.front().size() < 200);
  starts(std::string(5 << 20, ' '), "c: is larger than 4 MiB");
}
