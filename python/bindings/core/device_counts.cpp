#include "device_counts.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include <ulp/model/cells/array_counter.hpp>

namespace ulp::python {
namespace {

using device::counters;
using device::sum_words;

template <typename Cells>
double value_of(std::uint64_t magnitude) {
  // By integers: the processor may take subnormals for zero.
  const auto field = static_cast<int>(magnitude >> Cells::fraction);
  const std::uint64_t significand = (magnitude & Cells::low) + (field > 0 ? std::uint64_t{Cells::low} + 1 : 0);
  constexpr int bias = static_cast<int>(Cells::exponents / 2) - 1;
  return std::ldexp(static_cast<double>(significand), (field > 0 ? field : 1) - bias - Cells::fraction);
}

// Of rows as Cells has them.
template <typename Cells>
cell_table table_of_counts(const device::header& its, const std::uint64_t* words, std::uint64_t numel, bool with_sums) {
  constexpr int bias = static_cast<int>(Cells::exponents / 2) - 1;
  cell_table t;
  t.numel = numel;
  t.has_sums = with_sums;
  t.max_abs = value_of<Cells>(its.most);
  t.min_abs = value_of<Cells>(its.least);
  const auto is_subnormal = [](std::uint32_t row) { return row >= Cells::subnormals; };
  const auto sign_of = [=](std::uint32_t row) {
    const bool negative = is_subnormal(row) ? row - Cells::subnormals >= Cells::fraction : row >= Cells::exponents;
    return negative ? cell_sign::negative : cell_sign::positive;
  };
  const auto exponent_of = [=](std::uint32_t row) {
    const int place =
        static_cast<int>(is_subnormal(row) ? (row - Cells::subnormals) % Cells::fraction : row % Cells::exponents);
    return static_cast<std::int16_t>(place - bias + (is_subnormal(row) ? 1 - Cells::fraction : 0));
  };
  // By row and slot, as two counters may be of one slot; in the order of cells.
  struct row_counts {
    bool used = false;
    std::array<std::uint32_t, slots_per_binade> of{};
  };
  thread_local std::vector<row_counts> rows(Cells::rows);
  for (const std::uint64_t word : std::span(words + its.counts_at, its.counts)) {
    const auto counter = static_cast<std::uint32_t>(word >> 32);
    row_counts& row = rows[counter / counters];
    row.used = true;
    row.of[device::slot_of_counter(counter % counters)] += static_cast<std::uint32_t>(word);
  }
  t.cells.reserve(its.counts);
  const auto take = [&](std::uint32_t first, std::uint32_t last) {
    for (std::uint32_t row = first; row < last; ++row) {
      if (!rows[row].used) continue;
      for (std::uint8_t slot = 0; slot < slots_per_binade; ++slot)
        if (const std::uint32_t n = rows[row].of[slot]; n != 0)
          t.cells.push_back({.sign = sign_of(row), .slot = slot, .exponent = exponent_of(row), .count = n});
      rows[row] = {};
    }
  };
  for (const std::uint32_t sign : {0U, 1U}) {
    const std::uint32_t first = sign * Cells::exponents, last = first + Cells::exponents - 1;
    t.zeros += rows[first].of[0];
    std::uint64_t& infinities = sign == 0 ? t.positive_infinities : t.negative_infinities;
    infinities = rows[last].of[0];
    t.nans += std::accumulate(rows[last].of.begin() + 1, rows[last].of.end(), std::uint64_t{0});
    rows[first] = rows[last] = {};
    take(Cells::subnormals + sign * Cells::fraction, Cells::subnormals + (sign + 1) * Cells::fraction);
    take(first + 1, last);
  }
  const std::span sums(words + its.sums_at, sum_words * its.sums);
  for (std::size_t i = 0; i < sums.size(); i += sum_words) {
    const auto row = static_cast<std::uint32_t>(sums[i]);
    t.sums.push_back({.sign = sign_of(row),
                      .exponent = exponent_of(row),
                      .significands = sums[i + 1],
                      .squares = (uint128{sums[i + 3]} << 24) + sums[i + 2]});
    t.cut_significands += sums[i] >> 32;
  }
  std::ranges::sort(t.sums, {}, [](const binade_sums& s) { return std::pair(s.sign, s.exponent); });
  return t;
}

// Every code once, ascending.
std::vector<code_count> codes_of_counts(std::span<const std::uint64_t> words, std::size_t codes) {
  std::vector<std::uint32_t> count(codes);
  for (const std::uint64_t word : words) count[word >> 32] = static_cast<std::uint32_t>(word);
  std::vector<code_count> all;
  all.reserve(words.size());
  for (std::size_t code = 0; code < codes; ++code)
    if (count[code] != 0) all.push_back({.code = static_cast<std::uint32_t>(code), .count = count[code]});
  return all;
}

}  // namespace

counted_values values_of_counts(const device::header& its, const std::uint64_t* words, dtype type, std::uint64_t numel,
                                bool with_sums) {
  counted_values values;
  if (type == dtype::float32) {
    values.table = table_of_counts<device::float32_cells>(its, words, numel, with_sums);
  } else if (type == dtype::float64) {
    values.table = table_of_counts<device::float64_cells>(its, words, numel, with_sums);
  } else {
    values.codes = codes_of_counts({words + its.counts_at, its.counts}, std::size_t{1} << 8 * size_of(type));
    values.table = table_of_codes(type, values.codes, with_sums);
  }
  return values;
}

}  // namespace ulp::python
