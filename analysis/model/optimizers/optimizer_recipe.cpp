#include <ulp/model/optimizers/optimizer_recipe.hpp>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace ulp {
namespace {

// Dialects of torchao differ by their states alone. bitsandbytes' 8-bit dialects keep codes whatever they are told: theirs
// is the rule of Adam32bit, and that of torch's SGD.
const optimizer_entry& rule_of(const optimizer_entry& dialect) {
  if (dialect.name.starts_with("ao_adamw")) return *find_optimizer("ao_adamw8bit");
  if (dialect.name.starts_with("ao_")) return *find_optimizer("ao_adam8bit");
  if (!dialect.name.starts_with("bnb_")) return dialect;
  const bool is_sgd = dialect.name.find("sgd") != std::string_view::npos;
  return *find_optimizer(is_sgd ? "torch_sgd" : "bnb_cpu_default_adam32bit");
}

// What keeps states in float32, and no more beside the weights.
const std::array<std::pair<std::string_view, parameter_value>, 6> unrounded{{{"m_state", "float32"},
                                                                             {"v_state", "float32"},
                                                                             {"momentum_dtype", "float32"},
                                                                             {"variance_dtype", "float32"},
                                                                             {"use_kahan_summation", false},
                                                                             {"kahan_sum", "false"}}};

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
  optimizer_recipe twin{.dialect = &rule_of(*of.dialect), .parameters = {}};
  // With their effective values: the defaults of the two may differ.
  for (const optimizer_parameter& p : make_optimizer(of, 0, "", 0).parameters()) {
    if (!has_parameter(*twin.dialect, p.name) || p.name == "block_size") continue;  // there are no blocks
    const auto* const own = std::find_if(unrounded.begin(), unrounded.end(),
                                         [&](const auto& parameter) { return parameter.first == p.name; });
    twin.parameters.emplace_back(p.name, own == unrounded.end() ? p.value : own->second);
  }
  return twin;
}

}  // namespace ulp
