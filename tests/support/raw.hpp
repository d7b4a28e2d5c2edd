// Raw values of a safetensors file, read without the project's readers; and outcomes by rounding each value.
#ifndef ULP_TESTS_SUPPORT_RAW_HPP
#define ULP_TESTS_SUPPORT_RAW_HPP

#include <bit>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include <ulp/formats/catalog.hpp>
#include <ulp/formats/codec.hpp>
#include <ulp/model/outcomes/outcome.hpp>

#include "support/files.hpp"
#include "support/little.hpp"

namespace ulp::test {

inline std::map<std::string, std::vector<double>> read_raw(const std::filesystem::path& path) {
  const std::string bytes = read_file(path);
  const auto header_size = number_at<std::uint64_t>(bytes);
  const auto header = nlohmann::json::parse(bytes.substr(8, header_size));
  const std::map<std::string, format> types{{"F64", binary64},  {"F32", binary32},          {"F16", float16},
                                            {"BF16", bfloat16}, {"F8_E4M3", float8_e4m3fn}, {"F8_E5M2", float8_e5m2}};
  std::map<std::string, std::vector<double>> tensors;
  for (const auto& [name, info] : header.items()) {
    if (name == "__metadata__") continue;
    const format& type = types.at(info.at("dtype"));
    const std::size_t width = static_cast<std::size_t>(type.width()) / 8;
    const std::size_t begin = 8 + header_size + info.at("data_offsets").at(0).get<std::size_t>();
    const std::size_t end = 8 + header_size + info.at("data_offsets").at(1).get<std::size_t>();
    std::vector<double>& values = tensors[name];
    for (std::size_t at = begin; at < end; at += width) values.push_back(to_double(type, bits_at(bytes, at, width)));
  }
  return tensors;
}

// multiplier * x exactly, by the compiler's binary128, whose 113 bits hold all 106 of a product of doubles.
#if __LDBL_MANT_DIG__ == 113
using binary128 = long double;
#else
__extension__ typedef __float128 binary128;
#endif
inline unpacked product(double x, double multiplier) {
  unpacked y = decode(x);
  if (y.kind != number_class::finite) return y;
  const auto bits = std::bit_cast<uint128>(static_cast<binary128>(x) * static_cast<binary128>(multiplier));
  const uint128 significand = bits << 15 | uint128{1} << 127;  // the leading one is not stored
  y.significand = static_cast<std::uint64_t>(significand >> 64);
  y.sticky = static_cast<std::uint64_t>(significand) != 0;
  y.exponent = static_cast<int>(bits >> 112 & 0x7FFF) - 16383;
  return y;
}

// One value's contribution, by the reference rounding.
inline void count_value(outcome_counts& counts, double x, const format& to, const rounding& mode, double multiplier) {
  const auto one = [](count_range& c) { c += {1, 1}; };
  ++counts.numel;
  const unpacked y = product(x, multiplier);
  if (y.kind == number_class::zero) {
    ++counts.zero;
  } else if (y.kind != number_class::finite) {
    ++counts.nonfinite;
  } else {
    const encoded result = encode(to, y, mode);
    const std::uint64_t magnitude = result.code & to.magnitude_mask();
    if (any(result.flags, status::overflow)) {
      one(counts.overflow);
      if (const number_class kind = decode(to, result.code).kind; kind != number_class::finite) one(counts.infinite);
    } else {
      one(magnitude == 0 ? counts.underflow : magnitude < to.min_normal_code() ? counts.subnormal : counts.normal);
    }
  }
}

inline outcome_counts count_raw(std::span<const double> values, const format& to, const rounding& mode,
                                double multiplier) {
  outcome_counts counts;
  for (const double x : values) count_value(counts, x, to, mode, multiplier);
  return counts;
}

// What a histogram CSV tells of the same values.
inline cell_table binades_of(cell_table t) {
  cell_table coarse;
  for (const cell& c : t.cells) {
    cell_table one;
    one.cells = {{.sign = cell_sign::unknown, .slot = whole_binade, .exponent = c.exponent, .count = c.count}};
    coarse.merge(one);
  }
  t.cells = coarse.cells;
  t.min_abs = not_known;
  t.unsigned_infinities = t.infinities();
  t.positive_infinities = t.negative_infinities = 0;
  return t;
}

[[nodiscard]] inline bool contains(const count_range& range, const count_range& exact) {
  return range.low <= exact.low && exact.high <= range.high;
}
[[nodiscard]] inline bool contains(const outcome_counts& ranges, const outcome_counts& exact) {
  return ranges.numel == exact.numel && ranges.zero == exact.zero && ranges.nonfinite == exact.nonfinite &&
         contains(ranges.underflow, exact.underflow) && contains(ranges.subnormal, exact.subnormal) &&
         contains(ranges.normal, exact.normal) && contains(ranges.overflow, exact.overflow) &&
         contains(ranges.infinite, exact.infinite);
}

constexpr direction deterministic_directions[] = {direction::nearest_even,    direction::nearest_away,
                                                  direction::toward_zero,     direction::toward_positive,
                                                  direction::toward_negative, direction::to_odd};

inline std::vector<rounding> all_modes() {
  std::vector<rounding> modes;
  for (const direction d : deterministic_directions)
    for (const flush f : {flush::never, flush::before_rounding, flush::after_rounding, flush::result})
      for (const overflow_mode o : {overflow_mode::ieee, overflow_mode::saturate})
        modes.push_back({.direction = d, .overflow = o, .flush = f});
  return modes;
}

}  // namespace ulp::test

#endif
