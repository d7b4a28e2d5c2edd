// Raw values of any type that is read, into the counter of cells.
#ifndef ULP_IO_READERS_VALUES_HPP
#define ULP_IO_READERS_VALUES_HPP

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include <ulp/model/cell_counter.hpp>
#include <ulp/model/cell_table.hpp>
#include <ulp/model/step.hpp>

#include "cursor.hpp"

namespace ulp::io {

// How one value lies in a file; `type` is not dtype::unknown.
struct element {
  dtype type = dtype::float32;
  std::endian order = std::endian::little;
};
[[nodiscard]] std::uint64_t size_of(dtype type) noexcept;

struct counted_values {
  cell_table table;
  std::vector<code_count> codes;  // of types that have few, see format_of_codes
};

// The next `numel` values, read in chunks. What the counter held, of a tensor whose file broke off, is dropped, as are its
// edges.
[[nodiscard]] counted_values count_values(byte_stream& in, element how, std::uint64_t numel, cell_counter& counter,
                                          std::span<const double> edges);

}  // namespace ulp::io

#endif
