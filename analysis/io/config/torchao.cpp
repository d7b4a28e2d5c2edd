// torchao's Float8LinearConfig, as Python calls it or prints it, or its fields in a file: pytorch/ao @36027d82
// torchao/float8/config.py (fields, defaults, from_recipe_name), float8_linear_utils.py (convert_to_float8_training).
#include <algorithm>
#include <array>

#include "bytes/ascii.hpp"
#include "frameworks.hpp"
#include "programs/rows.hpp"

namespace ulp::io {
namespace {

constexpr known_keys config_keys{
    .read = R"(0 recipe_name cast_config_input cast_config_weight cast_config_grad_output round_scales_to_power_of_2
        module_filter_fn)",
    .not_read = R"(cast_config_input_for_grad_weight cast_config_weight_for_grad_input
        cast_config_grad_output_for_grad_weight gemm_config_output gemm_config_grad_input gemm_config_grad_weight
        enable_fsdp_float8_all_gather pad_inner_dim emulate force_recompute_fp8_weight_in_bwd)"};
constexpr known_keys cast_keys{.read = "scaling_type scaling_granularity target_dtype"};

// "axiswise" of ScalingGranularity.AXISWISE and of 'axiswise', "float8_e5m2" of torch.float8_e5m2.
std::string member(const config_section& s, std::string_view key) {
  std::string word = s.text(key).value_or("");
  word.erase(0, word.find_last_of('.') + 1);
  return in_small_letters(word);
}

struct cast {
  bool is_scaled = true;
  bool by_row = false;
  std::string format;  // "e4m3"
};

cast cast_of(const config_section& whole, std::string_view key, const char* usual) {
  cast made{.format = usual};
  const auto s = whole.section(key, cast_keys);
  if (!s) return made;
  if (s->has("0")) whole.fail(key, "gives a value without a name; write scaling_type=..., if it is the first");
  const std::string type = member(*s, "scaling_type");
  made.is_scaled = type != "disabled";
  if (!type.empty() && type != "dynamic" && type != "disabled")
    s->fail("scaling_type", "is " + type + ", which torchao has no more: dynamic or disabled");
  const std::string granularity = member(*s, "scaling_granularity");
  made.by_row = granularity == "axiswise";
  if (!granularity.empty() && !made.by_row && granularity != "tensorwise")
    s->fail("scaling_granularity", "must be tensorwise or axiswise");
  const std::string type_of_elements = member(*s, "target_dtype");
  if (type_of_elements == "float8_e4m3fn" || type_of_elements == "e4m3_dtype")
    made.format = "e4m3";
  else if (type_of_elements == "float8_e5m2" || type_of_elements == "e5m2_dtype")
    made.format = "e5m2";
  else if (!type_of_elements.empty())
    s->fail("target_dtype",
            "is " + type_of_elements + ", of which no recipe is replayed; give --scaler torchao_dynamic with --format");
  return made;
}

void read_recipe_name(const config_section& s, std::string_view key) {
  const std::string name = member(s, key);
  constexpr std::array known{"tensorwise", "rowwise", "rowwise_with_gw_hp"};
  if (std::ranges::find(known, name) == known.end()) s.fail(key, "must be tensorwise, rowwise or rowwise_with_gw_hp");
  s.means(key, "how 8-bit floats are scaled");
  said_float8& said = *s.run().out.float8;
  said.recipe = name == "tensorwise" ? "tensorwise" : "rowwise";
  if (name == "tensorwise") said.format = "hybrid";
  said.powers_of_two = name != "tensorwise";
}

void read_casts(const config_section& s) {
  said_float8& said = *s.run().out.float8;
  const cast input = cast_of(s, "cast_config_input", "e4m3");
  const cast weight = cast_of(s, "cast_config_weight", "e4m3");
  const cast gradient = cast_of(s, "cast_config_grad_output", "e5m2");
  for (const auto& [key, of] : {std::pair{"cast_config_input", &input},
                                {"cast_config_weight", &weight},
                                {"cast_config_grad_output", &gradient}})
    if (!of->is_scaled)
      s.fail(key,
             "keeps its tensors out of float8, which is not replayed from here; give --recipe torchao_tensorwise "
             "with --kind or --tensor for those that are in it");
  said.recipe = input.by_row || weight.by_row || gradient.by_row ? "rowwise" : "tensorwise";
  if (input.format != weight.format)
    s.fail("cast_config_input",
           "has another format than cast_config_weight, which is not replayed from here; give "
           "--scaler torchao_dynamic with --format and --kind for one of them");
  if (input.format == "e5m2" && gradient.format == "e4m3")
    s.fail("cast_config_grad_output",
           "is in e4m3 beside inputs in e5m2, which no recipe has; give --scaler "
           "torchao_dynamic with --format and --kind");
  said.format = input.format == gradient.format ? input.format : "hybrid";
  s.run().means("inputs and weights in " + input.format + ", gradients of outputs in " + gradient.format,
                said.recipe == "rowwise" ? "a scale for each row" : "a scale for each tensor, from its own amax");
  said.powers_of_two = s.flag("round_scales_to_power_of_2").value_or(false);
  if (s.has("round_scales_to_power_of_2"))
    s.means("round_scales_to_power_of_2", *said.powers_of_two ? "scales are lowered to powers of two" : "as they come");
}

void import_torchao(import_run& run, const config_entry& root) {
  read_torchao(run, root);
  run.out.scaler = "none";
}

}  // namespace

void read_torchao(import_run& run, const config_entry& root) {
  const config_section s(run, "", root, config_keys);
  run.out.float8.emplace().library = "torchao";
  const config_entry* const callee = root.value.find("()");
  const bool is_named = callee != nullptr && callee->value.text.ends_with("from_recipe_name");
  if (is_named && !s.has("0") && !s.has("recipe_name")) s.fail("recipe_name", "is not given");
  if (s.has("recipe_name") || is_named) {
    read_recipe_name(s, s.has("recipe_name") ? "recipe_name" : "0");
  } else {
    if (s.has("0") && callee != nullptr && callee->value.text.ends_with("Float8LinearConfig"))
      s.fail("0", "is a value without a name; write cast_config_input=..., if it is the first");
    read_casts(s);
  }
  if (s.has("module_filter_fn"))
    run.note("module_filter_fn keeps layers out of float8, which a file does not say: --tensor REGEX leaves them out");
}

program_row torchao_program() {
  return {.name = "torchao",
          .markers =
              "cast_config_input cast_config_weight cast_config_grad_output round_scales_to_power_of_2 "
              "recipe_name+enable_fsdp_float8_all_gather",
          .calls = "Float8LinearConfig from_recipe_name",
          .beside = "module_filter_fn",
          .is_part = true,
          .keys = config_keys,
          .place = written_in::files,
          .import = import_torchao};
}

// convert_to_float8_training(model) of torchao.float8, where no configuration is in the file.
program_row torchao_by_default_program() {
  return {.name = "torchao",
          .calls = "convert_to_float8_training",
          .is_part = true,
          .keys = config_keys,
          .place = written_in::files,
          .import = import_torchao};
}

}  // namespace ulp::io
