// The rows of `ulp precision optimizer8`, and what is said of them.
#ifndef ULP_ASK_ANSWERS_DRIFT_ROWS_HPP
#define ULP_ASK_ANSWERS_DRIFT_ROWS_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ulp/model/optimizers/optimizer_drift.hpp>
#include <ulp/report/tables/table.hpp>

namespace ulp {

// Elements that are not as under the first recipe whose states are codes, of the same maps and blocks.
struct code_differences {
  std::uint64_t m = 0;
  std::uint64_t v = 0;
  std::uint64_t weights = 0;
};

struct drift_row {
  std::string recipe;
  std::string tensor;  // empty: all
  weight_drift drift;
  std::string worst;  // of all: the tensor that most runs away, else that deviates most
  std::optional<code_differences> codes;
  // Of all: tensors, and those whose states the recipe keeps as the weights are, their size being no multiple of the block.
  std::uint64_t tensors = 0;
  std::uint64_t unquantized = 0;
  // The numbers that the run gives to drift.first_nonfinite_gradient, of all, and to drift.first_zeroed.
  std::int64_t nonfinite_step = 0;
  std::int64_t zeroed_step = 0;
  bool of_one_dump = false;  // of all: the run is one dump of all steps, of which no scalars are read
};

[[nodiscard]] table drift_table(const std::vector<drift_row>& rows);

// Of one recipe: its row of all tensors, and those of the tensors.
[[nodiscard]] std::string conclusion_of(const drift_row& all, const std::vector<drift_row>& tensors);

// bitsandbytes (its min_8bit_size) and torchao quantize the states of tensors that have at least so many elements.
inline constexpr std::uint64_t least_quantized = 4096;
// That these tensors, which have fewer, are quantized here; empty where there are none.
[[nodiscard]] std::string small_tensors_text(const std::vector<std::string>& small,
                                             const std::vector<std::string>& libraries);

// How the second moments of a format fall at this beta2; empty where they are codes of blocks, or float32.
[[nodiscard]] std::string decay_text(const optimizer_recipe& recipe);

}  // namespace ulp

#endif
