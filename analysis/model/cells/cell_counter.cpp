#include <ulp/model/cells/cell_counter.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <type_traits>
#include <utility>
#include <vector>

#include <ulp/formats/codec.hpp>

#include "cell_kernel.hpp"

namespace ulp {
namespace {

constexpr int first_binade = -1074;
constexpr int binades = 1023 - first_binade + 1;

template <typename Float>
struct float_layout;
template <>
struct float_layout<float> {
  using bits = std::uint32_t;
  static constexpr format type = binary32;
};
template <>
struct float_layout<double> {
  using bits = std::uint64_t;
  static constexpr format type = binary64;
};

}  // namespace

struct cell_counter::dense {
  struct binade {
    std::array<std::uint64_t, slots_per_binade> counts{};
    uint128 significands = 0;
    uint128 squares = 0;
  };
  explicit dense(with what) : with_sums(what != with::nothing), ladder(what == with::sums_and_errors ? binades : 0) {}

  bool with_sums;
  std::vector<binade> table{2 * binades};  // positive, then negative
  std::vector<binade_errors> ladder;       // of each exponent; empty without errors
  int low = binades;                       // touched binades
  int high = -1;
  cell_table totals{};         // everything but cells, sums and errors
  std::uint64_t max_bits = 0;  // of the largest magnitude, as a double
  std::uint64_t min_bits = ~std::uint64_t{0};

  // Of the kernels; all zero between calls.
  std::vector<std::uint32_t> row_counts;
  std::vector<detail::binade_pair> row_sums;

