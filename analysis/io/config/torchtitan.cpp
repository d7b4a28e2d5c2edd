// torchtitan's TOML: pytorch/torchtitan @2dfaa276 torchtitan/config/job_config.py, and the same keys on its command line.
// There is no loss scale in it: mixed precision is bfloat16 or float32.
#include "frameworks.hpp"

namespace ulp::io {
namespace {

constexpr known_keys top_keys{.read = "training",
                              .not_read = R"(job profiling metrics model optimizer lr_scheduler parallelism checkpoint
        activation_checkpoint compile quantize float8 mx comm memory_estimation fault_tolerance experimental validation
        debug)"};
constexpr known_keys training_keys{.read = "mixed_precision_param dtype max_norm",
                                   .not_read = R"(batch_size local_batch_size global_batch_size seq_len steps dataset
        dataset_path warmup_steps compile enable_cpu_offload mixed_precision_reduce gc_freq gc_debug seed deterministic
        data_parallel_degree data_parallel_replicate_degree data_parallel_shard_degree tensor_parallel_degree)"};
constexpr known_keys telling{.read =
                                 "job profiling metrics lr_scheduler parallelism activation_checkpoint "
                                 "training experimental"};

}  // namespace

std::size_t torchtitan_keys_in(const config_node& root) {
  const config_entry* const training = root.find("training");
  const bool is_one = training != nullptr && keys_in(training->value, training_keys) > 0 && keys_in(root, telling) > 1;
  return is_one ? all_its_own : 0;
}

void import_torchtitan(import_run& run, const config_entry& root) {
  const config_section top(run, "", root, top_keys);
  const config_section training = *top.section("training", training_keys);
  const auto format_of = [&](std::string_view key, const std::string& otherwise) {
    const std::string name = training.text(key).value_or(otherwise);
    if (name != "bfloat16" && name != "float32") training.fail(key, "must be bfloat16 or float32");
    run.means(training.given(key), name);
    return name;
  };
  const std::string weights = format_of("dtype", "float32");
  const std::string mixed = format_of("mixed_precision_param", "bfloat16");
  run.no_scaling(weights == "bfloat16" ? weights : mixed);
  run.means("torchtitan", "the loss is not scaled");
  if (mixed == "bfloat16" && weights == "float32")
    run.note("where neither FSDP nor autocast is in effect, torchtitan computes in float32: then --format float32");
  const double norm = training.number("max_norm").value_or(1);
  if (norm < 0) training.fail("max_norm", "must not be negative");
  run.means(training.given("max_norm"), norm > 0 ? "clipped to L2 norm " + number_text(norm) : "no clipping");
  if (norm > 0) run.out.clip_norm = norm;
}

}  // namespace ulp::io
