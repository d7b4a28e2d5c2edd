// What configurations say gradients of micro-batches are added up in, and how many there are; what is the framework's
// default is said to be one.
#include <algorithm>
#include <string>
#include <vector>

#include "importer.hpp"
#include "support/catch.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

// "bfloat16", "bfloat16 assumed", or "?"; with "x4" where four are accumulated.
std::string said(const importer& read, const std::string& text, const std::string& name = "c") {
  CAPTURE(text);
  const std::string result = read(text, name);
  CAPTURE(result);
  REQUIRE(!result.starts_with("c: "));
  const auto& in = read.last().accumulates_in;
  std::string line = in ? in->format + (in->assumed.empty() ? "" : " assumed") : "?";
  if (read.last().microbatches) line += " x" + std::to_string(*read.last().microbatches);
  return line;
}

std::string cerebras(const std::string& precision, const std::string& backend = "") {
  return "trainer:\n  init:\n    model_dir: ./model\n" + backend + "    precision:\n      enabled: true\n" + precision;
}

std::string nxd_training(const std::string& type, const std::string& more = "", const std::string& zero1 = "True") {
  return "distributed_strategy:\n  zero1: " + zero1 + "\nprecision:\n  type: " + type + "\n" + more;
}

}  // namespace

TEST_CASE("DeepSpeed: data_types.grad_accum_dtype, else the model's type") {
  const importer read;
  const std::string zero = R"("zero_optimization": {"stage": 2}, )";
  CHECK(said(read, "{" + zero + R"("bf16": {"enabled": true}, "data_types": {"grad_accum_dtype": "fp32"}})") ==
        "float32");
  CHECK(said(read, "{" + zero + R"("fp16": {"enabled": true}, "data_types": {"grad_accum_dtype": "torch.bfloat16"},
                                   "gradient_accumulation_steps": 4})") == "bfloat16 x4");
  CHECK(said(read, "{" + zero + R"("fp16": {"enabled": true}, "gradient_accumulation_steps": "auto"})") ==
        "float16 assumed");
  CHECK(read.last().accumulates_in->assumed ==
        "data_types.grad_accum_dtype is not given: DeepSpeed takes the model's type");
  CHECK(said(read, "{" + zero + R"("bf16": {"enabled": true}, "data_types": {"grad_accum_dtype": null}})") ==
        "bfloat16 assumed");
  CHECK(read.last().accumulates_in->assumed ==
        "data_types.grad_accum_dtype is not given: DeepSpeed takes the model's type");
  CHECK(said(read, R"({"bf16": {"enabled": true}, "train_batch_size": 8})") == "bfloat16 assumed");
  CHECK(read.last().accumulates_in->assumed.ends_with(
      "or without ZeRO float32 before it had runtime/precision_config.py"));
  CHECK(said(read, R"({"train_batch_size": 8, "zero_optimization": {"stage": 1}})") == "float32 assumed");
  CHECK(read(R"({"bf16": {"enabled": true}, "data_types": {"grad_accum_dtype": "fp64"}})") ==
        "c: line 1: data_types.grad_accum_dtype must be fp32, fp16 or bf16");
  CHECK(read(R"({"bf16": {"enabled": true}, "data_types": {"grad_acum_dtype": "fp32"}})") ==
        "c: line 1: 'grad_acum_dtype' is not a known DeepSpeed key of 'data_types', and nearly 'grad_accum_dtype'; "
        "correct it or remove it");
}

TEST_CASE("GPT-NeoX hands it on, and has a default that is not known here") {
  const importer read;
  const std::string neox = "num-layers: 2\nhidden-size: 8\nseq-length: 8\nprecision: bfloat16\n";
  CHECK(said(read, neox) == "?");
  CHECK(said(read, neox + "data_types: {grad_accum_dtype: fp32}\ngradient_accumulation_steps: 3\n") == "float32 x3");
  CHECK(said(read, neox + "data_types: {param_dtype: fp32}\n") == "?");
}

