#include "cell_kernel.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>

#include <ulp/model/cell_counter.hpp>

namespace ulp {
namespace detail {
namespace {

constexpr std::uint32_t magnitude_mask = 0x7FFFFFFF;
constexpr std::uint32_t fraction_mask = 0x7FFFFF;
constexpr int fraction_bits = 23;
constexpr std::uint32_t thirteen_sixteenths = 0x680000;
constexpr std::uint32_t seven_eighths = 0x700000;

// Inlined into functions for different processors, so it calls nothing. The loops are apart because compilers vectorise
// them so.
[[gnu::always_inline]] inline magnitude_bounds count_values(std::span<const float> values, row_sums* tables) {
  magnitude_bounds all;
  std::uint32_t row[kernel_block];
  std::uint64_t addend[2 * kernel_block];
  std::uint32_t code[kernel_block];
  for (std::size_t at = 0; at < values.size(); at += kernel_block) {
    const float* const block = values.data() + at;
    for (std::size_t i = 0; i < kernel_block; ++i) code[i] = std::bit_cast<std::uint32_t>(block[i]);
    std::uint32_t largest = all.largest;
    for (const std::uint32_t x : code) largest = (x & magnitude_mask) > largest ? x & magnitude_mask : largest;
    all.largest = largest;
    std::uint32_t least = all.least_less_one;
    for (const std::uint32_t x : code) least = (x & magnitude_mask) - 1 < least ? (x & magnitude_mask) - 1 : least;
    all.least_less_one = least;
    for (std::size_t i = 0; i < kernel_block; ++i) {
      const std::uint32_t fraction = code[i] & fraction_mask;
      // Leading ones are what the exponent of the complement lacks; of 0, none is left. The conversion is exact.
      const std::uint32_t rest = fraction_mask - fraction;
      const auto exponent = static_cast<std::int32_t>(
          std::bit_cast<std::uint32_t>(static_cast<float>(static_cast<std::int32_t>(rest))) >> fraction_bits);
      const std::int32_t missing = 127 + fraction_bits - 1 - exponent;
      const std::int32_t ones = missing < 12 ? missing : 12;
      std::int32_t r = 2 * ones + ((rest & (rest + 1)) != 0 ? 1 : 0);
      r += fraction >= thirteen_sixteenths && fraction < seven_eighths ? 22 : 0;
      r -= fraction == thirteen_sixteenths ? 1 : 0;
      row[i] = (code[i] >> fraction_bits) * rows_per_binade + static_cast<std::uint32_t>(r);
    }
    for (std::size_t i = 0; i < kernel_block; ++i) {
      const std::uint64_t significand = (code[i] & fraction_mask) | (fraction_mask + 1);
      addend[2 * i] = (significand << 20) + 1;
      addend[2 * i + 1] = significand * significand;
    }
    for (std::size_t i = 0; i < kernel_block; i += kernel_tables)
      for (std::size_t t = 0; t < kernel_tables; ++t) {
        row_sums both;
        std::memcpy(&both, addend + 2 * (i + t), sizeof both);
        tables[t * rows_per_table + row[i + t]] += both;
      }
  }
  return all;
}

magnitude_bounds count_baseline(std::span<const float> values, row_sums* tables) {
  return count_values(values, tables);
}
bool always() { return true; }

#if defined(__x86_64__)
[[gnu::target("arch=x86-64-v3")]] magnitude_bounds count_v3(std::span<const float> values, row_sums* tables) {
  return count_values(values, tables);
}
[[gnu::target("arch=x86-64-v4")]] magnitude_bounds count_v4(std::span<const float> values, row_sums* tables) {
  return count_values(values, tables);
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