  // `counts`, where it is given, says how often each value occurs.
  template <typename Float>
  void add(std::span<const Float> values, const std::uint64_t* counts);
  // Takes what fills the kernel's blocks; returns the rest.
  std::span<const float> add_blocks(std::span<const float> values, const detail::cell_kernel& kernel);
  // Takes all or none.
  std::span<const float> add_filled_block(std::span<const float> values, const detail::cell_kernel& kernel);
  void take_rows(const detail::magnitude_bounds& bounds);
  void widen(const format& type, std::uint64_t smallest, std::uint64_t largest);
  // `plain`: each value once, without errors and edges, which is a quarter faster.
  template <typename Float, bool plain>
  void add_values(std::span<const Float> values, const std::uint64_t* counts);
};

namespace {

// Adds n values of that 24-bit significand.
void add_errors(binade_errors& to, std::uint64_t significand, std::uint64_t n) {
  for (std::size_t level = 0; level < binade_errors::levels; ++level) {
    const int shift = 24 - static_cast<int>(level);  // of 23 - m bits, m = -1, 0, ...
    const std::uint64_t odd = (significand >> shift) & 1;
    const std::uint64_t rounded = (significand + (std::uint64_t{1} << (shift - 1)) - 1 + odd) >> shift << shift;
    const auto error = static_cast<std::int64_t>(significand - rounded);
    to.squares[level] += uint128{static_cast<std::uint64_t>(error * error)} * n;
    to.products[level] += int128{error * static_cast<std::int64_t>(significand)} * n;
  }
}

// The greatest magnitude of the type that is not above the edge, as its bits: what has greater ones is above.
template <typename Float>
std::uint64_t last_below(double edge) {
  return encode(float_layout<Float>::type, edge, {.direction = direction::toward_zero}).code;
}

}  // namespace

template <typename Float>
void cell_counter::dense::add(std::span<const Float> values, const std::uint64_t* counts) {
  if (counts != nullptr || !ladder.empty() || !totals.edges.empty()) {
    add_values<Float, false>(values, counts);
    return;
  }
  if constexpr (std::is_same_v<Float, float>)
    if (const detail::cell_kernel* const kernel = detail::cell_kernel_in_use()) {
      values = add_blocks(values, *kernel);
      values = add_filled_block(values, *kernel);
    }
  add_values<Float, true>(values, counts);
}

std::span<const float> cell_counter::dense::add_blocks(std::span<const float> values,
                                                       const detail::cell_kernel& kernel) {
  constexpr auto type = binary32;
  while (values.size() >= detail::kernel_block) {
    const std::size_t size = std::min(values.size(), detail::kernel_capacity);
    const auto part = values.first(size - size % detail::kernel_block);
    values = values.subspan(part.size());
    row_counts.resize(detail::kernel_binades * detail::rows_per_binade);
    if (with_sums) row_sums.resize(detail::sum_tables * detail::sums_per_table);
    const detail::magnitude_bounds bounds =
        kernel.count(part, {row_counts.data(), with_sums ? row_sums.data() : nullptr});
    take_rows(bounds);
    totals.numel += part.size();
    if (bounds.least_less_one >= type.fraction_mask() && bounds.largest < type.infinity_code()) {
      if (bounds.largest != 0) widen(type, bounds.least_less_one + 1, bounds.largest);
      continue;
    }
    std::vector<float> others;
    std::uint64_t largest = 0;
    std::uint64_t smallest = type.infinity_code();
    for (const float x : part) {
      const std::uint64_t a = std::bit_cast<std::uint32_t>(x) & type.magnitude_mask();
      if (a == 0) continue;
      if (a <= type.fraction_mask() || a >= type.infinity_code()) {
        others.push_back(x);
      } else {
        largest = std::max(largest, a);
        smallest = std::min(smallest, a);
      }
    }
    if (largest != 0) widen(type, smallest, largest);
    totals.numel -= others.size();
    add_values<float, true>(others, nullptr);
  }
  return values;
}

// Where these are many of a block, the rest of it is filled with zeros, which are not counted then.
std::span<const float> cell_counter::dense::add_filled_block(std::span<const float> values,
                                                             const detail::cell_kernel& kernel) {
  constexpr std::size_t many = 96;
  if (values.size() < many) return values;
  std::array<float, detail::kernel_block> block{};
  std::ranges::copy(values, block.begin());
  add_blocks(block, kernel);
  const std::size_t zeros = block.size() - values.size();
  totals.numel -= zeros;
  totals.zeros -= zeros;
  return {};
}

// Adds the rows of zero and normal values to the binades, and clears all that were touched.
void cell_counter::dense::take_rows(const detail::magnitude_bounds& bounds) {
  constexpr int fraction_bits = binary32.fraction_bits;
  constexpr std::size_t exponents = 256;
  const auto take_one = [&](std::size_t exponent, bool negative) {
    const std::size_t at = exponent + (negative ? exponents : 0);
    const auto touched = std::span(row_counts).subspan(at * detail::rows_per_binade, detail::rows_used);
    uint128 significands = 0;
    uint128 squares = 0;
    for (std::size_t i = at; i < row_sums.size(); i += detail::sums_per_table) {
      const auto sums = std::exchange(row_sums[i], detail::binade_pair{});
      significands += sums[0];
      squares += sums[1];
    }
    if (exponent == 0) {
      // Of zeros all is left to the next power of two.
      totals.zeros += touched.back();
    } else if (exponent + 1 < exponents) {
      const int index = static_cast<int>(exponent) - binary32.bias - first_binade;
      binade& o = table[static_cast<std::size_t>(index + (negative ? binades : 0))];
      for (std::size_t r = 0; r < touched.size(); ++r) o.counts[detail::slot_of_row(r)] += touched[r];
      o.significands += significands;
      o.squares += squares;
    }
    std::ranges::fill(touched, 0);
  };
  const auto take = [&](std::size_t exponent) {
    for (const bool negative : {false, true}) take_one(exponent, negative);
  };
  take(0);
  if (bounds.largest == 0) return;
  const std::size_t first = std::max<std::size_t>(1, (bounds.least_less_one + 1) >> fraction_bits);
  for (std::size_t exponent = first; exponent <= bounds.largest >> fraction_bits; ++exponent) take(exponent);
}

// The extremes and the touched binades hold these magnitudes too, given as bits.
void cell_counter::dense::widen(const format& type, std::uint64_t smallest, std::uint64_t largest) {
  const auto as_double = [&](std::uint64_t b) {
    return std::bit_cast<std::uint64_t>(to_double(type, b));  // exact; magnitudes order as their bits
  };
  const auto binade_of = [](std::uint64_t b) { return magnitude_of(std::bit_cast<double>(b)).exponent - first_binade; };
  max_bits = std::max(max_bits, as_double(largest));
  min_bits = std::min(min_bits, as_double(smallest));
  low = std::min(low, binade_of(as_double(smallest)));
  high = std::max(high, binade_of(as_double(largest)));
}

template <typename Float, bool plain>
void cell_counter::dense::add_values(std::span<const Float> values, const std::uint64_t* counts) {
  using bits = typename float_layout<Float>::bits;
  constexpr format type = float_layout<Float>::type;
  constexpr int fraction_bits = type.fraction_bits;
  constexpr bits magnitude_mask = static_cast<bits>(type.magnitude_mask());
  constexpr bits infinity = static_cast<bits>(type.infinity_code());
  struct edge {
    std::uint64_t last;
    int index;
    edge_counts* of;
  };
  std::vector<edge> edges;
  for (edge_counts& e : totals.edges)
    edges.push_back({last_below<Float>(e.at), magnitude_of(e.at).exponent - first_binade, &e});
  bits largest = 0;
  bits smallest = infinity;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint64_t n = plain || counts == nullptr ? 1 : counts[i];
    const auto code = std::bit_cast<bits>(values[i]);
    const bits a = code & magnitude_mask;
    const bool negative = a != code;
    totals.numel += n;
    if (a == 0) {
      totals.zeros += n;
      continue;
    }
    if (a >= infinity) {
      (a > infinity ? totals.nans : negative ? totals.negative_infinities : totals.positive_infinities) += n;
      continue;
    }
    largest = std::max(largest, a);
    smallest = std::min(smallest, a);
    int exponent = static_cast<int>(a >> fraction_bits) - type.bias;
    std::uint64_t significand = a & static_cast<bits>(type.fraction_mask());
    if (exponent == -type.bias) {
      // Subnormal: shift the leading one to the implicit place.
      const int shift = std::countl_zero(significand) - (63 - fraction_bits);
      significand <<= shift;
      exponent = type.emin() - shift;
    } else {
      significand |= std::uint64_t{1} << fraction_bits;
    }
    const int index = exponent - first_binade;
    binade& o = table[static_cast<std::size_t>(index + (negative ? binades : 0))];
    o.counts[slot_of(significand << (64 - fraction_bits))] += n;
    std::uint64_t kept = significand;
    if constexpr (fraction_bits > 23) kept >>= fraction_bits - 23;
    if (with_sums) {
      if constexpr (fraction_bits > 23)
        totals.cut_significands += (significand & ((std::uint64_t{1} << (fraction_bits - 23)) - 1)) != 0 ? n : 0;
      o.significands += uint128{kept} * n;
      o.squares += uint128{kept * kept} * n;
    }
    if constexpr (!plain) {
      if (!ladder.empty()) add_errors(ladder[static_cast<std::size_t>(index)], kept, n);
      for (const edge& e : edges) {
        if (a <= e.last) continue;
        e.of->above += n;
        if (index == e.index && with_sums) e.of->squares_above += uint128{kept * kept} * n;
      }
    }
  }
  if (largest != 0) widen(type, smallest, largest);
}

