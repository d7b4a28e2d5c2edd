#include "block_words.hpp"

#include <fmt/format.h>

#include <charconv>

#include "command.hpp"

namespace ulp::cli {

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

const block_format& block_format_named(const std::string& name, std::string_view option) {
  const parsed<const block_format*> row = read_block_format(name);
  if (!row.value) throw usage_error(fmt::format("{}: {}; `ulp formats --blocks` lists them", option, row.error));
  return **row.value;
}

int axis_named(const std::string& text) {
  int axis = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), axis);
  if (error != std::errc{} || end != text.data() + text.size())
    throw usage_error(fmt::format("--axis: '{}' is no integer", text));
  return axis;
}

}  // namespace ulp::cli
