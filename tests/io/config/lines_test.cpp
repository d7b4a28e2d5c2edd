// What to write in a framework's configuration for a chosen loss scale: against lines written by hand, and, where the
// framework's configuration is imported, read back to the scaler with these values.
#include <optional>
#include <string>
#include <vector>

#include <ulp/io/config/config_import.hpp>
#include <ulp/io/config/configuration_lines.hpp>
#include <ulp/model/machines/scaler.hpp>

#include "support/catch.hpp"
#include "support/files.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

using lines = std::vector<std::string>;

const loss_scale_choice advised{.format = "float16", .init_scale = 131072, .growth_interval = 100};
const loss_scale_choice constant{.format = "fp16", .static_scale = 1024};
const loss_scale_choice wide{.format = "bf16", .init_scale = 131072};

std::string joined(const lines& all, const std::string& between) {
  std::string text;
  for (const std::string& line : all) text += (text.empty() ? "" : between) + line;
  return text;
}

imported_config read(const std::string& text) {
  const temporary_dir dir;
  write_file(dir / "c", text);
  return import_config((dir / "c").string());
}

parameter_value parameter(const imported_config& config, const std::string& name) {
  for (const auto& [key, value] : config.parameters)
    if (key == name) return value;
  return std::monostate{};
}

struct round_trip {
  std::string framework;
  std::string before, between, after;  // what stands around the lines in a file
  std::string dynamic, initial, growth, fixed, fixed_scale;
};

const std::string cerebras = "trainer:\n  init:\n    precision:\n      ";
const std::string on_gpu = "trainer:\n  init:\n    backend: {backend_type: GPU}\n    precision:\n      ";
const std::vector<round_trip> imported{
    {"DeepSpeed", "{\"zero_optimization\": {\"stage\": 2}, ", ", ", "}", "deepspeed_dynamic", "init_scale",
     "scale_window", "static", "loss_scale"},
    {"deepspeed_fused", "{\"optimizer\": {\"type\": \"Adam\"}, ", ", ", "}", "deepspeed_fused_nonzero", "cur_scale",
     "scale_window", "static", "loss_scale"},
    {"Megatron-LM", "python pretrain_gpt.py ", " ", "", "megatron_dynamic", "initial_scale", "growth_interval",
     "megatron_constant", "initial_scale"},
    {"fairseq", "fairseq-train data --arch a --task t --criterion c ", " ", "", "fairseq_cli", "init_scale",
     "scale_window", "fairseq_cli", "init_scale"},
    {"GPT-NeoX", "{\"num-layers\": 1, \"hidden-size\": 8, \"zero_optimization\": {\"stage\": 1}, ", ", ", "}",
     "deepspeed_dynamic", "init_scale", "scale_window", "static", "loss_scale"},
    {"nemo_megatron", "python megatron_gpt_pretraining.py model.tensor_model_parallel_size=1 ", " ", "",
     "nemo_megatron", "init_scale", "growth_interval", "", ""},
    {"cerebras_tf_legacy", "runconfig: {save_summary_steps: 1}\nmodel: {mixed_precision: True}\noptimizer:\n  ", "\n  ",
     "\n", "cerebras_tf_legacy", "initial_loss_scale", "increment_period", "static", "loss_scale"},
    {"Cerebras", cerebras, "\n      ", "\n", "cerebras_dls", "init_scale", "steps_per_increase", "static",
     "loss_scale"},
    {"MMEngine", "", "\n", "", "pytorch_gradscaler", "init_scale", "growth_interval", "static", "loss_scale"},
    {"MMEngine with DeepSpeed", "", "\n", "", "deepspeed_fused_nonzero", "cur_scale", "scale_window", "static",
     "loss_scale"},
    {"MMCV", "optimizer_config = dict(grad_clip=None)\nlr_config = dict()\n", "\n", "", "pytorch_gradscaler",
     "init_scale", "growth_interval", "static", "loss_scale"},
    {"NeMo 2", "plugins = nl.", "\n", "", "megatron_dynamic", "initial_scale", "growth_interval", "megatron_constant",
     "initial_scale"},
    {"MindFormers", "runner_config: {sink_mode: true}\n", "\n", "\n", "mindspore_update_cell", "loss_scale_value",
     "scale_window", "static", "loss_scale"},
    {"Colossal-AI's Booster", "b = ", "\n", "", "pytorch_gradscaler", "init_scale", "growth_interval", "", ""},
    {"fastai", "", "\n", "", "pytorch_gradscaler", "init_scale", "growth_interval", "", ""},
    {"spaCy", "[nlp]\nlang = \"en\"\n[components.transformer.model]\n", "\n", "\n", "pytorch_gradscaler", "init_scale",
     "growth_interval", "", ""},
    {"PaddleClas", "", "\n", "\n", "paddle_dygraph", "init_loss_scaling", "", "static", "loss_scale"},
    {"PaddleOCR", "", "\n", "\n", "paddle_dygraph", "init_loss_scaling", "", "static", "loss_scale"},
    {"MindYOLO", "overflow_still_update: False\n", "\n", "\n", "mindspore_amp_scaler", "scale_value", "", "static",
     "loss_scale"},
    {"cerebras_gpu", on_gpu, "\n      ", "\n", "cerebras_gpu", "initial_loss_scale", "steps_per_increase",
     "cerebras_gpu", "loss_scaling_factor"},
};

}  // namespace

