// NeMo's YAML of Megatron models, which has Lightning's `trainer` and a scaler of its own: NVIDIA/NeMo @00c4980f
// examples/nlp/language_modeling/conf, nemo/collections/nlp/parts/megatron_trainer_builder.py (defaults 2^32, 1000, 2).
#include <array>
#include <utility>

#include "frameworks.hpp"

namespace ulp::io {
namespace {

constexpr known_keys top_keys{.read = "trainer model",
                              .not_read = "name restore_from_path exp_manager hydra defaults inference run target"};
constexpr known_keys trainer_keys{.read = "precision gradient_clip_val",
                                  .not_read = R"(accelerator accumulate_grad_batches benchmark checkpoint_callback
        devices enable_checkpointing enable_model_summary enable_progress_bar gpus limit_test_batches
        limit_train_batches limit_val_batches log_every_n_steps logger max_epochs max_steps max_time num_nodes
        num_sanity_val_steps profiler replace_sampler_ddp resume_from_checkpoint sync_batchnorm
        use_distributed_sampler val_check_interval)"};
constexpr std::string_view scale_keys = "native_amp_init_scale native_amp_growth_interval hysteresis";

}  // namespace

std::size_t nemo_keys_in(const config_node& root) {
  const config_entry* const model = root.find("model");
  const bool is_one = model != nullptr && root.find("trainer") != nullptr &&
                      keys_in(model->value, {.read = "native_amp_init_scale native_amp_growth_interval "
                                                     "tensor_model_parallel_size megatron_amp_O2"}) > 0;
  return is_one ? all_its_own : 0;
}

void import_nemo(import_run& run, const config_entry& root) {
  const config_section top(run, "", root, top_keys);
  const auto trainer = top.section("trainer", trainer_keys);
  if (!trainer) top.fail("trainer", "holds keys and values");
  // Of a model only what decides on the loss scale is of interest.
  const config_entry& whole = *top.find("model");
  config_entry some{.key = "model", .line = whole.line, .value = {.what = config_node::kind::mapping}};
  const std::vector<std::string_view> wanted = words_of(scale_keys);
  for (const config_entry& e : whole.value.entries)
    if (std::ranges::find(wanted, e.key) != wanted.end() || !near_key(e.key, wanted).empty())
      some.value.entries.push_back(e);
  const config_section model(run, "model", some, {.read = scale_keys});

  const std::string precision = trainer->text("precision").value_or("32");
  const bool half = precision == "16" || precision == "16-mixed";
  const bool brain = precision.starts_with("bf16");
  if (!half && !brain && !precision.starts_with("32")) trainer->fail("precision", "must be 16, bf16 or 32");
  trainer->means("precision", half    ? "float16 with NeMo's GradScaler"
                              : brain ? "bfloat16, the loss is not scaled"
                                      : "float32, the loss is not scaled");
  if (half) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 3> keys{
        {{"native_amp_init_scale", "init_scale"},
         {"native_amp_growth_interval", "growth_interval"},
         {"hysteresis", "hysteresis"}}};
    constexpr std::array meanings{"scale of the first step", "good steps in a row before the scale doubles",
                                  "overflows in a row that halve it"};
    run.out.scaler = "nemo_megatron";
    run.out.format = "float16";
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const auto& [key, parameter] = keys[i];
      const auto value = model.number(key);
      if (!value) continue;
      if (!(*value > 0)) model.fail(key, "must be above 0");
      model.means(key, meanings[i]);
      run.parameter(std::string{parameter}, *value);
    }
  } else {
    for (const std::string_view key : wanted)
      if (model.has(key)) model.means(key, "nothing, since the loss is not scaled");
    run.no_scaling(brain ? "bfloat16" : "float32");
  }
  const double norm = trainer->number("gradient_clip_val").value_or(0);
  trainer->means("gradient_clip_val", norm > 0 ? "clipped to this L2 norm" : "no clipping");
  if (norm > 0) run.out.clip_norm = norm;
}

}  // namespace ulp::io