cell_counter::cell_counter(with what) : dense_(new dense(what)) {}
cell_counter::~cell_counter() = default;
cell_counter::cell_counter(cell_counter&&) noexcept = default;
cell_counter& cell_counter::operator=(cell_counter&&) noexcept = default;

void cell_counter::set_edges(std::span<const double> edges) {
  dense_->totals.edges.clear();
  for (const double at : edges) dense_->totals.edges.push_back({.at = at});
}

void cell_counter::add(std::span<const float> values) { dense_->add(values, nullptr); }
void cell_counter::add(std::span<const double> values) { dense_->add(values, nullptr); }

void cell_counter::add(const format& type, std::span<const code_count> codes) {
  std::vector<double> values;
  std::vector<std::uint64_t> counts;
  values.reserve(codes.size());
  counts.reserve(codes.size());
  for (const code_count& c : codes) {
    values.push_back(to_double(type, c.code));
    counts.push_back(c.count);
  }
  dense_->add(std::span<const double>{values}, counts.data());
}

cell_table cell_counter::take() {
  dense& d = *dense_;
  cell_table result = std::exchange(d.totals, {});
  result.has_sums = d.with_sums;
  result.has_errors = !d.ladder.empty();
  if (d.high >= 0) {
    result.max_abs = std::bit_cast<double>(d.max_bits);
    result.min_abs = std::bit_cast<double>(d.min_bits);
  }
  std::vector<bool> present(result.has_errors ? static_cast<std::size_t>(std::max(0, d.high - d.low + 1)) : 0);
  for (const cell_sign sign : {cell_sign::positive, cell_sign::negative}) {
    for (int index = d.low; index <= d.high; ++index) {
      dense::binade& o = d.table[static_cast<std::size_t>(index + (sign == cell_sign::negative ? binades : 0))];
      const auto exponent = static_cast<std::int16_t>(index + first_binade);
      bool any = false;
      for (std::uint8_t slot = 0; slot < slots_per_binade; ++slot) {
        if (o.counts[slot] == 0) continue;
        any = true;
        result.cells.push_back({.sign = sign, .slot = slot, .exponent = exponent, .count = o.counts[slot]});
      }
      if (any && result.has_errors) present[static_cast<std::size_t>(index - d.low)] = true;
      if (any && d.with_sums)
        result.sums.push_back(
            {.sign = sign, .exponent = exponent, .significands = o.significands, .squares = o.squares});
      o = {};
    }
  }
  for (int index = d.low; result.has_errors && index <= d.high; ++index) {
    if (!present[static_cast<std::size_t>(index - d.low)]) continue;
    binade_errors& errors = d.ladder[static_cast<std::size_t>(index)];
    errors.exponent = static_cast<std::int16_t>(index + first_binade);
    result.errors.push_back(std::exchange(errors, {}));
  }
  d.low = binades;
  d.high = -1;
  d.max_bits = 0;
  d.min_bits = ~std::uint64_t{0};
  return result;
}

cell_table count_cells(std::span<const float> values) {
  cell_counter counter;
  counter.add(values);
  return counter.take();
}

cell_table count_cells(std::span<const double> values) {
  cell_counter counter;
  counter.add(values);
  return counter.take();
}

}  // namespace ulp
