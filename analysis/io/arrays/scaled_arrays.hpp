// Arrays of codes with scales beside them, as conversions see them.
#ifndef ULP_IO_ARRAYS_SCALED_ARRAYS_HPP
#define ULP_IO_ARRAYS_SCALED_ARRAYS_HPP

#include <optional>
#include <vector>

#include <ulp/formats/format.hpp>

#include "arrays.hpp"
#include "dumps/block_scales.hpp"

namespace ulp::io {

// What codes in bytes are, where `from` says what codes are; nullopt where they are wider.
[[nodiscard]] inline std::optional<format> of_one_byte(const std::optional<format>& from) {
  return from && bytes_of_code(*from) == 1 ? from : std::nullopt;
}

// Those of a file's arrays that are codes become their numbers, and know which arrays go into them.
void make_scaled(std::vector<stored_array>& arrays, const std::vector<std::optional<scaled_tensor>>& scaled);

}  // namespace ulp::io

#endif
