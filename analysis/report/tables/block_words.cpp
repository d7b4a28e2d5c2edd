#include <ulp/report/tables/block_words.hpp>

#include <fmt/format.h>

#include <cmath>
#include <ulp/formats/codec.hpp>

namespace ulp {

std::string text_of(const block_extent& block) {
  if (block.columns == 0) return block.rows == 0 ? "the tensor" : "a row";
  return fmt::format("{} x {}", block.rows, block.columns);
}

std::string_view text_of(scale_type scale) {
  switch (scale) {
    case scale_type::e8m0: return "float8_e8m0";
    case scale_type::e4m3: return "float8_e4m3fn";
    case scale_type::float32: break;
  }
  return "float32";
}

std::string_view in_words(amax_rule rule) {
  switch (rule) {
    case amax_rule::floor: return "2^(floor(log2 amax) - E), E the exponent of the largest element (FLOOR)";
    case amax_rule::ceil: return "2^(ceil(log2 amax) - E) (CEIL)";
    case amax_rule::even: return "FLOOR of amax rounded to the element's precision (EVEN)";
    case amax_rule::round_up: return "the least power of two not below amax / largest (RCEIL)";
    case amax_rule::floor_of_log2f: return "FLOOR by a log2 in float32, which takes what is just below 2^k for 2^k";
    case amax_rule::floor_of_field: return "FLOOR by amax's exponent field";
    case amax_rule::floor_clamped: return "FLOOR, kept within 2^-127..2^127";
    case amax_rule::floor_clamped_log2f: return "FLOOR by a log2 in float32, kept within 2^-127..2^127";
    case amax_rule::round_up_of_numbers: return "RCEIL of the numbers: NaN does not count, infinity gives 2^127";
    case amax_rule::round_up_of_quotient: return "RCEIL by the quotient amax / largest";
    case amax_rule::ceil_of_log2f: return "2^ceil(log2(amax / largest)) by a log2 in float32";
    case amax_rule::nvfp4: return "amax / 6, within 2^-6..448";
    case amax_rule::nvfp4_two_level: return "amax / 6 over the tensor's amax / 2688, within 2^-6..448";
    case amax_rule::te_nvfp4: return "amax / 6 times 2688 / the tensor's amax, at most 448";
    case amax_rule::te_four_over_six: return "of two scales, amax to 6 and amax to 4, the one with the lesser error";
    case amax_rule::te_quotient: return "largest / amax, kept finite; its reciprocal is stored";
    case amax_rule::torchao_double: return "largest / max(amax, 1e-12), in float64";
    case amax_rule::flax_reciprocal: break;
  }
  return "the reciprocal of largest / amax; 1 without a finite amax above 0";
}

std::string rule_name(const block_format& row) {
  switch (row.rule) {
    case amax_rule::floor:
    case amax_rule::floor_of_field: return "FLOOR";
    case amax_rule::floor_clamped: return "FLOOR, clamped";
    case amax_rule::floor_of_log2f:
    case amax_rule::floor_clamped_log2f: return "FLOOR of a rounded log2";
    case amax_rule::ceil: return "CEIL";
    case amax_rule::even: return "EVEN";
    case amax_rule::round_up:
    case amax_rule::round_up_of_quotient: return "RCEIL";
    case amax_rule::round_up_of_numbers: return "RCEIL of numbers";
    case amax_rule::ceil_of_log2f: return "RCEIL of a rounded log2";
    case amax_rule::nvfp4: return "amax / 6";
    case amax_rule::nvfp4_two_level:
    case amax_rule::te_nvfp4: return "amax / 6, two levels";
    case amax_rule::te_four_over_six: return "amax / 6 or amax / 4";
    case amax_rule::te_quotient:
    case amax_rule::torchao_double:
    case amax_rule::flax_reciprocal: break;
  }
  return row.power_of_two ? "amax / largest, to 2^k" : "amax / largest";
}

double bits_of_value(const block_format& row) {
  const double elements =
      static_cast<double>(row.block.columns) * (row.scale_for_each_row ? 1 : static_cast<double>(row.block.rows));
  const double scale = row.scale == scale_type::float32 ? 32 : 8;
  return row.element.width + (elements > 0 ? scale / elements : 0);
}

double least_element(const block_format& row) {
  if (row.element.numbers == nullptr) return std::ldexp(1.0, -row.element.fraction_bits);
  return to_double(*row.element.numbers, 1);
}

}  // namespace ulp