TEST_CASE("what is written for a framework is read back") {
  for (const round_trip& r : imported) {
    CAPTURE(r.framework);
    const auto file = [&](const loss_scale_choice& choice) {
      return r.before + joined(configuration_lines(r.framework, choice), r.between) + r.after;
    };
    const imported_config dynamic = read(file(advised));
    CHECK(dynamic.scaler == r.dynamic);
    CHECK(dynamic.format == "float16");
    CHECK(parameter(dynamic, r.initial) == parameter_value{131072.0});
    if (!r.growth.empty()) CHECK(parameter(dynamic, r.growth) == parameter_value{100.0});
    if (r.fixed.empty()) continue;
    const imported_config fixed = read(file(constant));
    CHECK(fixed.scaler == r.fixed);
    CHECK(parameter(fixed, r.fixed_scale) == parameter_value{1024.0});
  }
  CHECK(read("{" + joined(configuration_lines("DeepSpeed", wide), ", ") + "}").format == "bfloat16");
  CHECK(read("python pretrain_gpt.py " + joined(configuration_lines("megatron", wide), " ")).format == "bfloat16");
  CHECK(read("trainer:\n  " + joined(configuration_lines("Lightning", wide), "\n  ")).format == "bfloat16");
  CHECK(read("fairseq-train data --arch a --task t --criterion c " + joined(configuration_lines("fairseq", wide), " "))
            .format == "bfloat16");
  CHECK(read("distributed_type: MULTI_GPU\n" + joined(configuration_lines("Accelerate", wide), "\n")).format ==
        "bfloat16");
}

// A ceiling below the first scale would win: 2^15 for float16 by default.
TEST_CASE("Cerebras's ceiling does not cut the scale that is chosen") {
  const imported_config config = read(cerebras + joined(configuration_lines("cerebras", advised), "\n      "));
  CHECK(make_scaler(*find_scaler(config.scaler), config.parameters).scale() == 131072);
  CHECK(configuration_lines("cerebras", {.format = "cbfloat16", .init_scale = 4096}) ==
        lines{"fp16_type: cbfloat16", "loss_scaling_factor: dynamic", "initial_loss_scale: 4096"});
}

