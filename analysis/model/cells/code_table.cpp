// Codes ascend as their magnitudes do, one sign after the other, so a table of them is made in one pass.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <ulp/formats/codec.hpp>
#include <ulp/model/cells/array_counter.hpp>
#include <ulp/model/cells/element_types.hpp>

namespace ulp {
namespace {

enum class code_class : std::uint8_t { finite, zero, infinite, nan };

struct code_place {
  std::uint32_t significand = 0;  // of 24 bits
  std::int16_t exponent = 0;
  std::uint8_t slot = 0;
  code_class of = code_class::finite;
};

std::vector<code_place> places_of(const format& type) {
  std::vector<code_place> places(type.code_mask() + 1);
  for (std::size_t code = 0; code < places.size(); ++code) {
    code_place& place = places[code];
    const double value = to_double(type, code);
    place.of = std::isnan(value)   ? code_class::nan
               : std::isinf(value) ? code_class::infinite
               : value == 0        ? code_class::zero
                                   : code_class::finite;
    if (place.of != code_class::finite) continue;
    const magnitude m = magnitude_of(value);
    place.significand = static_cast<std::uint32_t>((std::uint64_t{1} << 23) | (m.fraction >> 41));
    place.exponent = static_cast<std::int16_t>(m.exponent);
    place.slot = slot_of(m.fraction);
  }
  return places;
}

const std::vector<code_place>& places_of(dtype type) {
  constexpr std::size_t types = static_cast<std::size_t>(last_dtype) + 1;
  static const std::array<std::vector<code_place>, types> all = [] {
    std::array<std::vector<code_place>, types> places;
    for (std::size_t i = 0; i < types; ++i)
      if (const format* const narrow = format_of_codes(static_cast<dtype>(i))) places[i] = places_of(*narrow);
    return places;
  }();
  return all[static_cast<std::size_t>(type)];
}

}  // namespace

cell_table table_of_codes(dtype type, std::span<const code_count> codes, bool with_sums) {
  const format& narrow = *format_of_codes(type);
  const std::vector<code_place>& places = places_of(type);
  cell_table table;
  table.has_sums = with_sums;
  table.min_abs = std::numeric_limits<double>::infinity();
  std::uint32_t last = 0;  // of the sign
  const auto widen = [&](std::uint32_t code) {
    const double size = std::fabs(to_double(narrow, code));
    table.max_abs = std::max(table.max_abs, size);
    table.min_abs = std::min(table.min_abs, size);
  };
  for (const code_count& c : codes) {
    const code_place& place = places[c.code];
    const bool negative = (c.code & narrow.sign_mask()) != 0;
    table.numel += c.count;
    switch (place.of) {
      case code_class::zero: table.zeros += c.count; continue;
      case code_class::nan: table.nans += c.count; continue;
      case code_class::infinite:
        (negative ? table.negative_infinities : table.positive_infinities) += c.count;
        continue;
      case code_class::finite: break;
    }
    const cell_sign sign = negative ? cell_sign::negative : cell_sign::positive;
    const bool same_sign = !table.cells.empty() && table.cells.back().sign == sign;
    const bool same_binade = same_sign && table.cells.back().exponent == place.exponent;
    if (same_binade && table.cells.back().slot == place.slot)
      table.cells.back().count += c.count;
    else
      table.cells.push_back({.sign = sign, .slot = place.slot, .exponent = place.exponent, .count = c.count});
    if (!same_sign) {
      if (table.cells.size() > 1) widen(last);
      widen(c.code);
    }
    last = c.code;
    if (!with_sums) continue;
    if (!same_binade) table.sums.push_back({.sign = sign, .exponent = place.exponent});
    binade_sums& sums = table.sums.back();
    sums.significands += uint128{place.significand} * c.count;
    sums.squares += uint128{std::uint64_t{place.significand} * place.significand} * c.count;
  }
  if (table.cells.empty())
    table.min_abs = 0;
  else
    widen(last);
  return table;
}

}  // namespace ulp
