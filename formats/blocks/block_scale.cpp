#include "block_scale.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include <ulp/formats/catalog.hpp>
#include <ulp/formats/codec.hpp>
#include <ulp/formats/convert.hpp>

namespace ulp::detail {
namespace {

constexpr float largest_float = std::numeric_limits<float>::max();
constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
constexpr std::uint32_t fraction_mask = 0x7FFFFF;
constexpr int nan_scale = 255;

std::uint32_t bits_of(float x) { return std::bit_cast<std::uint32_t>(x); }
int exponent_field(float x) { return static_cast<int>((bits_of(x) >> 23U) & 255U); }
std::uint32_t fraction(float x) { return bits_of(x) & fraction_mask; }

// 2^k, for k from -149 to 127.
float power(int k) {
  return std::bit_cast<float>(k < -126 ? std::uint32_t{1} << (149 + k) : static_cast<std::uint32_t>(k + 127) << 23U);
}

// The exponent of the largest element.
int top_exponent(const block_element& e) { return exponent_field(e.largest) - 127; }

int clamped(int exponent) { return std::clamp(exponent, -127, 127) + 127; }

// The code of the least power of two that is not below x, NaN where x is not finite.
int round_up_code(float x) {
  if (!std::isfinite(x)) return nan_scale;
  const int field = exponent_field(x);
  if (field == 0) return fraction(x) > 0x400000 ? 1 : 0;
  return field + (fraction(x) != 0 ? 1 : 0);
}

// pytorch/ao to_mx: floor, ceil and even by the exponent field, of which a subnormal number has 0.
int code_by_field(const block_format& row, float amax) {
  std::uint32_t bits = bits_of(amax);
  if (row.rule == amax_rule::even) {
    // What is not finite stays above all that is.
    bits = (bits + (std::uint32_t{1} << (22 - row.element.numbers->fraction_bits))) & ~fraction_mask;
  }
  if (bits >= bits_of(infinity)) return nan_scale;
  int exponent = static_cast<int>(bits >> 23U) - 127 - top_exponent(row.element);
  if (row.rule == amax_rule::ceil && (bits & fraction_mask) != 0) ++exponent;
  return std::max(exponent, -127) + 127;  // the largest element is 6 or more
}

int code_of_floor(const block_format& row, float amax) {
  const int top = top_exponent(row.element);
  switch (row.rule) {
    case amax_rule::floor_of_log2f: {
      if (!std::isfinite(amax)) return nan_scale;
      const int k = (amax == 0 ? -126 : floor_of_log2f(amax)) - top;  // at most 128, whose code is NaN
      return std::max(k, -127) + 127;
    }
    case amax_rule::floor_of_field: {
      if (!std::isfinite(amax)) return nan_scale;
      const int k = exponent_field(amax) - 127 - top;
      return std::max(k, -127) + 127;
    }
    default: break;
  }
  if (amax != amax) return nan_scale;
  if (amax == 0) return 0;
  if (std::isinf(amax)) return 254;
  return clamped((row.rule == amax_rule::floor_clamped ? std::ilogb(amax) : floor_of_log2f(amax)) - top);
}

std::uint8_t e8m0_code(const block_format& row, float amax) {
  const float largest = row.element.largest;
  switch (row.rule) {
    case amax_rule::floor:
    case amax_rule::ceil:
    case amax_rule::even: return static_cast<std::uint8_t>(code_by_field(row, amax));
    case amax_rule::round_up: return static_cast<std::uint8_t>(round_up_code(amax * (1.0F / largest)));
    case amax_rule::round_up_of_numbers:
      if (std::isinf(amax)) return 254;
      return static_cast<std::uint8_t>(std::min(round_up_code(amax * (1.0F / largest)), 254));
    case amax_rule::round_up_of_quotient: return static_cast<std::uint8_t>(round_up_code(amax / largest));
    default: return static_cast<std::uint8_t>(code_of_floor(row, amax));
  }
}

float e8m0_number(int code) { return code == nan_scale ? not_a_number : power(code - 127); }

// As torch.clamp: NaN stays.
float kept_within(float x, float least, float greatest) { return x < least ? least : x > greatest ? greatest : x; }

// The power of two not above x, 0 of 0; of NaN 0.5, as frexp's exponent 0 has it.
float lowered(float x) {
  if (x == 0) return x;
  return x != x ? 0.5F : power(std::ilogb(x));
}

// What is stored, and what elements are multiplied or divided by.
struct number_and_factor {
  float number;
  float factor;
};

number_and_factor te_quotient(const block_format& row, float amax) {
  if (amax < row.epsilon) amax = row.epsilon;
  float scale = row.element.largest / amax;
  if (amax == 0)
    scale = 1;
  else if (std::isinf(scale))
    scale = largest_float;
  if (row.power_of_two && amax != 0) scale = lowered(scale);
  return {1.0F / scale, scale};
}

number_and_factor torchao_double(const block_format& row, float amax) {
  const double at_least = amax < 1e-12 ? 1e-12 : static_cast<double>(amax);
  auto scale = static_cast<float>(1 / at_least * static_cast<double>(row.element.largest));
  if (row.power_of_two && std::isfinite(scale) && scale > 0) scale = power(floor_of_log2f(scale));
  return {scale, scale};
}

number_and_factor flax_reciprocal(const block_format& row, float amax) {
  float quotient = 1;
  if (std::isfinite(amax) && amax > 0) quotient = row.element.largest / amax;
  const float reciprocal = 1.0F / quotient;
  return {reciprocal, reciprocal};
}

number_and_factor ceil_of_log2f_of_quotient(const block_format& row, float amax) {
  const float quotient = amax / row.element.largest;
  float scale = power(-127);
  if (quotient != quotient)
    scale = quotient;
  else if (quotient != 0)
    scale = power(std::clamp(std::isinf(quotient) ? 127 : ceil_of_log2f(quotient), -127, 127));
  return {scale, scale};
}

number_and_factor stored_scale_of(const block_format& row, float amax) {
  switch (row.rule) {
    case amax_rule::te_quotient: return te_quotient(row, amax);
    case amax_rule::torchao_double: return torchao_double(row, amax);
    case amax_rule::flax_reciprocal: return flax_reciprocal(row, amax);
    default: return ceil_of_log2f_of_quotient(row, amax);
  }
}

}  // namespace

bool has_tensor_level(const block_format& row) noexcept {
  return row.rule == amax_rule::nvfp4_two_level || row.rule == amax_rule::te_nvfp4 ||
         row.rule == amax_rule::te_four_over_six;
}

tensor_level level_of(const block_format& row, float amax) noexcept {
  tensor_level level{.amax = amax};
  if (row.rule == amax_rule::nvfp4_two_level) {
    level.decode = amax / 2688.0F;
    level.encode = 1.0F / level.decode;
  } else if (has_tensor_level(row)) {
    level.encode = (row.choice ? row.choice->base * 6 : 2688.0F) / amax;
    if (level.encode > largest_float) level.encode = largest_float;
    if (level.encode == 0) level.encode = 1;
    level.decode = 1.0F / (row.choice ? row.choice->base * 6 : 2688.0F);
  }
  return level;
}

bool skips_nan(amax_rule rule) noexcept { return rule == amax_rule::round_up_of_numbers; }

float e4m3_number(std::uint8_t code) noexcept {
  static const auto numbers = [] {
    std::array<float, 256> all;
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = to_float(float8_e4m3fn, i);
    return all;
  }();
  return numbers[code];
}

float te_nvfp4_factor(float scale, const tensor_level& tensor) noexcept {
  const float factor = 1.0F / (scale * (1.0F / tensor.encode));
  return factor > largest_float ? largest_float : factor;
}

bool divides(amax_rule rule) noexcept { return rule == amax_rule::flax_reciprocal || rule == amax_rule::ceil_of_log2f; }

void scales_of(const block_format& row, std::span<const float> amax, const tensor_level& tensor,
               std::span<std::uint8_t> codes, std::span<float> numbers, std::span<float> factors) {
  const std::size_t size = amax.size();
  const auto by_e4m3 = [&](auto wanted, auto factor_of) {
    for (std::size_t i = 0; i < size; ++i) factors[i] = wanted(amax[i]);
    encode_array(float8_e4m3fn, factors, codes, {.threads = 1});
    for (std::size_t i = 0; i < size; ++i) factors[i] = e4m3_number(codes[i]);
    for (std::size_t i = 0; i < size; ++i) factors[i] = factor_of(factors[i]);
  };
  switch (row.rule) {
    case amax_rule::nvfp4:
      return by_e4m3([](float a) { return kept_within(a / 6, 0x1p-6F, 448); },
                     [](float scale) { return 1.0F / scale; });
    case amax_rule::nvfp4_two_level:
      return by_e4m3([&](float a) { return kept_within(a / 6 / tensor.decode, 0x1p-6F, 448); },
                     [&](float scale) { return tensor.encode / scale; });
    case amax_rule::te_nvfp4: {
      const float encode_over_six = tensor.encode * (1.0F / 6);
      return by_e4m3([=](float a) { return kept_within(a * encode_over_six, -448, 448); },
                     [&](float scale) { return te_nvfp4_factor(scale, tensor); });
    }
    case amax_rule::te_quotient:
    case amax_rule::torchao_double:
    case amax_rule::flax_reciprocal:
    case amax_rule::ceil_of_log2f:
      for (std::size_t i = 0; i < size; ++i) {
        const number_and_factor scale = stored_scale_of(row, amax[i]);
        numbers[i] = scale.number;
        factors[i] = scale.factor;
      }
      return;
    default:
      for (std::size_t i = 0; i < size; ++i) codes[i] = e8m0_code(row, amax[i]);
      for (std::size_t i = 0; i < size; ++i) factors[i] = codes[i] == nan_scale ? not_a_number : power(127 - codes[i]);
  }
}

element_unit unit_of(const block_format& row, std::uint8_t code, float number, const tensor_level& tensor) noexcept {
  switch (row.rule) {
    case amax_rule::te_quotient:
    case amax_rule::flax_reciprocal:
    case amax_rule::ceil_of_log2f: return {number};
    case amax_rule::torchao_double: return {number, true};
    case amax_rule::nvfp4: return {e4m3_number(code)};
    case amax_rule::nvfp4_two_level: return {tensor.decode * e4m3_number(code)};
    case amax_rule::te_nvfp4:
    case amax_rule::te_four_over_six: return {e4m3_number(code) * tensor.amax * tensor.decode};
    default: return {e8m0_number(code)};
  }
}

}  // namespace ulp::detail