TEST_CASE("each framework in its own words") {
  const auto is = [](const std::string& name, const loss_scale_choice& choice, const lines& expected) {
    CAPTURE(name);
    CHECK(configuration_lines(name, choice) == expected);
  };
  is("deepspeed", advised, {R"("fp16": {"enabled": true, "initial_scale_power": 17, "loss_scale_window": 100})"});
  is("megatron_dynamic", advised, {"--fp16 --initial-loss-scale 131072 --loss-scale-window 100"});
  is("pytorch", advised, {"torch.amp.GradScaler(init_scale=2.0**17, growth_interval=100)"});
  is("pytorch_gradscaler", {.growth_interval = 100}, {"torch.amp.GradScaler(growth_interval=100)"});
  is("pytorch_gradscaler", {.init_scale = 1000}, {"torch.amp.GradScaler(init_scale=1000.0)"});
  is("pytorch_gradscaler", {.init_scale = 0x1p-7}, {"torch.amp.GradScaler(init_scale=2.0**-7)"});
  is("pytorch_gradscaler", constant,
     {"torch.amp.GradScaler(init_scale=2.0**10, growth_interval=2**31 - 1)  # never grows, but an overflow still "
      "halves "
      "it"});
  is("fairseq", advised, {"--fp16 --fp16-init-scale 131072 --fp16-scale-window 100"});
  is("Hugging Face", wide, {"bf16=True"});
  is("lightning", wide, {"precision: bf16-mixed"});
  is("Lightning", advised,
     {R"(Trainer(plugins=MixedPrecision("16-mixed", "cuda", torch.amp.GradScaler(init_scale=2.0**17, )"
      "growth_interval=100)))"});
  is("keras", advised,
     {"keras.config.set_dtype_policy(\"mixed_float16\")",
      "keras.optimizers.LossScaleOptimizer(optimizer, initial_scale=2.0**17, dynamic_growth_steps=100)"});
  is("flax", advised, {"flax.training.dynamic_scale.DynamicScale(scale=2.0**17, growth_interval=100)"});
  is("apex", advised,
     {R"(amp.initialize(model, optimizer, loss_scale="dynamic"))",
      "amp._amp_state.loss_scalers[0]._loss_scale = 2.0**17", "amp._amp_state.loss_scalers[0]._scale_seq_len = 100"});
  // DeepSpeed takes powers of two only: the one below.
  is("DeepSpeed", {.init_scale = 100000}, {R"("fp16": {"enabled": true, "initial_scale_power": 16})"});
}

// huggingface/accelerate src/accelerate/accelerator.py makes no GradScaler for DEEPSPEED and MEGATRON_LM.
TEST_CASE("where another framework keeps the loss scale, the lines are that one's") {
  const auto scaled = [](const std::string& text) {
    const imported_config config = read(text);
    return configuration_lines(config.words.empty() ? config.framework : config.words,
                               {.init_scale = 65536, .growth_interval = 100});
  };
  const std::string in_file = R"("fp16": {"enabled": true, "initial_scale_power": 16, "loss_scale_window": 100})";
  CHECK(scaled("distributed_type: DEEPSPEED\nmixed_precision: fp16\ndeepspeed_config: {zero_stage: 2}\n") ==
        lines{"deepspeed_config: {deepspeed_config_file: ds_config.json}", in_file});
  CHECK(scaled("distributed_type: MEGATRON_LM\nmixed_precision: bf16\n") ==
        lines{"mixed_precision: fp16",
              R"(MegatronLMPlugin(other_megatron_args={"initial_loss_scale": 2.0**16, "loss_scale_window": 100}))"});
  CHECK(scaled("distributed_type: MULTI_GPU\nmixed_precision: fp16\n").back().starts_with("Accelerator("));
  CHECK(scaled("output_dir: o\nfinetuning_type: full\npure_bf16: true\n").front() == "fp16: true");
  CHECK(scaled("output_dir: o\nfinetuning_type: full\npure_bf16: true\n")[1] == "pure_bf16: false");
  CHECK(scaled("python run_clm.py --output_dir o --bf16").front() == "--fp16");
  CHECK(scaled("sdxl_train.py --mixed_precision fp16 --deepspeed --full_bf16=False")
            .back()
            .ends_with("in its code: deepspeed_config[\"fp16\"].update({\"initial_scale_power\": 16, "
                       "\"loss_scale_window\": 100})"));
  CHECK(scaled("python run_clm.py --output_dir o --deepspeed not_here.json --bf16") == lines{"fp16=True", in_file});
  CHECK(scaled("cat <<E > ds.json\n{\"fp16\": {\"enabled\": true}, \"zero_optimization\": {\"stage\": 1}}\nE\n"
               "python pretrain_gpt.py --deepspeed --deepspeed_config ds.json") == lines{in_file});
  CHECK(scaled("trainer:\n  precision: 16-mixed\n  strategy: deepspeed_stage_2\n") ==
        lines{"precision: 16-mixed", "DeepSpeedStrategy(initial_scale_power=16, loss_scale_window=100)"});
  CHECK(
      scaled("fairseq-train data --arch a --amp") ==
      lines{
          "--amp --fp16-init-scale 65536 --amp-scale-window 1 --amp-init-scale 100  # amp-init-scale is the growth interval"});
  CHECK(scaled("fp16 = dict(mode=AMP_TYPE.NAIVE, initial_scale=256)\n") ==
        lines{"fp16 = dict(mode=AMP_TYPE.NAIVE, initial_scale=2**16, growth_interval=100)"});
}

