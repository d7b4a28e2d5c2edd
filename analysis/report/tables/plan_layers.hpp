// Which layers of a plan can be in a recipe of 8-bit training, or of fewer bits.
#ifndef ULP_REPORT_TABLES_PLAN_LAYERS_HPP
#define ULP_REPORT_TABLES_PLAN_LAYERS_HPP

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ulp/ask/runs/plan_answer.hpp>

namespace ulp {

// What a recipe makes of the operands of a product, as treatments of plans.
struct layer_recipe {
  std::string_view name;
  std::array<std::string_view, 3> treatments;  // of the input, the weight, the gradient of the output
};

// In the order in which they are preferred where they hold for as many weights.
[[nodiscard]] const std::vector<layer_recipe>& layer_recipes();

struct judged_layer {
  std::string name;
  std::uint64_t numel = 0;  // of its weight
  std::string why_not;      // empty where the recipe holds for it
};

struct layers_in_recipe {
  const layer_recipe* recipe = nullptr;  // nullptr where none holds for any layer
  std::vector<judged_layer> layers;      // in the order of the input; under no recipe with what each lacks

  [[nodiscard]] bool has_any() const { return recipe != nullptr; }
};

// Of these recipes, as far as the hardware has their treatments, the one that holds for the most weights.
[[nodiscard]] layers_in_recipe best_layers(const plan_answer& plan, const std::vector<std::string_view>& recipes);

}  // namespace ulp

#endif
