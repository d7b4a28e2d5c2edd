#include "plan_layers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ulp/report/tables/plan_files.hpp>
#include <ulp/report/tables/plan_table.hpp>

namespace ulp {
namespace {

constexpr std::array operand_names{"input", "weight", "output gradient"};
constexpr std::array operand_kinds{tensor_kind::activation, tensor_kind::weight, tensor_kind::activation_grad};

struct operands {
  std::string layer;
  std::array<const planned_tensor*, 3> of{};
};

std::optional<std::size_t> operand_of(const tensor_info& t) {
  // What a module gives, which the recorder calls so, is no operand of its own.
  if (t.name.starts_with("forward/") || t.name.ends_with(".bias")) return std::nullopt;
  const auto* const at = std::ranges::find(operand_kinds, t.kind);
  return at == operand_kinds.end() ? std::nullopt : std::optional{static_cast<std::size_t>(at - operand_kinds.begin())};
}

// Layers that some matrix was recorded of, in the order of the input.
std::vector<operands> layers_of(const plan_answer& plan) {
  std::vector<operands> all;
  for (const planned_tensor& t : plan.tensors) {
    const tensor_info& info = plan.info[t.tensor];
    const bool is_matrix = info.kind == tensor_kind::weight || info.kind == tensor_kind::weight_grad
                               ? may_be_narrow(info)
                               : operand_of(info).has_value();
    if (!is_matrix) continue;
    const std::string name = layer_of(info.name);
    auto at = std::ranges::find(all, name, &operands::layer);
    if (at == all.end()) at = all.insert(all.end(), {name, {}});
    if (const auto which = operand_of(info)) at->of[*which] = &t;
  }
  return all;
}

std::optional<std::size_t> index_of(const plan_answer& plan, std::string_view treatment) {
  const auto at = std::ranges::find(plan.treatments, treatment, &plan_treatment::name);
  return at == plan.treatments.end() ? std::nullopt
                                     : std::optional{static_cast<std::size_t>(at - plan.treatments.begin())};
}

std::string not_recorded(const operands& layer) {
  std::string lacking;
  for (std::size_t i = 0; i < layer.of.size(); ++i)
    if (layer.of[i] == nullptr) lacking += (lacking.empty() ? "" : ", ") + std::string{operand_names[i]};
  return lacking.empty() ? "" : "not recorded: " + lacking;
}

judged_layer judge(const plan_answer& plan, const operands& layer, const layer_recipe& recipe) {
  judged_layer made{.name = layer.layer, .numel = 0, .why_not = not_recorded(layer)};
  if (layer.of[1] != nullptr) made.numel = layer.of[1]->numel;
  for (std::size_t i = 0; i < layer.of.size() && made.why_not.empty(); ++i) {
    const planned_tensor& t = *layer.of[i];
    const std::size_t treatment = *index_of(plan, recipe.treatments[i]);
    if (t.nothing_seen)
      made.why_not = fmt::format("{}: zero in every step", operand_names[i]);
    else if (t.of[treatment].verdict(plan.most) != plan_verdict::holds)
      made.why_not = fmt::format("{} in {} {}", operand_names[i], recipe.treatments[i], why_not(plan, t, treatment));
  }
  // Then it is in the run's 16-bit format, which was chosen for other tensors.
  const std::optional<std::size_t> half = plan.setting.half;
  for (std::size_t i = 0; i < layer.of.size() && !made.why_not.empty() && half; ++i)
    if (const planned_tensor* const t = layer.of[i];
        t != nullptr && !t->nothing_seen && t->of[*half].verdict(plan.most) != plan_verdict::holds)
      made.why_not +=
          fmt::format("; {} in {} {}", operand_names[i], plan.treatment(*half).name, why_not(plan, *t, *half));
  return made;
}

}  // namespace

const std::vector<layer_recipe>& layer_recipes() {
  static const std::vector<layer_recipe> all{{"nvfp4", {"nvfp4", "nvfp4", "nvfp4"}},
                                             {"tensorwise_hybrid", {"fp8_e4m3", "fp8_e4m3", "fp8_e5m2"}},
                                             {"tensorwise_e4m3", {"fp8_e4m3", "fp8_e4m3", "fp8_e4m3"}},
                                             {"rowwise", {"fp8_e4m3_row", "fp8_e4m3_row", "fp8_e4m3_row"}},
                                             {"blockwise", {"fp8_e4m3_1x128", "fp8_e4m3_128x128", "fp8_e4m3_1x128"}},
                                             {"mxfp8", {"mxfp8_e4m3", "mxfp8_e4m3", "mxfp8_e4m3"}}};
  return all;
}

layers_in_recipe best_layers(const plan_answer& plan, const std::vector<std::string_view>& recipes) {
  const std::vector<operands> layers = layers_of(plan);
  layers_in_recipe best;
  std::uint64_t most = 0;
  for (const layer_recipe& recipe : layer_recipes()) {
    if (std::ranges::find(recipes, recipe.name) == recipes.end()) continue;
    if (!std::ranges::all_of(recipe.treatments, [&](std::string_view t) { return index_of(plan, t).has_value(); }))
      continue;
    layers_in_recipe here;
    std::uint64_t numel = 0;
    for (const operands& layer : layers) {
      here.layers.push_back(judge(plan, layer, recipe));
      if (here.layers.back().why_not.empty()) numel += here.layers.back().numel;
    }
    if (numel > most) here.recipe = &recipe;
    if (best.layers.empty() || numel > most) best = here;
    most = std::max(most, numel);
  }
  return best;
}

}  // namespace ulp
