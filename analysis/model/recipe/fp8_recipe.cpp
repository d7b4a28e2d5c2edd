#include <ulp/model/recipe/fp8_recipe.hpp>

#include <algorithm>
#include <array>
#include <stdexcept>

#include <ulp/formats/catalog.hpp>
#include <ulp/formats/name_suggestions.hpp>

namespace ulp {
namespace {

constexpr std::string_view by_row = "it has a scale for each row, and histograms do not know rows";
constexpr std::string_view by_block =
    "it has a scale for each block, and histograms do not know blocks; ulp sweep and ulp advise try formats of blocks";

struct variant {
  std::string_view name;
  format forward;
  format gradient;
};
constexpr std::array variants{variant{"hybrid", float8_e4m3fn, float8_e5m2},
                              variant{"e4m3", float8_e4m3fn, float8_e4m3fn}, variant{"e5m2", float8_e5m2, float8_e5m2}};

// Scaled casts saturate: none of these stacks delivers infinity for a finite value.
treatment cast_to(const format& to) {
  return {.format = to, .rounding = {.overflow = overflow_mode::saturate}, .scale = scale_source::tensor};
}

std::string listed(const std::vector<std::string_view>& names) {
  std::string all;
  for (const std::string_view name : names) all += (all.empty() ? "" : ", ") + std::string{name};
  return all;
}

}  // namespace

const fp8_treatment& fp8_recipe::of(const tensor_info& t) const noexcept {
  switch (t.kind) {
    case tensor_kind::weight_grad:
    case tensor_kind::activation_grad:
    case tensor_kind::update: return gradient;
    case tensor_kind::unknown:
    case tensor_kind::weight:
    case tensor_kind::activation: break;
  }
  return forward;
}

fp8_recipe uniform_recipe(const fp8_treatment& all) {
  return {.name = std::string{all.start.entry().name}, .forward = all, .gradient = all};
}

std::span<const fp8_recipe_entry> fp8_recipe_catalog() {
  static const std::vector<fp8_recipe_entry> all{
      {.name = "te_delayed",
       .policy = "te_delayed_bulk",
       .variants = {"hybrid", "e4m3", "e5m2"},
       .summary = "TransformerEngine DelayedScaling",
       .source = "NVIDIA/TransformerEngine transformer_engine/common/recipe/__init__.py @d0067d0d"},
      {.name = "te_current",
       .policy = "te_current_cuda",
       .variants = {"hybrid", "e4m3", "e5m2"},
       .summary = "TransformerEngine Float8CurrentScaling",
       .source = "NVIDIA/TransformerEngine transformer_engine/common/recipe/__init__.py @d0067d0d"},
      {.name = "torchao_tensorwise",
       .policy = "torchao_dynamic",
       .variants = {"hybrid", "e4m3", "e5m2"},
       .summary = "torchao float8 training, a scale for each tensor",
       .source = "pytorch/ao torchao/float8/config.py @36027d82"},
      {.name = "flax",
       .policy = "flax_delayed",
       .variants = {"hybrid"},
       .summary = "Flax's Fp8DotGeneralOp",
       .source = "google/flax flax/linen/fp8_ops.py @18f8f311"},
      {.name = "keras",
       .policy = "keras_delayed",
       .variants = {"hybrid"},
       .summary = "Keras' float8 layers",
       .source = "keras-team/keras keras/src/quantizers/quantizers.py @3422977a"},
      {.name = "msamp",
       .policy = "msamp",
       .variants = {"hybrid", "e4m3"},
       .summary = "MS-AMP",
       .source = "Azure/MS-AMP msamp/common/tensor/meta.py @9746ea85"},
      {.name = "torchao_rowwise",
       .policy = "torchao_dynamic",
       .variants = {"e4m3"},
       .parameters = {{"round_scales_to_power_of_2", "true"}},
       .unfit = by_row,
       .summary = "torchao float8 training, a scale for each row",
       .source = "pytorch/ao torchao/float8/config.py @36027d82"},
      {.name = "deepseek_v3",
       .policy = "te_current_python",
       .variants = {"e4m3"},
       .parameters = {{"force_pow_2_scales", "true"}},
       .unfit = by_block,
       .summary = "DeepSeek-V3: blocks of 1x128, weights 128x128",
       .source = "arXiv:2412.19437 section 3.3"},
      {.name = "te_mxfp8",
       .policy = "te_current_cuda",
       .variants = {"e4m3"},
       .unfit = by_block,
       .summary = "TransformerEngine MXFP8BlockScaling: blocks of 32",
       .source = "NVIDIA/TransformerEngine transformer_engine/common/recipe/__init__.py @d0067d0d"}};
  return all;
}

const fp8_recipe_entry& fp8_recipe_entry_named(std::string_view name, const std::vector<std::string_view>& in_blocks) {
  const std::string_view family = name.substr(0, name.find(':'));
  std::vector<std::string_view> names;
  for (const fp8_recipe_entry& e : fp8_recipe_catalog()) {
    if (e.name == family) return e;
    names.push_back(e.name);
  }
  if (find_fp8_scaler(family) != nullptr)
    throw std::invalid_argument("'" + std::string{family} + "' is a policy, no recipe: --scaler " +
                                std::string{family} +
                                " with --format casts all tensors by it; recipes: " + listed(names));
  std::vector<std::string_view> all = names;
  all.insert(all.end(), in_blocks.begin(), in_blocks.end());
  throw std::invalid_argument(
      "unknown recipe '" + std::string{family} + "'; near: " + std::string{nearest_name(family, all)} +
      "; recipes: " + listed(names) +
      (in_blocks.empty() ? "" : "; in blocks: " + listed(in_blocks) + ", and all rows of ulp formats --blocks"));
}

fp8_recipe fp8_recipe_named(std::string_view name,
                            const std::vector<std::pair<std::string, parameter_value>>& parameters) {
  const std::size_t colon = name.find(':');
  const fp8_recipe_entry& entry = fp8_recipe_entry_named(name);
  if (!entry.unfit.empty())
    throw std::invalid_argument("recipe " + std::string{entry.name} + ": " + std::string{entry.unfit});
  const std::string_view asked = colon == std::string_view::npos ? entry.variants.front() : name.substr(colon + 1);
  if (std::ranges::find(entry.variants, asked) == entry.variants.end())
    throw std::invalid_argument("recipe " + std::string{entry.name} + " has no variant '" + std::string{asked} +
                                "'; it has " + listed(entry.variants));
  const variant& v = *std::ranges::find(variants, asked, &variant::name);
  std::vector<std::pair<std::string, parameter_value>> all;
  for (const auto& [key, value] : entry.parameters) all.emplace_back(key, parse_parameter(value));
  all.insert(all.end(), parameters.begin(), parameters.end());
  const fp8_scaler_entry& policy = *find_fp8_scaler(entry.policy);
  const auto treated = [&](const format& to) {
    return fp8_treatment{.how = cast_to(to), .start = make_fp8_scaler(policy, to, all)};
  };
  return {.name = std::string{entry.name} + ":" + std::string{asked},
          .forward = treated(v.forward),
          .gradient = treated(v.gradient),
          .is_of_linear_layers = true};
}

}  // namespace ulp
