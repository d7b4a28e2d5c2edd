// Configurations as the frameworks' own repositories have them (tests/data/configs, whose README names each): what they mean,
// worked out by hand from the frameworks' sources, or the reason, of the loss scale, for which they are refused.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <ulp/formats/catalog.hpp>
#include <ulp/io/config/config_import.hpp>
#include <ulp/model/machines/scaler.hpp>

#include "support/catch.hpp"

using namespace ulp;

namespace {

struct row {
  std::string file;
  std::string framework;  // empty: refused
  std::string expected;   // scaler, parameters, format, clipping; or a part of the reason
  std::string unknown;    // keys that are left out, as the note lists them
};

const std::string json_defaults =
    "scale_window=1000 delayed_shift=2 consecutive_hysteresis=false min_scale=1 in float16";
const std::string megatron_defaults =
    "megatron_dynamic initial_scale=4294967296 min_scale=1 growth_interval=1000 hysteresis=2 in float16, norm 1";

const std::vector<row> rows{
    {"accelerate_deepspeed.yaml", "Accelerate", "deepspeed_dynamic init_scale=65536 " + json_defaults, ""},
    {"accelerate_fp8.yaml", "Accelerate", "none in bfloat16", ""},
    {"accelerate_zero_stage1_config.json", "DeepSpeed", "deepspeed_dynamic init_scale=65536 " + json_defaults, ""},
    {"axolotl_lora_8b.yml", "Hugging Face", "none in bfloat16, norm 1", "eval_sample_packing, lora_modules_to_save"},
    {"axolotl_qlora_fsdp_70b.yaml", "Hugging Face", "none in bfloat16, norm 1",
     "strict, lora_fan_in_fan_out, early_stopping_patience, xformers_attention, eval_table_size"},
    {"cerebras_pytorch_gpt3_111m.yaml", "Cerebras", "cerebras_dls fp16_type=cbfloat16 in cbfloat16, norm 1", ""},
    {"cerebras_tf_fc_mnist.yaml", "Cerebras", "none in float32", ""},
    {"cerebras_tf_gpt2_small.yaml", "Cerebras", "cerebras_tf_legacy in float16", ""},
    {"cerebras_trainer_111m.yaml", "Cerebras", "none in bfloat16, norm 1", ""},
    {"deepspeed_bing_bert_lamb.json", "DeepSpeed",
     "deepspeed_unfused cur_scale=65536 scale_window=1000 min_loss_scale=0.25 in float16, norm 1", ""},
    {"deepspeed_compression_fp16.json", "DeepSpeed",
     "deepspeed_fused_nonzero cur_scale=65536 scale_window=1000 min_loss_scale=1 in float16, norm 1", ""},
    {"deepspeed_megatron_zero2.json", "DeepSpeed", "deepspeed_dynamic init_scale=65536 " + json_defaults + ", norm 1",
     ""},
    {"diffusers_text_to_image.sh", "diffusers", "none in float32, norm 1", ""},
    {"domino_gpt3_2.7b.sh", "Megatron-LM", megatron_defaults, ""},
    {"fairseq_multilingual.sh", "fairseq", "none in float32",
     "encoder_normalize_before, decoder_normalize_before, finetune_from_model, sampling_temperature, decoder_langtok, "
     "lang_dict"},
    {"fairseq_roberta_base.yaml", "fairseq", "fairseq_cli init_scale=128 scale_window=1024 in float16", ""},
    {"fairseq_roberta_mnli.yaml", "fairseq", "fairseq_cli init_scale=4 scale_window=128 threshold=1 in float16", ""},
    {"fairseq_wav2vec_base_100h.yaml", "fairseq", "fairseq_cli init_scale=128 scale_window=2048 in float16", ""},
    {"fairseq_wav2vec_tpu.yaml", "fairseq", "none in float32", ""},
    {"gpt_neox_20b.yml", "GPT-NeoX", "deepspeed_dynamic init_scale=4096 " + json_defaults + ", norm 1", ""},
    {"gpt_neox_bf16_125m.yml", "GPT-NeoX", "none in bfloat16, norm 1", "rope_fusion, layernorm_fusion"},
    {"hf_autotuning_glue.sh", "", "starts '~/projects/run_glue.py' with another 'deepspeed' than", ""},
    {"hf_deepspeed_gpt2.slurm", "Hugging Face", "deepspeed_dynamic init_scale=256 " + json_defaults + ", norm 1",
     "config_overrides"},
    {"llama_factory_badam_ds3.yaml", "Hugging Face", "none in float32, norm 1",
     "use_badam, badam_mode, badam_switch_mode, badam_switch_interval, badam_verbose, comms_config"},
    {"llama_factory_ds_z3_config.json", "", "fp16.enabled is 'auto'", ""},
    {"llama_factory_lora_sft.yaml", "Hugging Face",
     "pytorch_gradscaler init_scale=65536 growth_factor=2 backoff_factor=0.5 growth_interval=2000 in float16, norm 1",
     ""},
    {"megatron_bert_340m.sh", "Megatron-LM", megatron_defaults, ""},
    {"megatron_deepseek_v3.sh", "",
     "depends on $pr_options, which is assigned on lines 25 and 34 with different values", ""},
    {"megatron_deepseek_v3_launch.sh", "",
     "starts no Python program, and has no argument of a framework that is read; give the file that it names: "
     "'examples/deepseek_v3/train_deepseekv3.sh'",
     ""},
    {"megatron_deepspeed_1b3.slurm", "Megatron-LM",
     "deepspeed_fused_nonzero cur_scale=4096 scale_window=500 min_loss_scale=1 in float16, norm 1", ""},
    {"megatron_deepspeed_moe.sh", "", "--deepspeed hands the loss scale to DeepSpeed; give the JSON", ""},
    {"megatron_deepspeed_zero3.slurm", "Megatron-LM", "deepspeed_dynamic init_scale=1024 " + json_defaults + ", norm 1",
     "zero_optimization.stage3_param_persitence_threshold"},
    {"megatron_finetune_mnli.sh", "Megatron-LM", megatron_defaults, "--task, --train-data, --valid-data, --epochs"},
    {"megatron_meg_gpt2.slurm", "Megatron-LM", megatron_defaults, ""},
    {"megatron_sc21_config.sh", "Megatron-LM", "megatron_constant initial_scale=8192 in float16, norm 1", ""},
    {"nemo_megatron_bert.yaml", "NeMo", "nemo_megatron init_scale=4294967296 growth_interval=1000 in float16, norm 1",
     ""},
    {"nxd_training_llama3_8b.yaml", "NxD", "none in bfloat16, norm 1", ""},
    {"torchtitan_base_config.toml", "torchtitan", "none in bfloat16, norm 1", ""},
    {"verl_grpo_qwen2.sh", "", "does not say what $@ holds, which may change that it trains in bfloat16", ""},
    {"verl_ppo_trainer.yaml", "verl", "none in bfloat16, norm 1", ""},
};

std::string folder() {
  const char* const source = std::getenv("ULP_SOURCE_DIR");
  REQUIRE(source != nullptr);
  return std::string{source} + "/tests/data/configs/";
}

std::string text_of(const imported_config& config) {
  std::string text = config.scaler;
  for (const auto& [name, value] : config.parameters) text += " " + name + "=" + to_string(value);
  text += " in " + config.format.value_or("?");
  if (config.clip_norm) text += ", norm " + to_string(parameter_value{*config.clip_norm});
  if (config.clip_value) text += ", value " + to_string(parameter_value{*config.clip_value});
  return text;
}

std::string unknown_of(const imported_config& config) {
  const std::string lead = "not known here, and left out: ";
  const auto note = std::ranges::find_if(config.notes, [&](const std::string& n) { return n.starts_with(lead); });
  // Of programs that are rows they are counted alone.
  return note == config.notes.end() ? "" : note->substr(lead.size());
}

}  // namespace

