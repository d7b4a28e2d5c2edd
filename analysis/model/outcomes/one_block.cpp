#include <ulp/model/outcomes/one_block.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "block_scales.hpp"
#include "outcome_kind.hpp"

namespace ulp {
namespace {

using detail::add;
using detail::outcome;
using enum detail::outcome;

struct ends {
  float low = 0;
  float high = 0;
  std::uint64_t count = 0;
};

// Of the values of a cell as float32 numbers.
ends ends_of(const cell& c, const cell_table& table, bool are_float32) {
  const cell_range range = range_of(c);
  const auto low = static_cast<float>(double_from(range.low));
  const auto high = static_cast<float>(double_from(range.high));
  ends found{low, high, c.count};
  if (are_float32 && !range.low_closed && low < high)
    found.low = std::nextafter(low, std::numeric_limits<float>::infinity());
  if (are_float32 && range.low < range.high && low < high) found.high = std::nextafter(high, 0.0F);
  const auto greatest = static_cast<float>(table.max_abs);
  found.high = std::clamp(found.high, std::min(found.low, greatest), greatest);
  found.low = std::min(found.low, found.high);
  return found;
}

void add_unknown(block_outcomes& to, std::uint64_t n) {
  for (count_range* const part : {&to.underflow, &to.subnormal, &to.normal, &to.overflow, &to.lost})
    add(*part, n, false);
}

// Of magnitudes in ascending order, the last of which is amax.
std::vector<outcome> outcomes_of(const block_format& row, const std::vector<float>& ascending, bool negative) {
  block_format whole = row;
  whole.block = {0, 0};
  std::vector<float> x = ascending;
  if (negative)
    for (float& v : x) v = -v;
  std::vector<std::uint8_t> codes(x.size());
  std::uint8_t code = 0;
  float number = 0;
  const scale_span scale =
      row.scale == scale_type::float32 ? scale_span{std::span{&number, 1}} : scale_span{std::span{&code, 1}};
  conversion_counts counts;
  quantize_blocks(whole, x, {1, x.size()}, codes, scale, {.threads = 1}, {}, &counts);
  const format* const numbers = row.element.numbers;
  const auto magnitude =
      static_cast<std::uint8_t>(numbers != nullptr ? numbers->sign_mask() - 1 : (1U << row.element.width) - 1);
  std::vector<outcome> all;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const unsigned bits = codes[i] & magnitude;
    const bool is_subnormal = numbers != nullptr && bits >> numbers->fraction_bits == 0;
    all.push_back(i + counts.overflowed >= x.size() ? overflow
                  : bits == 0                       ? underflow
                  : is_subnormal                    ? subnormal
                                                    : normal);
  }
  return all;
}

double unit_of(const block_format& row, double amax) {
  return static_cast<double>(detail::scales_of(row, {static_cast<float>(amax)}).front());
}

}  // namespace

std::string why_one_block_does_not_tell(const block_format& row) {
  if (row.transposed_hadamard) return "its blocks are of the transformed transpose";
  if (row.scale == scale_type::e4m3) return "its scales follow from the whole tensor and from each block";
  return {};
}

block_outcomes outcomes_as_one_block(const block_format& row, const cell_table& table, dtype recorded) {
  block_outcomes all;
  all.numel = table.numel;
  all.zero = table.zeros;
  all.nonfinite = table.nonfinite();
  all.blocks = table.numel > 0 ? 1 : 0;
  if (all.nonzero() == 0) {
    all.zero_blocks = all.nonfinite == 0 ? all.blocks : 0;
    all.nonfinite_blocks = all.nonfinite > 0 ? 1 : 0;
    return all;
  }
  std::uint64_t in_cells = 0;
  for (const cell& c : table.cells) in_cells += c.count;
  add_unknown(all, all.nonzero() - in_cells);
  const bool is_known = table.max_abs > 0 && table.max_abs <= std::numeric_limits<float>::max();
  const double unit = is_known && all.nonfinite == 0 && in_cells == all.nonzero() ? unit_of(row, table.max_abs) : 0;
  if (std::isnan(unit)) {
    all.nan_blocks = {1, 1};
    all.lost = {in_cells, in_cells};
    return all;
  }
  if (!(unit > 0)) {
    all.nonfinite_blocks = all.nonfinite > 0 ? 1 : 0;
    add_unknown(all, in_cells);
    return all;
  }
  const bool are_float32 = recorded != dtype::float64 && recorded != dtype::unknown;
  std::vector<ends> cells;
  std::vector<float> magnitudes{static_cast<float>(table.max_abs)};
  for (const cell& c : table.cells) {
    cells.push_back(ends_of(c, table, are_float32));
    magnitudes.push_back(cells.back().low);
    magnitudes.push_back(cells.back().high);
  }
  std::ranges::sort(magnitudes);
  magnitudes.erase(std::ranges::unique(magnitudes).begin(), magnitudes.end());
  const std::array by_sign{outcomes_of(row, magnitudes, false), outcomes_of(row, magnitudes, true)};
  const auto place = [&](float x) {
    return static_cast<std::size_t>(std::ranges::lower_bound(magnitudes, x) - magnitudes.begin());
  };
  const std::array parts{&all.underflow, &all.subnormal, &all.normal, &all.overflow};
  for (std::size_t i = 0; i < cells.size(); ++i) {
    outcome least = overflow;
    outcome greatest = underflow;
    for (const cell_sign sign : {cell_sign::positive, cell_sign::negative}) {
      if (table.cells[i].sign != sign && table.cells[i].sign != cell_sign::unknown) continue;
      for (const float end : {cells[i].low, cells[i].high}) {
        const outcome there = by_sign[sign == cell_sign::negative ? 1 : 0][place(end)];
        least = std::min(least, there);
        greatest = std::max(greatest, there);
      }
    }
    for (std::size_t o = least; o <= greatest; ++o) add(*parts[o], cells[i].count, least == greatest);
  }
  return all;
}

block_exponents exponents_as_one_block(const block_format& row, const cell_table& table) {
  const bool is_known = table.max_abs > 0 && table.max_abs <= std::numeric_limits<float>::max();
  const double unit = is_known && table.nonfinite() == 0 ? unit_of(row, table.max_abs) : 0;
  if (unit > 0) return exponents_over(table, unit);
  block_exponents all;
  all.numel = table.numel;
  all.zeros = table.zeros;
  all.nonfinite = table.nonfinite();
  all.unplaced = table.numel - table.zeros - table.nonfinite();
  return all;
}

}  // namespace ulp
