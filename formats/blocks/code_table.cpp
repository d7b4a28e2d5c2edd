#include "code_table.hpp"

#include <limits>

namespace ulp::detail {
namespace {

float number_at(std::uint32_t place) {
  return std::bit_cast<float>(place ^ ((place >> 31U) != 0 ? 0x80000000U : 0xFFFFFFFFU));
}

constexpr std::uint32_t place_of_minus_infinity = 0x007FFFFF;
constexpr std::uint32_t place_of_infinity = 0xFF800000;
constexpr std::uint32_t never = std::numeric_limits<std::uint32_t>::max();

}  // namespace

code_table::code_table(const code_rule& rule, int codes) : nan_code_(static_cast<std::uint8_t>(rule.nan_code())) {
  thresholds_.fill(never);
  std::uint32_t from = place_of_minus_infinity;
  for (int code = 1; code < codes; ++code) {
    if (rule.code_of(number_at(place_of_infinity)) < code) break;
    std::uint32_t below = from;  // of a lower code, where `from` is
    std::uint32_t reached = place_of_infinity;
    if (rule.code_of(number_at(from)) >= code) reached = from;
    while (reached - below > 1) {
      const std::uint32_t middle = below + (reached - below) / 2;
      (rule.code_of(number_at(middle)) >= code ? reached : below) = middle;
    }
    thresholds_[static_cast<std::size_t>(code - 1)] = reached;
    from = reached;
  }
  std::uint32_t code = 0;
  for (std::uint32_t cell = 0; cell < cells_.size(); ++cell) {
    while (thresholds_[code] <= cell << 16U) ++code;
    const auto is_in_cell = [&](std::uint32_t t) { return t != never && t >> 16U == cell; };
    const bool has_threshold = is_in_cell(thresholds_[code]);
    cells_[cell] = code | (has_threshold ? thresholds_[code] & 0xFFFFU : 0x10000U) << 8U;
    if (has_threshold && is_in_cell(thresholds_[code + 1])) single_ = false;
  }
}

namespace {

// Loops that become vectors where a processor can look up eight elements at once; the same functions for all of them.
[[gnu::always_inline]] inline void find(const std::uint32_t* cells, std::uint8_t nan_code, const float* x,
                                        std::size_t n, std::uint8_t* codes) noexcept {
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t code = code_table::code_in(cells, code_table::place_of(x[i]));
    codes[i] = static_cast<std::uint8_t>(x[i] != x[i] ? nan_code : code);
  }
}
[[gnu::always_inline]] inline void dequantize(const std::uint8_t* codes, const float* map, float scale, std::size_t n,
                                              float* out) noexcept {
  for (std::size_t i = 0; i < n; ++i) out[i] = map[static_cast<std::int32_t>(codes[i])] * scale;
}

#ifdef __x86_64__
bool has_avx2() noexcept {
  static const bool has = __builtin_cpu_supports("avx2") != 0;
  return has;
}
[[gnu::target("avx2")]] void find_avx2(const std::uint32_t* __restrict cells, std::uint8_t nan_code,
                                       const float* __restrict x, std::size_t n,
                                       std::uint8_t* __restrict codes) noexcept {
  find(cells, nan_code, x, n, codes);
}
[[gnu::target("avx2")]] void dequantize_avx2(const std::uint8_t* __restrict codes, const float* __restrict map,
                                             float scale, std::size_t n, float* __restrict out) noexcept {
  dequantize(codes, map, scale, n, out);
}
#endif

}  // namespace

void code_table::codes_of(std::span<const float> x, std::span<std::uint8_t> codes) const noexcept {
  if (!single_) {
    for (std::size_t i = 0; i < x.size(); ++i) codes[i] = code_of(x[i]);
    return;
  }
#ifdef __x86_64__
  if (has_avx2()) return find_avx2(cells_.data(), nan_code_, x.data(), x.size(), codes.data());
#endif
  find(cells_.data(), nan_code_, x.data(), x.size(), codes.data());
}

void dequantize_codes(std::span<const std::uint8_t> codes, const float* map, float scale,
                      std::span<float> out) noexcept {
#ifdef __x86_64__
  if (has_avx2()) return dequantize_avx2(codes.data(), map, scale, codes.size(), out.data());
#endif
  dequantize(codes.data(), map, scale, codes.size(), out.data());
}

}  // namespace ulp::detail
