// Elements of a block that were divided already: to codes, and codes to numbers.
#ifndef ULP_FORMATS_BLOCKS_BLOCK_ELEMENTS_HPP
#define ULP_FORMATS_BLOCKS_BLOCK_ELEMENTS_HPP

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <ulp/formats/block_formats.hpp>

#include "bulk/tiles.hpp"

namespace ulp::detail {

class element_encoder {
 public:
  // Throws std::invalid_argument where the rounding is not possible.
  element_encoder(const block_format& row, const block_conversion& how, bool counting);

  // Of elements first, first + 1, ...; `scaled` is overwritten. Adds to `counts` where it counts.
  void operator()(std::span<float> scaled, bool may_be_nan, std::size_t first, std::span<std::uint8_t> codes,
                  conversion_counts* counts) const;

 private:
  // What is done to elements before they are rounded to the format.
  void prepare(std::span<float> scaled, bool may_be_nan) const;

  const block_format& row_;
  conversion how_;
  const kernels* loops_;                      // nullptr: one element at a time
  std::optional<tile_encoder<float>> tiles_;  // where there are loops for it
};

// The numbers of all codes.
[[nodiscard]] std::vector<float> numbers_of_codes(const block_element& of);

}  // namespace ulp::detail

#endif
