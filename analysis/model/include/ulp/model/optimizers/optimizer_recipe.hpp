// An optimizer of the catalogue with all that is told to it: what is stepped, trained with, compared.
#ifndef ULP_MODEL_OPTIMIZERS_OPTIMIZER_RECIPE_HPP
#define ULP_MODEL_OPTIMIZERS_OPTIMIZER_RECIPE_HPP

#include <cstddef>
#include <cstdint>
#include <string>

#include <ulp/formats/catalog.hpp>
#include <ulp/formats/format.hpp>
#include <ulp/model/optimizers/optimizer.hpp>

namespace ulp {

// A dialect with what it is told, and how weights are kept: float32 is a master copy.
struct optimizer_recipe {
  const optimizer_entry* dialect = nullptr;  // never null where a recipe is used
  optimizer_settings parameters;             // what is not named has the dialect's default
  format weights = float32;
  weight_rounding rounding = weight_rounding::own;
};

// Throws as make_optimizer of a setup does.
[[nodiscard]] optimizer make_optimizer(const optimizer_recipe& recipe, std::size_t size, const std::string& tensor,
                                       std::uint64_t seed);

// What a recipe is compared with: the same rule with the same parameters, weights and states in float32. The dialect is the
// recipe's own; of torchao's Adams and AdamWs, which differ by their states alone, it is the 8-bit one; of bitsandbytes'
// 8-bit ones Adam32bit and torch's SGD. (The text of the CUDA kernel decays after the update, Adam32bit before: that
// differs by lr weight_decay of a step.)
[[nodiscard]] optimizer_recipe float32_twin(const optimizer_recipe& of);

}  // namespace ulp

#endif
