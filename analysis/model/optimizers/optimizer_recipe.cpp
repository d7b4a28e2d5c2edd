#include <ulp/model/optimizer_recipe.hpp>

#include <algorithm>
#include <variant>
#include <vector>

namespace ulp {
namespace {

bool takes(const optimizer_entry& entry, std::string_view name) {
  return std::any_of(entry.parameters.begin(), entry.parameters.end(),
                     [&](const optimizer_parameter& p) { return p.name == name; });
}

const optimizer_entry& twin_of(std::string_view name) {
  const auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  if (has("sgd")) return *find_optimizer("torch_sgd");
  return *find_optimizer(has("adamw") || has("xla_zero1") ? "torch_adamw" : "torch_adam");
}

// optimi's dampening is a flag: the buffer is a mean of gradients, as torch's is with a dampening of momentum.
parameter_value torch_value(const optimizer_parameter& p, const std::vector<optimizer_parameter>& all) {
  const bool* const flag = std::get_if<bool>(&p.value);
  if (p.name != "dampening" || flag == nullptr) return p.value;
  const auto momentum = std::find_if(all.begin(), all.end(), [](const auto& o) { return o.name == "momentum"; });
  return *flag && momentum != all.end() ? momentum->value : parameter_value{0.0};
}

}  // namespace

optimizer make_optimizer(const optimizer_recipe& recipe, std::size_t size, const std::string& tensor,
                         std::uint64_t seed) {
  return make_optimizer(*recipe.dialect, {.size = size,
                                          .weights = recipe.weights,
                                          .rounding = recipe.rounding,
                                          .seed = seed,
                                          .tensor = tensor,
                                          .parameters = recipe.parameters});
}

optimizer_recipe float32_twin(const optimizer_recipe& of) {
  optimizer_recipe twin{.dialect = &twin_of(of.dialect->name), .parameters = {}};
  // With their effective values: the defaults of the two may differ.
  const std::vector<optimizer_parameter> effective = make_optimizer(of, 0, "", 0).parameters();
  for (const optimizer_parameter& p : effective)
    if (takes(*twin.dialect, p.name)) twin.parameters.emplace_back(p.name, torch_value(p, effective));
  return twin;
}

}  // namespace ulp
