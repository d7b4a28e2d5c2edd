// Recipes that scale each tensor: which tensors are cast to which 8-bit format, under which policy.
//
// A recipe is a row of a table, named FAMILY or FAMILY:VARIANT as people say it: te_delayed:hybrid. What a recipe does not
// cast (outputs of products such as weight gradients, biases and norms) stays out; see fp8_choice.
#ifndef ULP_MODEL_RECIPE_FP8_RECIPE_HPP
#define ULP_MODEL_RECIPE_FP8_RECIPE_HPP

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ulp/formats/treatment.hpp>
#include <ulp/model/cells/step.hpp>
#include <ulp/model/machines/fp8_scaler.hpp>

namespace ulp {

// What a tensor's values are rounded to, and the policy that scales it in its start state.
struct fp8_treatment {
  treatment how;
  fp8_scaler start;
};

struct fp8_recipe {
  std::string name;
  fp8_treatment forward;                   // activations and weights, and what is not known to be anything else
  fp8_treatment gradient;                  // gradients and updates
  bool is_of_linear_layers = false;        // only what a linear layer's products take is cast: see fp8_choice
  std::vector<std::string> kept_out = {};  // parts of the names of tensors that are not cast

  [[nodiscard]] const fp8_treatment& of(const tensor_info& t) const noexcept;
};

// All tensors alike.
[[nodiscard]] fp8_recipe uniform_recipe(const fp8_treatment& all);

struct fp8_recipe_entry {
  std::string_view name;                   // of the family
  std::string_view policy;                 // in fp8_scaler_catalog()
  std::vector<std::string_view> variants;  // the first is the default: hybrid (E4M3, gradients E5M2), e4m3, e5m2
  std::vector<std::pair<std::string_view, std::string_view>> parameters;  // beside the policy's defaults
  std::string_view unfit;  // why a histogram of the whole tensor does not decide it; empty where it does
  std::string_view summary;
  std::string_view source;
};

// In the order in which they are listed to people.
[[nodiscard]] std::span<const fp8_recipe_entry> fp8_recipe_catalog();

// Of a name, with or without a variant. Throws std::invalid_argument.
// `in_blocks`: names of block formats that may be given there too, which the error lists.
[[nodiscard]] const fp8_recipe_entry& fp8_recipe_entry_named(std::string_view name,
                                                             const std::vector<std::string_view>& in_blocks = {});

// By its name, "te_delayed:e4m3"; `parameters` are the policy's. Throws std::invalid_argument, parameter_error: no such recipe
// or variant, one that histograms do not decide, or a parameter that the policy refuses.
[[nodiscard]] fp8_recipe fp8_recipe_named(std::string_view name,
                                          const std::vector<std::pair<std::string, parameter_value>>& parameters = {});

}  // namespace ulp

#endif
