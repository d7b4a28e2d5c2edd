// An optimizer as people type it: "DIALECT[:FORMAT[:ROUNDING]][:NAME=VALUE]...", where FORMAT is what weights are kept in,
// "bnb_cpu_default_adam8bit:bfloat16:stochastic:beta2=0.99".
#ifndef ULP_ASK_QUESTIONS_RECIPE_TEXT_HPP
#define ULP_ASK_QUESTIONS_RECIPE_TEXT_HPP

#include <string>
#include <vector>

#include <ulp/model/optimizers/optimizer_recipe.hpp>

namespace ulp {

// Throws std::invalid_argument, whose text names the option: no such dialect (with near ones), format, rounding or
// parameter, or a value that the dialect refuses.
[[nodiscard]] optimizer_recipe recipe_of(const std::string& text, const std::string& option);

// A list that was split at commas: what has '=' before any ':' is an option of the format before it, "bf16:e6m9,bias=30".
[[nodiscard]] std::vector<std::string> joined_recipes(const std::vector<std::string>& parts);

// Adds to each recipe that has such a parameter; those that have it not keep what they have. Throws
// std::invalid_argument where none has it, or one refuses the value.
void set_parameter(std::vector<optimizer_recipe>& recipes, const std::string& name, const std::string& value,
                   const std::string& option);

}  // namespace ulp

#endif
