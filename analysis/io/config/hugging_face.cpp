// Hugging Face's TrainingArguments, as JSON, as YAML (LLaMA-Factory's and axolotl's files hold more besides) or on a command
// line: huggingface/transformers src/transformers/training_args.py, trainer.py, integrations/deepspeed.py (what fills
// "auto"), hiyouga/LLaMA-Factory @9fd7a410 examples, axolotl-ai-cloud/axolotl @107c67ae examples. There is no argument of
// the GradScaler, which Accelerate constructs with its defaults; clipping is to 1 where max_grad_norm is not given.
#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include <ulp/formats/catalog.hpp>

#include "argument_words.hpp"
#include "config/shell/script.hpp"
#include "file_syntax.hpp"
#include "frameworks.hpp"
#include "programs/rows.hpp"

namespace ulp::io {
namespace {

constexpr known_keys keys{
    .read =
        "fp16 bf16 max_grad_norm deepspeed half_precision_backend fp16_backend pure_bf16 bfloat16 "
        "float16 gradient_clipping",
    .not_read = R"(adafactor adam_beta1 adam_beta2 adam_epsilon auto_find_batch_size bf16_full_eval
        data_seed dataloader_drop_last dataloader_num_workers dataloader_pin_memory ddp_backend ddp_find_unused_parameters
        ddp_timeout debug disable_tqdm do_eval do_predict do_train eval_accumulation_steps eval_on_start eval_steps
        eval_strategy evaluation_strategy fp16_full_eval fp16_opt_level fsdp fsdp_config full_determinism
        gradient_accumulation_steps gradient_checkpointing gradient_checkpointing_kwargs greater_is_better
        group_by_length hub_model_id hub_strategy hub_token ignore_data_skip include_inputs_for_metrics jit_mode_eval
        label_names label_smoothing_factor learning_rate length_column_name load_best_model_at_end local_rank log_level
        log_on_each_node logging_dir logging_first_step logging_steps logging_strategy lr_scheduler_kwargs
        lr_scheduler_type max_steps metric_for_best_model neftune_noise_alpha no_cuda num_train_epochs optim optim_args
        output_dir overwrite_output_dir past_index per_device_eval_batch_size per_device_train_batch_size
        predict_with_generate prediction_loss_only push_to_hub remove_unused_columns report_to resume_from_checkpoint
        run_name save_only_model save_safetensors save_steps save_strategy save_total_limit seed skip_memory_metrics
        tf32 torch_compile torch_empty_cache_steps use_cpu warmup_ratio warmup_steps weight_decay
        cache_dir config_name dataset_config_name dataset_name line_by_line max_eval_samples max_seq_length
        max_source_length max_target_length max_train_samples model_name_or_path model_type overwrite_cache
        preprocessing_num_workers task_name tokenizer_name train_file use_fast_tokenizer validation_file
        cutoff_len dataset dataset_dir finetuning_type flash_attn lora_alpha lora_dropout lora_rank lora_target
        max_samples plot_loss quantization_bit stage template trust_remote_code val_size
        adapter base_model chat_template dataset_prepared_path datasets evals_per_epoch flash_attention load_in_4bit
        load_in_8bit lora_model_dir lora_r lora_target_linear lora_target_modules lr_scheduler micro_batch_size
        num_epochs optimizer pad_to_sequence_len sample_packing saves_per_epoch sequence_len special_tokens
        tokenizer_type train_on_inputs val_set_size wandb_entity wandb_log_model wandb_name wandb_project wandb_watch)"};

bool is_given(const config_section& top, std::string_view key) {
  const config_entry* const e = top.find(key);
  return e != nullptr && e->value.text != "auto" && e->value.text != "full" && top.flag(key).value_or(false);
}

void refuse_apex(const config_section& top) {
  for (const std::string_view key : {"half_precision_backend", "fp16_backend"})
    if (top.text(key).value_or("auto") == "apex")
      top.fail(key, "is apex, whose loss scale is another one; replay that by --scaler apex_amp");
}

// huggingface/trl trl/scripts, examples/scripts: their names, or `trl sft`.
bool starts_trl(const argument_list& command) {
  constexpr std::array<std::string_view, 21> scripts{
      "sft.py",        "sft_vlm.py",    "dpo.py",     "dpo_vlm.py",
      "dpo_online.py", "online_dpo.py", "kto.py",     "orpo.py",
      "cpo.py",        "grpo.py",       "rloo.py",    "gkd.py",
      "ppo.py",        "prm.py",        "reward.py",  "reward_modeling.py",
      "xpo.py",        "bco.py",        "nash_md.py", "grpo_vlm.py",
      "rloo_vlm.py"};
  const std::string_view program{command.program};
  const bool is_script = std::ranges::find(scripts, program.substr(program.find_last_of('/') + 1)) != scripts.end() ||
                         program.starts_with("trl.") || program.find("trl/") != std::string_view::npos;
  return is_script || (!command.words.empty() && command.words.front() == "trl");
}

// SFTConfig and its like take bfloat16 in newer versions, and float32 in older ones.
void refuse_defaults_of_trl(const config_section& top) {
  const config_entry* const callee = top.find("()");
  const bool is_called = callee != nullptr && callee->value.text.ends_with("Config");
  const argument_list* const command = top.run().command;
  const bool is_started = command != nullptr && starts_trl(*command);
  if ((is_called || is_started) && top.find("bf16") == nullptr && !is_given(top, "fp16"))
    top.fail("bf16", "is not given, nor is fp16: TRL's versions have different defaults; write bf16 or fp16");
}

// axolotl's bf16 is auto in newer versions, and off in older ones: src/axolotl/utils/schemas/config.py, utils/config (resolve_dtype).
void refuse_default_of_axolotl(const config_section& top) {
  const bool is_said =
      top.has("bf16") || is_given(top, "fp16") || is_given(top, "bfloat16") || is_given(top, "pure_bf16");
  if (top.find("base_model") != nullptr && !is_said)
    top.fail("bf16", "is not given: newer versions of axolotl take auto then, and older ones none; write it");
}

// What a line of a script loads or casts a model in.
struct model_type {
  std::string format;  // of the catalogue, or as it is written
  std::size_t line = 0;
};

// Of "torch_dtype=torch.bfloat16", and of "dtype=..." on a line of from_pretrained; "" where there is none, or float32.
std::string loaded_type(std::string_view line, bool in_loading) {
  constexpr std::string_view key = "dtype";
  for (std::size_t at = line.find(key); at != std::string_view::npos; at = line.find(key, at + 1)) {
    std::string_view before = line.substr(0, at);
    const bool is_long = before.ends_with("torch_");
    if (is_long) before.remove_suffix(std::string_view{"torch_"}.size());
    if ((!is_long && !in_loading) || (!before.empty() && (is_name_character(before.back()) || before.back() == '.')))
      continue;
    std::string_view value = line.substr(at + key.size());
    value.remove_prefix(std::min(value.find_first_not_of(" \"':"), value.size()));
    if (value.starts_with('=')) value.remove_prefix(1);
    value.remove_prefix(std::min(value.find_first_not_of(" \"'"), value.size()));
    if (value.starts_with('=')) continue;
    value = value.substr(0, value.find_first_of("\"'),} "));
    if (value.starts_with("torch.")) value.remove_prefix(std::string_view{"torch."}.size());
    if (value.empty() || value == "float32" || value == "float" || value == "None") continue;
    return std::string{value == "half" || value == "fp16" ? "float16" : value == "bf16" ? "bfloat16" : value};
  }
  return "";
}

// Of model.half(), and of AutoModel.from_pretrained(...).half().
std::string cast_type(std::string_view line, bool in_loading) {
  for (const auto& [call, format] :
       {std::pair{".half()", "float16"}, std::pair{".bfloat16()", "bfloat16"},
        std::pair{".to(torch.float16)", "float16"}, std::pair{".to(torch.bfloat16)", "bfloat16"}}) {
    const std::size_t at = line.find(call);
    if (at != std::string_view::npos && (in_loading || line.substr(0, at).ends_with("model"))) return format;
  }
  return "";
}

// All that the script says of it, without its comments.
std::vector<model_type> model_types(std::string_view script) {
  std::vector<model_type> all;
  std::size_t number = 0;
  std::ptrdiff_t open = 0;  // brackets of from_pretrained
  for (std::size_t at = 0; at < script.size(); ++number) {
    const std::size_t end = std::min(script.find('\n', at), script.size());
    const std::string_view whole = script.substr(at, end - at);
    const std::string_view line = whole.substr(0, whole.find('#'));
    at = end + 1;
    const std::size_t loads = line.find("from_pretrained(");
    const bool in_loading = open > 0 || loads != std::string_view::npos;
    if (in_loading) {
      const std::string_view counted = line.substr(open > 0 ? 0 : loads);
      open += std::ranges::count(counted, '(') - std::ranges::count(counted, ')');
    }
    for (const std::string& format : {loaded_type(line, in_loading), cast_type(line, in_loading)})
      if (!format.empty()) all.push_back({format, number + 1});
  }
  return all;
}

// Without fp16 and bf16 a model that is loaded in another type is trained in it, as the Trainer casts nothing.
std::optional<model_type> type_of_model(const import_run& run) {
  const std::vector<model_type> all = run.command == nullptr ? model_types(run.script) : std::vector<model_type>{};
  if (all.empty()) return {};
  const model_type& first = all.front();
  const auto other = std::ranges::find_if(all, [&](const model_type& m) { return m.format != first.format; });
  const bool is_known = first.format == "float16" || first.format == "bfloat16";
  const bool has_adapter =
      run.script.find("peft") != std::string_view::npos || run.script.find("LoraConfig") != std::string_view::npos;
  if (other == all.end() && is_known && !has_adapter) return first;
  throw input_error(
      run.file, at_line(other == all.end() ? first.line : other->line),
      "loads or casts a model, with neither fp16 nor bf16 for the Trainer, and what is trained is in the type of " +
          std::string{has_adapter ? "the adapter" : "that model"} +
          ", which is not known here: leave --config out and give --scaler none and --format");
}

// DeepSpeed's file, or its content, with what the Trainer fills in.
void import_with_deepspeed(const config_section& top, const std::string& format, double norm) {
  import_run& run = top.run();
  run.out.words = "Hugging Face with DeepSpeed";
  run.by_trainer = true;
  run.trainer_norm = norm;
  run.wanted = format == "float16" ? float16 : format == "bfloat16" ? bfloat16 : float32;
  const std::string named = top.text("deepspeed").value();
  if (const auto written = run.written.find(named); written != run.written.end()) {
    top.means("deepspeed", "DeepSpeed keeps the loss scale: what follows is of this file, which the script writes");
    import_inner_deepspeed(run, run.file, json_of_script(written->second));
    return;
  }
  if (const auto path = path_beside(run.file, named)) {
    top.means("deepspeed", "DeepSpeed keeps the loss scale: what follows is of this file");
    import_inner_deepspeed(run, *path, text_of(*path));
    return;
  }
  if (format == "float16")
    top.fail("deepspeed",
             "hands the loss scale to DeepSpeed, and there is no such file here; give it by --config with "
             "--format float16");
  top.means("deepspeed", "a file that is not here; it keeps the loss scale of float16 only");
  run.no_scaling(format);
  if (norm > 0) run.out.clip_norm = norm;
}

}  // namespace

void import_hugging_face(import_run& run, const config_entry& root) {
  const config_section top(run, "", root, keys);
  refuse_apex(top);
  if (const config_entry* const settings = top.find("deepspeed");
      settings != nullptr && settings->value.what == config_node::kind::mapping)
    top.fail(
        "deepspeed",
        "holds DeepSpeed's settings themselves, which are read from a file: write them to one as JSON, and its name here");
  run.out.words = run.command != nullptr       ? "the Trainer's arguments"
                  : top.has("()")              ? ""  // in Python
                  : is_given(top, "pure_bf16") ? "TrainingArguments with pure_bf16"
                                               : "TrainingArguments";
  refuse_defaults_of_trl(top);
  refuse_default_of_axolotl(top);
  const std::string choice = top.text("bf16").value_or("");
  const bool float16_model = is_given(top, "float16") && !is_given(top, "fp16") && choice != "auto" && choice != "full";
  bool fp16 = is_given(top, "fp16") || float16_model;
  bool bf16 = is_given(top, "bf16") || is_given(top, "bfloat16") || is_given(top, "pure_bf16");
  if (choice == "auto" || choice == "full") {
    bf16 = choice == "full" || run.wanted != float16;
    fp16 = !bf16;
    top.means("bf16", bf16 ? "bfloat16" : "float16, as the format asked for says");
    if (choice == "auto" && !run.wanted)
      run.note(
          "bf16 = auto is bfloat16 on GPUs that have it, which is assumed here, and float16 on others: for these "
          "--format float16");
  } else if (bf16) {
    top.means(top.has("bf16")        ? "bf16"
              : top.has("pure_bf16") ? "pure_bf16"
                                     : "bfloat16",
              "bfloat16, the loss is not scaled");
  }
  if (fp16 && bf16) top.fail("bf16", "and fp16 cannot both be true");
  const bool by_deepspeed = !top.text("deepspeed").value_or("").empty();
  const std::optional<model_type> model =
      top.has("()") && !fp16 && !bf16 && !by_deepspeed ? type_of_model(run) : std::nullopt;
  if (model) {
    run.settled[static_cast<std::size_t>(concern::precision)] = true;
    run.means("line " + std::to_string(model->line),
              "the model is " + model->format + " without AMP, the loss is not scaled");
    (model->format == "float16" ? fp16 : bf16) = true;
  }
  const std::string format = fp16 ? "float16" : bf16 ? "bfloat16" : "float32";
  // axolotl's float16 and bfloat16 cast the model and leave AMP out.
  const bool has_adapter = top.text("adapter").value_or("") != "";
  const bool bfloat16_model = is_given(top, "bfloat16") && top.find("bf16") == nullptr && !has_adapter;
  if (float16_model && has_adapter)
    top.fail(
        "float16",
        "casts the model, and what the adapter is trained in is not known; leave --config out and give --scaler none "
        "and --format");
  if (float16_model && !top.text("deepspeed").value_or("").empty())
    top.fail("float16", "without fp16 leaves open what DeepSpeed trains in; leave --config out and give --format");
  if (is_given(top, "pure_bf16") || choice == "full" || bfloat16_model || (float16_model && fp16) || model) {
    run.out.weights_kept_in = format;
    run.note("the weights that are trained are " + format + ", without a float32 copy");
  }

  const std::string_view clip =
      top.has("gradient_clipping") && !top.has("max_grad_norm") ? "gradient_clipping" : "max_grad_norm";
  const bool is_off = top.has(clip) && (top.find(clip) == nullptr || top.find(clip)->value.text == "None");
  const double norm = is_off ? 0 : top.number(clip).value_or(1);
  if (norm < 0) top.fail(clip, "must not be negative");
  const std::string& how = norm > 0 ? "clipped to L2 norm " + number_text(norm) : "no clipping";
  if (top.has(clip) || top.text("deepspeed").value_or("").empty())
    run.means(top.given(clip), how + (top.has(clip) ? "" : ", the Trainer's default"));

  if (float16_model)
    top.means("float16", "the model in float16 without AMP, the loss is not scaled");
  else if (fp16 && !model)
    top.means("fp16", "autocast to float16, the loss is scaled");
  if (by_deepspeed) {
    import_with_deepspeed(top, format, norm);
    return;
  }
  if (fp16 && !float16_model && !model) {
    run.means("the GradScaler has no argument", "torch.amp.GradScaler's defaults, by Accelerate");
    set_grad_scaler(run);
  } else {
    if (!bf16 && !fp16) run.means("neither fp16 nor bf16", "float32, the loss is not scaled");
    run.no_scaling(format);
  }
  if (norm > 0) run.out.clip_norm = norm;
}

program_row hugging_face_program() {
  return {
      .name = "Hugging Face",
      .markers =
          R"(per_device_train_batch_size per_gpu_train_batch_size fp16_full_eval bf16_full_eval half_precision_backend fp16_backend
          eval_strategy evaluation_strategy save_strategy logging_strategy lr_scheduler_type+output_dir save_total_limit+output_dir
          output_dir+deepspeed finetuning_type cutoff_len+template base_model+micro_batch_size base_model+sequence_len
          base_model+datasets sample_packing pad_to_sequence_len lora_target_linear)",
      .calls =
          R"(TrainingArguments Seq2SeqTrainingArguments SFTConfig DPOConfig ORPOConfig KTOConfig CPOConfig GRPOConfig PPOConfig
          RewardConfig RLOOConfig GKDConfig BCOConfig PRMConfig OnlineDPOConfig NashMDConfig XPOConfig SentenceTransformerTrainingArguments GaudiTrainingArguments)",
      .started_by =
          R"(run_glue.py run_clm.py run_mlm.py run_plm.py run_fim.py run_translation.py run_summarization.py run_qa.py run_ner.py
          run_swag.py run_speech_recognition_ctc.py run_speech_recognition_seq2seq.py run_image_classification.py run_mae.py
          trl trl/*.py trl.scripts.* trl.cli examples/scripts/*.py)",
      .settings = "config",
      .holds = "Lightning",
      .keys = keys,
      .import = import_hugging_face};
}

}  // namespace ulp::io