TEST_CASE("the frameworks' own configurations are read, or refused for their loss scale") {
  for (const row& r : rows) {
    CAPTURE(r.file);
    if (r.framework.empty()) {
      std::string reason;
      try {
        (void)import_config(folder() + r.file);
      } catch (const input_error& problem) {
        reason = problem.what();
      }
      CAPTURE(reason);
      CHECK(reason.find(r.expected) != std::string::npos);
      continue;
    }
    imported_config config;
    REQUIRE_NOTHROW(config = import_config(folder() + r.file));
    CHECK(config.framework == r.framework);
    CHECK(text_of(config) == r.expected);
    CHECK(unknown_of(config) == r.unknown);
    CHECK_NOTHROW(make_scaler(*find_scaler(config.scaler), config.parameters));
  }
}

TEST_CASE("each file of the folder has a row") {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder())) {
    const std::string name = entry.path().filename().string();
    if (name == "README.md") continue;
    ++files;
    CAPTURE(name);
    CHECK(std::ranges::find(rows, name, &row::file) != rows.end());
  }
  CHECK(files == rows.size());
}

TEST_CASE("what the Trainer of Hugging Face fills in is decided by the format asked for") {
  const std::string file = folder() + "llama_factory_ds_z3_config.json";
  CHECK(text_of(import_config(file, float16)) == "deepspeed_dynamic init_scale=65536 " + json_defaults);
  CHECK(text_of(import_config(file, bfloat16)) == "none in bfloat16");
  CHECK(text_of(import_config(folder() + "axolotl_lora_8b.yml", float16)).starts_with("pytorch_gradscaler "));
}