TEST_CASE("what is used of micro-batches is not said to be without meaning") {
  const importer read;
  const auto line_of = [&](const std::string& text, const std::string& key) {
    CAPTURE(text, read(text));
    const std::vector<std::string>& all = read.last().meanings;
    CHECK(std::ranges::count_if(all, [&](const std::string& line) { return line.find(key) != line.npos; }) == 1);
    return *std::ranges::find_if(all, [&](const std::string& line) { return line.find(key) != line.npos; });
  };
  const std::string steps = "gradient_accumulation_steps";
  const std::string many = " -> so many micro-batches are accumulated for a step";
  CHECK(line_of(R"({"bf16": {"enabled": true}, "gradient_accumulation_steps": 4})", steps) == steps + " = 4" + many);
  CHECK(line_of(R"({"bf16": {"enabled": true}, "gradient_accumulation_steps": 1})", steps) ==
        steps + " = 1 -> a step has one micro-batch");
  CHECK(line_of(R"({"bf16": {"enabled": true}, "gradient_accumulation_steps": "auto"})", steps) ==
        steps + " = auto -> it does not say how many micro-batches are accumulated for a step");
  CHECK(line_of("trainer:\n  precision: bf16-true\n  accumulate_grad_batches: 8\n", "accumulate_grad_batches") ==
        "trainer.accumulate_grad_batches = 8" + many);
  const std::string neox = "num-layers: 2\nhidden-size: 8\nseq-length: 8\nprecision: bfloat16\n";
  CHECK(line_of(neox + "gradient-accumulation-steps: 3\n", steps) == steps + " = 3" + many);
  CHECK(line_of(neox + "data_types: {grad_accum_dtype: fp32}\n", "data_types")
            .starts_with("data_types.grad_accum_dtype"));
  // Of Hugging Face's arguments it is not used.
  CHECK(line_of("per_device_train_batch_size: 8\nbf16: true\ngradient_accumulation_steps: 4\n", steps)
            .starts_with("without meaning for the replay: "));
}

TEST_CASE("NxD: use_fp32_grad_acc") {
  const importer read;
  const std::string zero = "optimizer_config:\n  zero_one_enabled: true\n";
  CHECK(said(read, zero) == "float32 assumed");
  CHECK(said(read, "optimizer_config:\n  zero_one_enabled: false\n") == "bfloat16 assumed");
  CHECK(said(read, zero + "mixed_precision_config:\n  use_fp32_grad_acc: false\n") == "bfloat16");
  CHECK(said(read, zero + "mixed_precision_config:\n  use_fp32_grad_acc: true\n") == "float32");
  // Then it is the optimizer's type, which XLA_DOWNCAST_BF16 may make bfloat16.
  CHECK(said(read, zero + "mixed_precision_config:\n  use_master_weights: false\n") == "?");
  CHECK(said(read, nxd_training("mixed_precision")) == "float32");
  CHECK(said(read, nxd_training("mixed_precision", "", "False")) == "bfloat16");
  CHECK(said(read, nxd_training("bf16SR")) == "bfloat16");
  CHECK(said(read, nxd_training("fp32")) == "float32");
  const std::string manual = "  master_weights: True\n  xla_downcast_bf16: '1'\n";
  CHECK(said(read, nxd_training("manual", manual + "  fp32_grad_acc: True\n")) == "float32");
  CHECK(said(read, nxd_training("manual", manual + "  fp32_grad_acc: False\n")) == "bfloat16");
  CHECK(said(read, nxd_training("manual", "  master_weights: True\n")) == "?");
}

TEST_CASE("Lightning: the type of the weights, whose .grad takes the sums") {
  const importer read;
  CHECK(said(read, "trainer:\n  precision: bf16-true\n  accumulate_grad_batches: 8\n") == "bfloat16 x8");
  CHECK(said(read, "trainer:\n  precision: 16-true\n") == "float16");
  CHECK(said(read, "trainer:\n  precision: 16-mixed\n  accumulate_grad_batches: 2\n") == "float32 x2");
  CHECK(said(read, "trainer:\n  precision: transformer-engine\n") == "bfloat16");
  CHECK(said(read, "trainer:\n  precision: 64-true\n") == "float64");
  CHECK(said(read, "trainer:\n  accumulate_grad_batches: 2\n") == "float32 assumed x2");
  CHECK(said(read, "trainer:\n  precision: bf16-mixed\n  strategy: fsdp\n") == "?");
  CHECK(said(read, "trainer:\n  precision: bf16-true\n  strategy: fsdp\n") == "bfloat16");
  CHECK(said(read, "trainer:\n  precision: bf16-mixed\n  strategy: deepspeed_stage_2\n") == "?");
}

TEST_CASE("Megatron-LM: float32 with bfloat16 unless told otherwise") {
  const importer read;
  const std::string start = "torchrun pretrain_gpt.py --num-layers 2 ";
  CHECK(said(read, start + "--bf16\n", "c.sh") == "float32 assumed");
  CHECK(said(read, start + "--bf16 --grad-reduce-in-bf16\n", "c.sh") == "bfloat16");
  CHECK(said(read, start + "--fp16\n", "c.sh") == "float16 assumed");
  CHECK(said(read, start + "--fp16 --accumulate-allreduce-grads-in-fp32\n", "c.sh") == "float32");
  CHECK(said(read, start + "--clip-grad 1\n", "c.sh") == "float32");
}

TEST_CASE("Cerebras: what is published") {
  const importer read;
  const std::string type = "      fp16_type: bfloat16\n";
  CHECK(said(read, cerebras(type)) == "?");
  CHECK(said(read, cerebras(type + "      precision_opt_level: 0\n")) == "float32");
  CHECK(said(read, cerebras(type + "      precision_opt_level: 1\n")) == "?");
  CHECK(said(read, cerebras(type, "    backend:\n      backend_type: GPU\n")) == "float32");
}
