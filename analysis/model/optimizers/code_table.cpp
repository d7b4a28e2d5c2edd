#include "code_table.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace ulp::optimizers {
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
  first_.fill(0);
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
  std::size_t code = 0;
  for (std::uint32_t cell = 0; cell < 65536; ++cell) {
    while (thresholds_[code] <= cell << 16U) ++code;
    first_[cell] = static_cast<std::uint8_t>(std::min<std::size_t>(code, 255));
    if (thresholds_[code] != never && thresholds_[code + 1] != never && thresholds_[code + 1] >> 16U == cell &&
        thresholds_[code] >> 16U == cell)
      single_ = false;
  }
}

#ifdef __x86_64__

namespace {

bool has_avx2() noexcept {
  static const bool has = __builtin_cpu_supports("avx2") != 0;
  return has;
}

// Products alone: nothing here can be fused.
__attribute__((target("avx2"))) std::size_t dequantize_avx2(std::span<const std::uint8_t> codes, const float* map,
                                                            float scale, float* out) noexcept {
  const __m256 factor = _mm256_set1_ps(scale);
  std::size_t i = 0;
  for (; i + 8 <= codes.size(); i += 8) {
    long long eight = 0;
    std::memcpy(&eight, codes.data() + i, sizeof eight);
    const __m256i at = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(eight));
    _mm256_storeu_ps(out + i, _mm256_mul_ps(_mm256_i32gather_ps(map, at, 4), factor));
  }
  return i;
}

}  // namespace

__attribute__((target("avx2"))) std::size_t code_table::codes_of_avx2(std::span<const float> x,
                                                                      std::span<std::uint8_t> codes) const noexcept {
  const __m256i top = _mm256_set1_epi32(std::numeric_limits<std::int32_t>::min());
  const __m256i byte = _mm256_set1_epi32(255);
  const __m256i of_nan = _mm256_set1_epi32(nan_code_);
  const __m256i low_bytes = _mm256_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 4, 8, 12,
                                             -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
  const auto* const first = reinterpret_cast<const int*>(first_.data());
  const auto* const thresholds = reinterpret_cast<const int*>(thresholds_.data());
  std::size_t i = 0;
  for (; i + 8 <= x.size(); i += 8) {
    const __m256 numbers = _mm256_loadu_ps(x.data() + i);
    const __m256i bits = _mm256_castps_si256(numbers);
    const __m256i place = _mm256_xor_si256(bits, _mm256_or_si256(_mm256_srai_epi32(bits, 31), top));
    __m256i code = _mm256_and_si256(_mm256_i32gather_epi32(first, _mm256_srli_epi32(place, 16), 1), byte);
    const __m256i next = _mm256_i32gather_epi32(thresholds, code, 4);
    const __m256i reached = _mm256_cmpeq_epi32(_mm256_max_epu32(place, next), place);
    code = _mm256_sub_epi32(code, reached);
    const __m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(numbers, numbers, _CMP_UNORD_Q));
    code = _mm256_shuffle_epi8(_mm256_blendv_epi8(code, of_nan, is_nan), low_bytes);
    const int low = _mm256_extract_epi32(code, 0);
    const int high = _mm256_extract_epi32(code, 4);
    std::memcpy(codes.data() + i, &low, sizeof low);
    std::memcpy(codes.data() + i + 4, &high, sizeof high);
  }
  return i;
}

#endif

void code_table::codes_of(std::span<const float> x, std::span<std::uint8_t> codes) const noexcept {
  std::size_t i = 0;
#ifdef __x86_64__
  if (single_ && has_avx2()) i = codes_of_avx2(x, codes);
#endif
  for (; i < x.size(); ++i) codes[i] = code_of(x[i]);
}

void dequantize_codes(std::span<const std::uint8_t> codes, const float* map, float scale,
                      std::span<float> out) noexcept {
  std::size_t i = 0;
#ifdef __x86_64__
  if (has_avx2()) i = dequantize_avx2(codes, map, scale, out.data());
#endif
  for (; i < codes.size(); ++i) out[i] = map[codes[i]] * scale;
}

}  // namespace ulp::optimizers