// Code in which a program makes its scaler is no setting of it.
TEST_CASE("each program has its settings, and where the scale is none it says so") {
  for (const std::string& name : configured_programs()) {
    CAPTURE(name);
    const bool says_any = !configuration_lines(name, wide).empty() ||
                          !configuration_lines(name, {.format = "float32"}).empty() ||
                          !configuration_lines(name, advised).empty();
    // Libraries of 8-bit layers leave it to the program.
    CHECK(says_any == (name != "NxD" && name != "TransformerEngine" && name != "torchao"));
    for (const lines& all : {configuration_lines(name, wide), configuration_lines(name, advised),
                             configuration_lines(name, constant), configuration_lines(name, {.format = "fp32"})})
      for (const std::string& line : all)
        if (line.find("GradScaler(") != std::string::npos && line.find("Mixed") == std::string::npos &&
            name != "Accelerate" && name != "Hugging Face")
          CHECK(line.starts_with("# the loss scale has no setting in " + name + "; in its code: "));
  }
  const auto is = [](const std::string& name, const loss_scale_choice& choice, const lines& expected) {
    CAPTURE(name);
    CHECK(configuration_lines(name, choice) == expected);
  };
  is("timm", wide, {"--amp --amp-dtype bfloat16"});
  is("timm", advised,
     {"--amp --amp-dtype float16",
      "# the loss scale has no setting in timm; in its code: torch.amp.GradScaler(init_scale=2.0**17, "
      "growth_interval=100)"});
  is("timm", {.format = "float16"}, {"--amp --amp-dtype float16"});
  is("diffusers", constant,
     {"--mixed_precision fp16",
      "# the loss scale has no setting in diffusers; in its code: torch.amp.GradScaler(init_scale=2.0**10, "
      "growth_interval=2**31 - 1)  # never grows, but an overflow still halves it"});
  is("Detectron2", wide, {});
  is("torchtune", advised, {});
  is("TF Model Garden", constant, {"runtime: {mixed_precision_dtype: float16, loss_scale: 1024}"});
  is("PaddleNLP", advised,
     {R"("fp16": true, "bf16": false, "scale_loss": 131072)", "# the growth interval has no setting"});
}

TEST_CASE("every scaler has its line, and nothing is said of what is not there") {
  for (const scaler_entry& entry : scaler_catalog()) {
    CAPTURE(entry.name);
    const lines dynamic = configuration_lines(entry.name, advised);
    const bool has_dynamic = entry.name != "static" && entry.name != "none" && entry.name != "ada_loss_zhao";
    CHECK(dynamic.empty() != has_dynamic);
    for (const std::string& line : dynamic) CHECK(line.find('%') == std::string::npos);
    // Of the scalers that have such a parameter, the values are in the lines.
    const std::string text = joined(dynamic, " ");
    bool has_initial = false;
    for (const scaler_parameter& p : entry.parameters)
      has_initial = has_initial || p.name.starts_with("init") || p.name == "cur_scale";
    if (has_initial && has_dynamic)
      CHECK((text.find("17") != std::string::npos || text.find("131072") != std::string::npos));
    for (const std::string_view alias : entry.aliases)
      CHECK_FALSE(configuration_lines(alias, advised).empty() == has_dynamic);
    // A scale that is no number in no line.
    for (const double wrong : {0.0, -1.0, 1.0 / 0.0, 0.0 / 0.0})
      CHECK(joined(configuration_lines(entry.name, {.init_scale = wrong}), " ").find("nan") == std::string::npos);
    CHECK(configuration_lines(entry.name, {.format = "e4m3fn", .init_scale = 8}).empty());
  }
  CHECK(configuration_lines("nosuch", advised).empty());
  CHECK(configuration_lines("DeepSpeed", {.format = "nosuch"}).empty());
}
