// GPT-NeoX's YAML: EleutherAI/gpt-neox @252ddc52 configs, megatron/neox_arguments/arguments.py (how `precision` fills the
// sections) and deepspeed_args.py (gradient_clipping is 1.0 where it is not given). Its keys have '-' or '_' as one likes;
// fp16, bf16, zero_optimization, optimizer and gradient_clipping are handed to DeepSpeed. Before bf16 was a section, @0097a39e,
// fp16.type chose bfloat16, for which EleutherAI/DeeperSpeed @1622ff0f runtime/config.py sets the loss scale to 1.
#include <algorithm>
#include <array>

#include "bytes/text.hpp"
#include "frameworks.hpp"
#include "programs/rows.hpp"

namespace ulp::io {
namespace {

constexpr known_keys neox_keys{
    .read = "fp16 bf16 precision gradient_clipping zero_optimization optimizer data_types gradient_accumulation_steps",
    .not_read = R"(activation attention_config attention_dropout attention_softmax_in_fp32 bias_gelu_fusion
        checkpoint_activations checkpoint_factor checkpoint_in_cpu checkpoint_num_layers checkpoint_scale
        contiguous_checkpointing data_impl data_path deepspeed deepspeed_mpi distributed_backend do_train
        eval_interval eval_iters extra_save_iters finetune fp32_allreduce gpt_j_residual
        hidden_dropout hidden_size hostfile init_method keep_last_n_checkpoints launcher layernorm_epsilon load
        log_dir log_interval lr_decay_iters lr_decay_style make_vocab_size_divisible_by master_addr
        max_position_embeddings merge_file min_lr model_parallel_size no_weight_tying norm num_attention_heads
        num_gpus num_layers num_workers output_layer_init_method output_layer_parallelism partition_activations
        pipe_parallel_size pos_emb rotary_pct save save_interval save_iters scaled_masked_softmax_fusion
        scaled_upper_triang_masked_softmax_fusion scheduler seed seq_length split steps_per_print
        synchronize_each_layer tensorboard_dir test_data_paths tokenizer_type train_batch_size train_data_paths
        train_iters train_micro_batch_size_per_gpu use_wandb valid_data_paths vocab_file wall_clock_breakdown
        wandb_group wandb_team warmup weight_decay)"};
constexpr known_keys neox_telling{
    .read =
        "pipe_parallel_size model_parallel_size num_layers hidden_size num_attention_heads "
        "seq_length train_iters lr_decay_iters pos_emb max_position_embeddings"};

std::string underscored(std::string key) {
  std::ranges::replace(key, '-', '_');
  return key;
}

config_entry normalized(const config_entry& entry) {
  config_entry result = entry;
  for (config_entry& e : result.value.entries) e.key = underscored(e.key);
  return result;
}

config_node scalar(std::string text) { return {.what = config_node::kind::scalar, .text = std::move(text)}; }

// What NeoX itself takes from the section before DeepSpeed sees it.
config_entry for_deepspeed(import_run& run, config_entry section, bool enabled) {
  auto& entries = section.value.entries;
  for (const std::string_view own : {"fp16", "type"}) {
    const auto found = std::ranges::find(entries, own, &config_entry::key);
    if (found == entries.end()) continue;
    run.not_read.push_back(section.key + "." + std::string{own});
    entries.erase(found);
  }
  std::erase_if(entries, [](const config_entry& e) { return e.key == "enabled"; });
  entries.push_back({"enabled", section.line, scalar(enabled ? "true" : "false")});
  return section;
}

bool is_typed_bfloat16(const config_section& top) {
  const config_entry* const section = top.find("fp16");
  const config_entry* const type = section == nullptr ? nullptr : section->value.find("type");
  if (type == nullptr) return false;
  const std::string& name = type->value.text;
  if (name != "bfloat16" && name != "fp16")
    top.fail("fp16", "has the type " + in_quotes(name) + ", and GPT-NeoX knows fp16 and bfloat16; correct it");
  return name == "bfloat16";
}

std::string neox_precision_of(const config_section& top) {
  const auto enabled = [&](std::string_view key) {
    const config_entry* const section = top.find(key);
    const config_entry* const flag = section == nullptr ? nullptr : section->value.find("enabled");
    return flag != nullptr && (flag->value.text == "true" || flag->value.text == "True");
  };
  const bool fp16 = enabled("fp16");
  std::string precision = top.text("precision").value_or("");
  constexpr std::array known{"", "fp16", "fp32", "bfloat16"};
  if (std::ranges::find(known, precision) == known.end()) top.fail("precision", "must be fp16, fp32 or bfloat16");
  if (is_typed_bfloat16(top)) {
    if (!precision.empty() && precision != "bfloat16")
      top.fail("precision", "is " + precision + " and fp16.type is bfloat16; remove one of them");
    top.run().means("fp16.type = bfloat16", "bfloat16, the loss is not scaled");
    return "bfloat16";
  }
  if (fp16 && !precision.empty() && precision != "fp16")
    top.fail("precision", "is " + precision + " and fp16.enabled is true, which GPT-NeoX refuses; change one of them");
  if (precision.empty()) precision = fp16 ? "fp16" : enabled("bf16") ? "bfloat16" : "fp32";
  if (top.has("precision")) top.means("precision", precision == "fp16" ? "float16, the loss is scaled" : precision);
  return precision;
}

bool is_neox(const config_node& root) {
  const config_entry all = normalized({.key = "", .line = 1, .value = root});
  return keys_in(all.value, neox_telling) > 1;
}

}  // namespace

void import_neox(import_run& run, const config_entry& root) {
  const config_entry all = normalized(root);
  const config_section top(run, "", all, neox_keys);
  const std::string precision = neox_precision_of(top);

  config_entry inner{.key = "", .line = root.line, .value = {.what = config_node::kind::mapping}};
  for (const std::string_view key : {"fp16", "bf16"}) {
    const config_entry* const given = top.find(key);
    const bool enabled = precision == (key == "fp16" ? "fp16" : "bfloat16");
    if (given == nullptr && !enabled) continue;
    if (given != nullptr && given->value.what != config_node::kind::mapping)
      top.fail(key, "holds keys and values in GPT-NeoX: " + std::string{key} + ": {enabled: true}");
    config_entry section{.key = std::string{key}, .line = root.line, .value = {.what = config_node::kind::mapping}};
    if (given != nullptr) section = normalized(*given);
    inner.value.entries.push_back(for_deepspeed(run, std::move(section), enabled));
  }
  for (const std::string_view key :
       {"zero_optimization", "optimizer", "gradient_clipping", "data_types", "gradient_accumulation_steps"})
    if (const config_entry* const given = top.find(key)) inner.value.entries.push_back(normalized(*given));
  import_deepspeed(run, inner);
  std::optional<said_accumulation>& in = run.out.accumulates_in;
  if (in && !in->assumed.empty()) in.reset();  // DeepSpeed's default; NeoX's was not looked up
  if (top.find("gradient_clipping") == nullptr) {
    run.means("gradient_clipping is not given", "clipped to L2 norm 1, GPT-NeoX's default");
    run.out.clip_norm = 1;
  }
}

program_row neox_program() {
  return {.name = "GPT-NeoX",
          .holds = "DeepSpeed, Megatron-LM",
          .keys = {.read = "precision"},
          .place = written_in::files,
          .import = import_neox,
          .is_its = is_neox};
}

}  // namespace ulp::io
