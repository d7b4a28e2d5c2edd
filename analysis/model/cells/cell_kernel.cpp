#include "cell_kernel.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>

#include <ulp/model/cells/cell_counter.hpp>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace ulp {
namespace detail {
namespace {

constexpr std::uint32_t magnitude_mask = 0x7FFFFFFF;
constexpr std::uint32_t fraction_mask = 0x7FFFFF;
constexpr int fraction_bits = 23;
constexpr std::uint32_t least_rest = (127 + 11) << fraction_bits;  // 2^11

// What a block of values is turned into.
struct block_rows {
  std::uint32_t code[kernel_block];
  std::uint32_t row[kernel_block];
};

// Inlined into functions for different processors, so it calls nothing. Loops are apart where compilers vectorise them so.
// `count_and_add`: what is done with a block where sums are asked for.
template <class CountAndAdd>
[[gnu::always_inline]] inline magnitude_bounds count_values(std::span<const float> values, const kernel_rows& rows,
                                                            CountAndAdd count_and_add) {
  magnitude_bounds all;
  block_rows block;
  for (std::size_t at = 0; at < values.size(); at += kernel_block) {
    // Memory takes longer than the processor looks ahead.
    constexpr std::size_t ahead = 512;
    for (std::size_t i = 0; i < kernel_block; i += 16) __builtin_prefetch(values.data() + at + ahead + i, 0, 0);
    for (std::size_t i = 0; i < kernel_block; ++i) block.code[i] = std::bit_cast<std::uint32_t>(values.data()[at + i]);
    std::uint32_t largest = all.largest;
    std::uint32_t least = all.least_less_one;
    for (std::size_t i = 0; i < kernel_block; ++i) {
      const std::uint32_t code = block.code[i];
      const std::uint32_t magnitude = code & magnitude_mask;
      largest = magnitude > largest ? magnitude : largest;
      least = magnitude - 1 < least ? magnitude - 1 : least;
      // The conversion is exact.
      const auto rest = static_cast<float>(static_cast<std::int32_t>(fraction_mask + 1 - (code & fraction_mask)));
      const auto bits = std::bit_cast<std::uint32_t>(rest);
      const std::uint32_t limited = (bits > least_rest ? bits : least_rest) - least_rest;
      constexpr std::uint32_t half = 1 << (fraction_bits - 1);
      const std::uint32_t r = limited / half + (limited + (half - 1)) / half;
      block.row[i] = (code >> fraction_bits) * rows_per_binade + r;
    }
    all = {largest, least};
    if (rows.sums != nullptr)
      count_and_add(block, rows);
    else
      for (const std::uint32_t r : block.row) ++rows.counts[r];
  }
  return all;
}

// Counts element i, and adds `both` to a table that its neighbours do not use, `place` bytes from where it begins.
[[gnu::always_inline]] inline void add_element(const block_rows& block, std::size_t i, std::uint32_t place,
                                               const binade_pair& both, const kernel_rows& rows) {
  ++rows.counts[block.row[i]];
  auto* const sums = reinterpret_cast<char*>(rows.sums + i % sum_tables * sums_per_table);
  *reinterpret_cast<binade_pair*>(sums + place) += both;
}
constexpr std::uint32_t place_step = sizeof(binade_pair);

[[gnu::always_inline]] inline void count_and_add(const block_rows& block, const kernel_rows& rows) {
  std::uint64_t addend[2 * kernel_block];
  for (std::size_t i = 0; i < kernel_block; ++i) {
    const std::uint64_t significand = (block.code[i] & fraction_mask) | (fraction_mask + 1);
    addend[2 * i] = significand;
    addend[2 * i + 1] = significand * significand;
  }
  for (std::size_t i = 0; i < kernel_block; ++i) {
    binade_pair both;
    std::memcpy(&both, addend + 2 * i, sizeof both);
    add_element(block, i, (block.code[i] >> fraction_bits) * place_step, both, rows);
  }
}

magnitude_bounds count_baseline(std::span<const float> values, const kernel_rows& rows) {
  return count_values(values, rows, count_and_add);
}
bool always() { return true; }

#if defined(__x86_64__)
#define ULP_V3 [[gnu::target("arch=x86-64-v3")]]

// What compilers make of count_and_add takes twice as many steps.
ULP_V3 void count_and_add_by_avx2(const block_rows& block, const kernel_rows& rows) {
  const __m256i fraction = _mm256_set1_epi32(fraction_mask);
  const __m256i implicit = _mm256_set1_epi32(fraction_mask + 1);
  const __m256i even = _mm256_set1_epi64x(0xFFFFFFFF);
  for (std::size_t i = 0; i < kernel_block; i += 8) {
    const __m256i codes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(block.code + i));
    const __m256i all = _mm256_or_si256(_mm256_and_si256(codes, fraction), implicit);
    const __m256i a = _mm256_and_si256(all, even);
    const __m256i b = _mm256_srli_epi64(all, 32);
    const __m256i aa = _mm256_mul_epu32(a, a);
    const __m256i bb = _mm256_mul_epu32(b, b);
    const __m256i of[4] = {_mm256_unpacklo_epi64(a, aa), _mm256_unpacklo_epi64(b, bb), _mm256_unpackhi_epi64(a, aa),
                           _mm256_unpackhi_epi64(b, bb)};
    alignas(32) std::uint32_t places[8];
    const __m256i binades = _mm256_srli_epi32(codes, fraction_bits);
    static_assert(place_step == 1 << 4);
    _mm256_store_si256(reinterpret_cast<__m256i*>(places), _mm256_slli_epi32(binades, 4));
#pragma GCC unroll 4
    for (std::size_t k = 0; k < 4; ++k)
      add_element(block, i + k, places[k], reinterpret_cast<binade_pair>(_mm256_castsi256_si128(of[k])), rows);
#pragma GCC unroll 4
    for (std::size_t k = 0; k < 4; ++k)
      add_element(block, i + 4 + k, places[4 + k], reinterpret_cast<binade_pair>(_mm256_extracti128_si256(of[k], 1)),
                  rows);
  }
}
ULP_V3 magnitude_bounds count_v3(std::span<const float> values, const kernel_rows& rows) {
  return count_values(values, rows, count_and_add_by_avx2);
}
[[gnu::target("arch=x86-64-v4")]] magnitude_bounds count_v4(std::span<const float> values, const kernel_rows& rows) {
  return count_values(values, rows, count_and_add_by_avx2);
}
bool has_v3() { return __builtin_cpu_supports("x86-64-v3") != 0; }
bool has_v4() { return __builtin_cpu_supports("x86-64-v4") != 0; }
#endif

constexpr cell_kernel known[] {
  {"baseline", always, count_baseline},
#if defined(__x86_64__)
      {"x86-64-v3", has_v3, count_v3}, {"x86-64-v4", has_v4, count_v4},
#endif
};

std::atomic<const cell_kernel*>& in_use() {
  static std::atomic<const cell_kernel*> kernel{&cell_kernels().back()};
  return kernel;
}

}  // namespace

const std::vector<cell_kernel>& cell_kernels() {
  static const std::vector<cell_kernel> here = [] {
    std::vector<cell_kernel> all;
    std::ranges::copy_if(known, std::back_inserter(all), [](const cell_kernel& k) { return k.runs_here(); });
    return all;
  }();
  return here;
}

const cell_kernel* cell_kernel_in_use() noexcept { return in_use().load(std::memory_order_relaxed); }

}  // namespace detail

std::vector<std::string_view> counting_kernels() {
  std::vector<std::string_view> names{"reference"};
  for (const detail::cell_kernel& k : detail::cell_kernels()) names.push_back(k.name);
  return names;
}

bool force_counting_kernel(std::string_view name) {
  const auto& here = detail::cell_kernels();
  const auto found = std::ranges::find(here, name, &detail::cell_kernel::name);
  if (found == here.end() && name != "reference") return false;
  detail::in_use() = found == here.end() ? nullptr : &*found;
  return true;
}

}  // namespace ulp
