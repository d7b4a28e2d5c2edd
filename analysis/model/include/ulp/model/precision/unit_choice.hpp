// A matrix unit of tensor_cores.hpp as people ask for it.
#ifndef ULP_MODEL_PRECISION_UNIT_CHOICE_HPP
#define ULP_MODEL_PRECISION_UNIT_CHOICE_HPP

#include <cstdint>
#include <optional>
#include <string>

#include <ulp/formats/dot.hpp>
#include <ulp/formats/format.hpp>
#include <ulp/formats/tensor_cores.hpp>

namespace ulp {

struct unit_choice {
  std::string unit;                      // an architecture or a processor
  std::optional<format> accumulator;     // the unit's widest without
  std::optional<std::uint32_t> promote;  // in_two_levels
  std::optional<format> scale;           // of blocks of so many operands
  std::uint32_t block = 0;
};

// Throws std::invalid_argument, which names those that there are, where there is no such unit for these operands.
[[nodiscard]] const tensor_core& unit_chosen(const unit_choice& choice, const format& operands);
[[nodiscard]] accumulation accumulation_of(const unit_choice& choice, const format& operands);

// "hopper into float16", "blackwell scaled by float8_e8m0 of 32".
[[nodiscard]] std::string name_of(const tensor_core& unit);

}  // namespace ulp

#endif
