#include "block_kernel.hpp"

#include <bit>

#include "cell_kernel.hpp"

namespace ulp::detail {
namespace {

constexpr std::uint32_t magnitude_mask = 0x7FFFFFFF;
constexpr std::uint32_t fraction_mask = 0x7FFFFF;
constexpr int fraction_bits = 23;
constexpr std::uint32_t half_binade = 1 << (fraction_bits - 1);
constexpr std::uint32_t least_rest = 2 * (127 + 15) * half_binade + half_binade;  // 1.5 * 2^15

// All are inlined into functions for different processors, so they call nothing.
[[gnu::always_inline]] inline std::uint32_t greatest_of(const float* x, std::size_t size, std::uint32_t greatest) {
  for (std::size_t i = 0; i < size; ++i) {
    const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(x[i]) & magnitude_mask;
    greatest = magnitude > greatest ? magnitude : greatest;
  }
  return greatest;
}

// Called with constants: loops of known length need no remainder.
[[gnu::always_inline]] inline void raise_blocks(const float* x, std::size_t size, std::size_t width,
                                                std::uint32_t* greatest) {
  const std::size_t whole = size / width;
  for (std::size_t b = 0; b < whole; ++b) greatest[b] = greatest_of(x + b * width, width, greatest[b]);
  if (whole * width < size) greatest[whole] = greatest_of(x + whole * width, size - whole * width, greatest[whole]);
}

[[gnu::always_inline]] inline void raise_to(const float* x, std::size_t size, std::size_t width,
                                            std::uint32_t* greatest) {
  switch (width) {
    case 1: return raise_blocks(x, size, 1, greatest);
    case 16: return raise_blocks(x, size, 16, greatest);
    case 32: return raise_blocks(x, size, 32, greatest);
    case 128: return raise_blocks(x, size, 128, greatest);
    default: return raise_blocks(x, size, width, greatest);
  }
}

[[gnu::always_inline]] inline std::uint32_t index_of(const float* x, const std::uint32_t* origins, std::size_t size,
                                                     std::uint32_t* indices) {
  std::uint32_t least = ~std::uint32_t{0};
  for (std::size_t i = 0; i < size; ++i) {
    const auto code = std::bit_cast<std::uint32_t>(x[i]);
    const std::uint32_t magnitude = code & magnitude_mask;
    least = magnitude - 1 < least ? magnitude - 1 : least;
    // The conversion is exact.
    const auto rest = static_cast<float>(static_cast<std::int32_t>(fraction_mask + 1 - (code & fraction_mask)));
    const auto bits = std::bit_cast<std::uint32_t>(rest);
    const std::uint32_t limited = (bits > least_rest ? bits : least_rest) - least_rest;
    const std::uint32_t row = limited / half_binade + (limited + (half_binade - 1)) / half_binade;
    const std::uint32_t index =
        origins[i] - (magnitude >> fraction_bits) * per_binade + (code >> 31) * (per_binade / 2) + row;
    indices[i] = magnitude == 0 ? zero_index : index;
  }
  return least;
}

[[gnu::always_inline]] inline bool locate_blocks(const std::uint32_t* greatest, std::size_t size, std::uint32_t* places,
                                                 std::uint32_t* origins) {
  constexpr std::uint32_t least = least_ordinary + 127;
  constexpr std::uint32_t fields = greatest_ordinary - least_ordinary + 1;
  std::uint32_t others = 0;
  for (std::size_t b = 0; b < size; ++b) {
    const std::uint32_t field = greatest[b] >> fraction_bits;
    const std::uint32_t fraction = greatest[b] & fraction_mask;
    std::uint32_t place = 0;
    for (const std::uint32_t end : ends_of_amax_places) place += (end - fraction) >> 31;  // comparisons become branches
    places[b] = place;
    const bool is_ordinary = field - least < fields;
    origins[b] = is_ordinary ? place * per_place + field * per_binade : origin_of_others;
    others |= is_ordinary ? 0 : 1;
  }
  return others == 0;
}

[[gnu::always_inline]] inline void spread_blocks(const std::uint32_t* origins, std::size_t width, std::size_t size,
                                                 std::uint32_t* of_elements) {
  const std::size_t whole = size / width;
  for (std::size_t b = 0; b < whole; ++b)
    for (std::size_t i = 0; i < width; ++i) of_elements[b * width + i] = origins[b];
  for (std::size_t i = whole * width; i < size; ++i) of_elements[i] = origins[whole];
}

[[gnu::always_inline]] inline void spread_to(const std::uint32_t* origins, std::size_t width, std::size_t size,
                                             std::uint32_t* of_elements) {
  switch (width) {
    case 1: return spread_blocks(origins, 1, size, of_elements);
    case 16: return spread_blocks(origins, 16, size, of_elements);
    case 32: return spread_blocks(origins, 32, size, of_elements);
    case 128: return spread_blocks(origins, 128, size, of_elements);
    default: return spread_blocks(origins, width, size, of_elements);
  }
}

constexpr block_kernel baseline{[](const float* x, std::size_t size, std::size_t width, std::uint32_t* greatest) {
                                  raise_to(x, size, width, greatest);
                                },
                                [](const std::uint32_t* greatest, std::size_t size, std::uint32_t* places,
                                   std::uint32_t* origins) { return locate_blocks(greatest, size, places, origins); },
                                [](const std::uint32_t* origins, std::size_t width, std::size_t size,
                                   std::uint32_t* of_elements) { spread_to(origins, width, size, of_elements); },
                                [](const float* x, const std::uint32_t* origins, std::size_t size,
                                   std::uint32_t* indices) { return index_of(x, origins, size, indices); }};

#if defined(__x86_64__)
#define ULP_V3 [[gnu::target("arch=x86-64-v3")]]
ULP_V3 void raise_v3(const float* x, std::size_t size, std::size_t width, std::uint32_t* greatest) {
  raise_to(x, size, width, greatest);
}
ULP_V3 bool locate_v3(const std::uint32_t* greatest, std::size_t size, std::uint32_t* places, std::uint32_t* origins) {
  return locate_blocks(greatest, size, places, origins);
}
ULP_V3 void spread_v3(const std::uint32_t* origins, std::size_t width, std::size_t size, std::uint32_t* of_elements) {
  spread_to(origins, width, size, of_elements);
}
ULP_V3 std::uint32_t index_v3(const float* x, const std::uint32_t* origins, std::size_t size, std::uint32_t* indices) {
  return index_of(x, origins, size, indices);
}
constexpr block_kernel v3{raise_v3, locate_v3, spread_v3, index_v3};

#define ULP_V4 [[gnu::target("arch=x86-64-v4")]]
ULP_V4 void raise_v4(const float* x, std::size_t size, std::size_t width, std::uint32_t* greatest) {
  raise_to(x, size, width, greatest);
}
ULP_V4 bool locate_v4(const std::uint32_t* greatest, std::size_t size, std::uint32_t* places, std::uint32_t* origins) {
  return locate_blocks(greatest, size, places, origins);
}
ULP_V4 void spread_v4(const std::uint32_t* origins, std::size_t width, std::size_t size, std::uint32_t* of_elements) {
  spread_to(origins, width, size, of_elements);
}
ULP_V4 std::uint32_t index_v4(const float* x, const std::uint32_t* origins, std::size_t size, std::uint32_t* indices) {
  return index_of(x, origins, size, indices);
}
constexpr block_kernel v4{raise_v4, locate_v4, spread_v4, index_v4};
#endif

}  // namespace

const block_kernel& block_kernel_in_use() noexcept {
#if defined(__x86_64__)
  const cell_kernel* const cells = cell_kernel_in_use();
  if (cells != nullptr && cells->name == "x86-64-v4") return v4;
  if (cells != nullptr && cells->name == "x86-64-v3") return v3;
#endif
  return baseline;
}

}  // namespace ulp::detail
