// How fast arrays are quantized to block formats by all processors, as a multiple of the speed at which memcpy moves the same
// floats on one, which takes turns with every row: 64 Mi normal numbers in rows of 8192. The amax of the tensor is given where one is
// asked for.
//   build/release/tests/bench/blocks_bench [ROUNDS] [NAME...]
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <ulp/formats/block_formats.hpp>

#include "in_turns.hpp"

namespace {

using namespace ulp;
using namespace ulp::bench;

constexpr std::size_t columns = 8192;
constexpr matrix_extent extent{(std::size_t{1} << 26) / columns, columns};
constexpr std::size_t size = extent.rows * extent.columns;

// What the format has been asked to reach.
double asked(std::string_view name) { return name.starts_with("mxfp8") ? 0.8 : name == "nvfp4" ? 0.5 : 0; }

}  // namespace

int main(int argc, char** argv) {
#if !defined(__OPTIMIZE__)
  std::fputs("a debug build measures nothing\n", stderr);
  return 2;
#endif
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 5;
  std::vector<std::string> names(argv + std::min(argc, 2), argv + argc);
  if (names.empty())
    for (const block_alias& alias : block_aliases()) names.emplace_back(alias.name);
  constexpr std::size_t distinct = std::size_t{1} << 20;
  std::vector<float> x(size);
  for (std::size_t i = 0; i < size; ++i) x[i] = i < distinct ? 1e-3F * unit(i) : x[i - distinct];
  std::vector<float> copied(size);
  std::vector<std::uint8_t> codes(size);
  std::vector<std::uint8_t> scale_codes;
  std::vector<float> scale_numbers;
  const row copy{"memcpy", 0, [&] { std::memcpy(copied.data(), x.data(), 4 * size); }};
  std::vector<row> rows;
  for (const std::string& name : names) {
    const block_format* const to = find_block_format(name);
    if (to == nullptr) {
      std::fprintf(stderr, "%s is no block format: see ulp formats --blocks\n", name.c_str());
      return 2;
    }
    const std::size_t scales = grid_of(*to, extent).scales();
    scale_codes.resize(std::max(scale_codes.size(), scales));
    scale_numbers.resize(std::max(scale_numbers.size(), scales));
    rows.push_back({name, asked(name), [&, to, scales, amax = tensor_amax(*to, x, extent)] {
                      const block_conversion how{.tensor_amax = amax};
                      if (to->scale == scale_type::float32)
                        quantize_blocks(*to, x, extent, codes, std::span{scale_numbers}.first(scales), how);
                      else
                        quantize_blocks(*to, x, extent, codes, std::span{scale_codes}.first(scales), how);
                    }});
  }
  measure("N(0, 1e-3)", copy, rows, size, rounds, 1, wall_seconds);
  return 0;
}
