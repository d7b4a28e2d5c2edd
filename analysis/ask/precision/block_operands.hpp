// Operands of dot products in a block format.
#ifndef ULP_ASK_PRECISION_BLOCK_OPERANDS_HPP
#define ULP_ASK_PRECISION_BLOCK_OPERANDS_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <ulp/formats/block_formats.hpp>
#include <ulp/model/precision/unit_choice.hpp>

namespace ulp {

// What --format says: a format, or blocks of its elements.
struct factor_format {
  format elements;
  const block_format* blocks = nullptr;
};
// Throws std::invalid_argument, also where no matrix unit takes blocks of that row.
[[nodiscard]] factor_format factor_format_named(const std::string& name);

struct block_operands {
  std::vector<std::uint32_t> codes;
  std::vector<std::uint32_t> scales;  // of each row, as row_scales has them
  // Under a second level what results of each row are still to be multiplied by: one for all, or one for each; else empty.
  std::vector<float> of_rows;
};

// Rows of that length. Adds what became of scaled elements to `counts`. Throws std::invalid_argument as scaled_choice does.
[[nodiscard]] block_operands block_operands_of(const block_format& row, std::span<const double> numbers,
                                               std::size_t length, conversion_counts& counts);

// The choice with the scales of the row. Throws std::invalid_argument where no unit multiplies such elements by scales.
[[nodiscard]] unit_choice scaled_choice(unit_choice choice, const block_format& row);

}  // namespace ulp

#endif
