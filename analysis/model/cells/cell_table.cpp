#include <ulp/model/cells/cell_table.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

#include <ulp/formats/codec.hpp>

#include "buckets.hpp"

namespace ulp {
namespace {

constexpr std::uint64_t thirteen_sixteenths = std::uint64_t{13} << 60;

// f = 1 - 2^-c in units of 2^-64.
constexpr std::uint64_t edge(int c) noexcept { return c == 0 ? 0 : ~std::uint64_t{0} << (64 - c); }

// The lower ends of the slots in ascending order; a point slot is followed by the open interval above it.
struct slot_bound {
  std::uint64_t low;
  bool point;
};
constexpr std::array<slot_bound, slots_per_binade> make_slots() noexcept {
  std::array<slot_bound, slots_per_binade> slots{};
  std::size_t n = 0;
  for (int c = 0; c <= 10; ++c) {
    slots[n++] = {edge(c), true};
    slots[n++] = {edge(c), false};
    if (c == 2) {
      slots[n++] = {thirteen_sixteenths, true};
      slots[n++] = {thirteen_sixteenths, false};
    }
  }
  slots[n++] = {edge(11), false};
  slots[n++] = {edge(12), false};
  return slots;
}
constexpr auto slot_bounds = make_slots();
static_assert(slot_bounds.back().low == edge(12));
constexpr std::uint8_t first_half_open = 24;  // from here on a slot holds its lower end

// The table's slot of the cell (c leading ones, c <= 10): on its lower edge, or above.
constexpr std::uint8_t edge_slot(int c) noexcept { return static_cast<std::uint8_t>(2 * c + (c > 2 ? 2 : 0)); }

// value * 2^exponent, rounded to nearest even.
double to_double_scaled(const uint128& value, int exponent) noexcept {
  const auto high = static_cast<std::uint64_t>(value >> 64);
  const auto low = static_cast<std::uint64_t>(value);
  if (high == 0 && low == 0) return 0;
  const int shift = high != 0 ? std::countl_zero(high) : 64 + std::countl_zero(low);
  const uint128 normal = value << shift;
  unpacked x{.kind = number_class::finite};
  x.significand = static_cast<std::uint64_t>(normal >> 64);
  x.sticky = static_cast<std::uint64_t>(normal) != 0;
  x.exponent = 127 - shift + exponent;
  return std::bit_cast<double>(encode(binary64, x).code);
}

}  // namespace

magnitude magnitude_of(double x) noexcept {
  const unpacked u = decode(x);
  return {.exponent = u.exponent, .fraction = u.significand << 1};
}

double double_from(const magnitude& m) noexcept {
  unpacked x{.kind = number_class::finite};
  x.exponent = m.exponent;
  x.significand = (std::uint64_t{1} << 63) | (m.fraction >> 1);
  x.sticky = (m.fraction & 1) != 0;
  return std::bit_cast<double>(encode(binary64, x, {.direction = direction::toward_positive}).code);
}

std::uint8_t slot_of(std::uint64_t fraction) noexcept {
  const int c = std::min(std::countl_one(fraction), 12);
  if (c > 10) return static_cast<std::uint8_t>(first_half_open + c - 11);
  const bool above = fraction != edge(c);
  const auto slot = static_cast<std::uint8_t>(edge_slot(c) + (above ? 1 : 0));
  if (c != 2 || fraction < thirteen_sixteenths) return slot;
  return static_cast<std::uint8_t>(fraction == thirteen_sixteenths ? slot + 1 : slot + 2);
}

cell_range range_of(const cell& c) noexcept {
  const magnitude next_binade{.exponent = c.exponent + 1, .fraction = 0};
  if (c.slot == whole_binade) return {.low = {c.exponent, 0}, .low_closed = true, .high = next_binade};
  const slot_bound& bound = slot_bounds[c.slot];
  const magnitude low{.exponent = c.exponent, .fraction = bound.low};
  if (bound.point) return {.low = low, .low_closed = true, .high = low};
  const bool last = c.slot + 1 == slots_per_binade;
  return {.low = low,
          .low_closed = c.slot >= first_half_open,
          .high = last ? next_binade : magnitude{c.exponent, slot_bounds[c.slot + 1U].low}};
}

namespace {

// Merges the ascending list `b` into `a`; `add` adds the second to the first where their keys are equal. In place: tables
// that are merged step after step have the same cells except for a few.
template <typename T, typename Key, typename Add>
void merge_sorted(std::vector<T>& a, const std::vector<T>& b, Key key, Add add) {
  std::size_t missing = 0;
  std::size_t at = 0;
  for (const T& item : b) {
    while (at < a.size() && key(a[at]) < key(item)) ++at;
    if (at < a.size() && key(a[at]) == key(item))
      add(a[at], item);
    else
      ++missing;
  }
  if (missing == 0) return;
  std::size_t from = a.size();
  a.resize(a.size() + missing);
  std::size_t to = a.size();
  for (std::size_t j = b.size(); j > 0 && to > from;) {
    if (from > 0 && !(key(a[from - 1]) < key(b[j - 1]))) {
      if (key(a[from - 1]) == key(b[j - 1])) --j;  // added already
      a[--to] = a[--from];
    } else {
      a[--to] = b[--j];
    }
  }
}

double smaller_nonzero(const cell_table& a, const cell_table& b) {
  if (a.nonzero_finite() == 0) return b.min_abs;
  if (b.nonzero_finite() == 0) return a.min_abs;
  if (std::isnan(a.min_abs) || std::isnan(b.min_abs)) return not_known;
  return std::min(a.min_abs, b.min_abs);
}

double larger_known(const cell_table& a, const cell_table& b) {
  if (std::isnan(a.max_abs)) return b.max_abs >= a.largest_possible() ? b.max_abs : not_known;
  if (std::isnan(b.max_abs)) return a.max_abs >= b.largest_possible() ? a.max_abs : not_known;
  return std::max(a.max_abs, b.max_abs);
}

// The mean over significands spread evenly through a cell, by slot.
template <typename Mean>
std::array<double, whole_binade + 1> means_of_slots(Mean mean) {
  const auto significand = [](const magnitude& m) {
    return m.exponent > 0 ? 2.0 : 1.0 + std::ldexp(static_cast<double>(m.fraction >> 11), -53);
  };
  std::array<double, whole_binade + 1> means{};
  const auto set = [&](std::uint8_t slot) {
    const cell_range range = range_of({.slot = slot});
    means[slot] = mean(significand(range.low), significand(range.high));
  };
  for (std::uint8_t slot = 0; slot < slots_per_binade; ++slot) set(slot);
  set(whole_binade);
  return means;
}

// value * 2^exponent for a value of [1, 4]; the library's takes ten times as long.
double scaled(double value, int exponent) {
  if (exponent < -1022 || exponent > 1021) return std::ldexp(value, exponent);
  return value * std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

// Sum over the cells of count * 2^(power * k) * mean, and over the buckets likewise, as if those that hold zero lay on one
// side of it.
template <typename Mean>
double estimated_sum(const cell_table& table, int power, Mean mean) {
  static const auto means = means_of_slots(mean);
  double sum = 0;
  for (const cell& c : table.cells) sum += static_cast<double>(c.count) * scaled(means[c.slot], power * c.exponent);
  for_each_bucket(table, [&](const bucket_values& v) {
    sum += v.count * mean(v.maybe_zero ? 0 : v.magnitudes.low, v.magnitudes.high);
  });
  return sum;
}

// Sum over the binades of the exact sums, each rounded once, in ascending order.
double exact_sum(const cell_table& table, uint128 binade_sums::*sum, int power) {
  std::vector<double> terms;
  terms.reserve(table.sums.size());
  for (const binade_sums& s : table.sums) terms.push_back(to_double_scaled(s.*sum, power * (s.exponent - 23)));
  std::sort(terms.begin(), terms.end());
  return std::accumulate(terms.begin(), terms.end(), 0.0);
}

template <typename Mean>
value_sum sum_of(const cell_table& table, uint128 binade_sums::*exact, double reported, int power, Mean mean) {
  if (table.nonzero_finite() == 0) return {};
  if (table.has_sums)
    return {exact_sum(table, exact, power), table.cut_significands == 0 ? sum_quality::exact : sum_quality::estimated};
  if (!std::isnan(reported)) return {reported, sum_quality::reported};
  if (table.cells.empty() && table.buckets.empty()) return {not_known, sum_quality::estimated};
  return {estimated_sum(table, power, mean), sum_quality::estimated};
}

}  // namespace

double cell_table::largest_possible() const noexcept {
  if (!std::isnan(max_abs)) return max_abs;
  std::uint64_t elsewhere = nonzero_finite();
  double most = 0;
  for (const cell& c : cells) {
    most = std::max(most, double_from(range_of(c).high));
    elsewhere -= c.count;
  }
  for (const bucket& b : buckets) {
    most = std::max({most, std::fabs(b.low), std::fabs(b.high)});
    elsewhere -= b.count;
  }
  constexpr double finite = std::numeric_limits<double>::max();
  return elsewhere > 0 ? finite : std::min(most, finite);
}

void cell_table::merge(const cell_table& other) {
  const bool empty = nonzero_finite() == 0;
  const bool other_empty = other.nonzero_finite() == 0;
  const bool sums_stay = (has_sums || other.has_sums) && (has_sums || empty) && (other.has_sums || other_empty);
  const auto reported = [&](double cell_table::*sum) {
    if (empty) return other.*sum;
    return other_empty ? this->*sum : this->*sum + other.*sum;  // NaN where either is not known
  };
  reported_abs_sum = reported(&cell_table::reported_abs_sum);
  reported_square_sum = reported(&cell_table::reported_square_sum);

  if (empty && !other_empty) {
    edges = other.edges;
  } else if (empty == other_empty) {
    std::erase_if(edges, [&](const edge_counts& e) {
      return std::ranges::find(other.edges, e.at, &edge_counts::at) == other.edges.end();
    });
    for (edge_counts& e : edges) {
      const edge_counts& same = *std::ranges::find(other.edges, e.at, &edge_counts::at);
      e.above += same.above;
      e.squares_above += same.squares_above;
    }
  }
  const bool errors_stay = (has_errors || empty) && (other.has_errors || other_empty);
  has_errors = (has_errors || other.has_errors) && errors_stay;
  if (errors_stay)
    merge_sorted(
        errors, other.errors, [](const binade_errors& e) { return e.exponent; },
        [](binade_errors& to, const binade_errors& e) {
          for (std::size_t i = 0; i < binade_errors::levels; ++i) {
            to.squares[i] += e.squares[i];
            to.products[i] += e.products[i];
          }
        });
  else
    errors.clear();

  min_abs = smaller_nonzero(*this, other);
  max_abs = larger_known(*this, other);
  numel += other.numel;
  zeros += other.zeros;
  maybe_zeros += other.maybe_zeros;
  positive_infinities += other.positive_infinities;
  negative_infinities += other.negative_infinities;
  unsigned_infinities += other.unsigned_infinities;
  nans += other.nans;
  merge_sorted(
      cells, other.cells, [](const cell& c) { return c.key(); }, [](cell& to, const cell& c) { to.count += c.count; });
  merge_sorted(
      buckets, other.buckets,
      [](const bucket& b) {
        return std::pair{b.low, b.high};
      },
      [](bucket& to, const bucket& b) { to.count += b.count; });
  has_sums = sums_stay;
  if (has_sums) {
    cut_significands += other.cut_significands;
    merge_sorted(
        sums, other.sums,
        [](const binade_sums& s) {
          return std::pair{s.sign, s.exponent};
        },
        [](binade_sums& to, const binade_sums& s) {
          to.significands += s.significands;
          to.squares += s.squares;
        });
  } else {
    cut_significands = 0;
    sums.clear();
  }
}

bool operator==(const cell_table& a, const cell_table& b) {
  const auto values = [](const cell_table& t) {
    return std::tie(t.numel, t.zeros, t.maybe_zeros, t.positive_infinities, t.negative_infinities,
                    t.unsigned_infinities, t.nans, t.cells, t.buckets, t.has_sums, t.sums, t.cut_significands,
                    t.has_errors, t.errors, t.edges);
  };
  const auto same = [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); };
  return values(a) == values(b) && same(a.max_abs, b.max_abs) && same(a.min_abs, b.min_abs) &&
         same(a.reported_abs_sum, b.reported_abs_sum) && same(a.reported_square_sum, b.reported_square_sum);
}

value_sum magnitudes_sum(const cell_table& table) {
  return sum_of(table, &binade_sums::significands, table.reported_abs_sum, 1,
                [](double low, double high) { return (low + high) / 2; });
}

value_sum squares_sum(const cell_table& table) {
  return sum_of(table, &binade_sums::squares, table.reported_square_sum, 2,
                [](double low, double high) { return (low * low + low * high + high * high) / 3; });
}

}  // namespace ulp
