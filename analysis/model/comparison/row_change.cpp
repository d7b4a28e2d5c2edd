#include <ulp/model/comparison/row_change.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace ulp {
namespace {

constexpr int longest = 24;

int trailing_zeros(uint128 x) {
  const auto low = static_cast<std::uint64_t>(x);
  return low != 0 ? std::countr_zero(low) : 64 + std::countr_zero(static_cast<std::uint64_t>(x >> 64));
}

double signed_sum(const cell_table& table) {
  double sum = 0;
  for (const binade_sums& s : table.sums) {
    const double of_binade = std::ldexp(static_cast<double>(s.significands), s.exponent - 23);
    sum += s.sign == cell_sign::negative ? -of_binade : of_binade;
  }
  return sum;
}

// Significant bits of a double above zero; of more than 24 all tell the same.
int bits_of(double x) {
  const std::uint64_t fraction = std::bit_cast<std::uint64_t>(x) & ((std::uint64_t{1} << 52) - 1);
  return std::min(longest, fraction == 0 ? 1 : 53 - std::countr_zero(fraction));
}

// Of tables that know the cells of all their values.
void add_slots(row_figures& to, const tensor_row& row) {
  double low = 0;
  double high = 0;
  for (const cell& c : row.table.cells) {
    const cell_range range = range_of(c);
    const auto count = static_cast<double>(c.count);
    low += count * std::pow(double_from(range.low) / row.unit(), 2);
    high += count * std::pow(std::min(double_from(range.high), row.table.largest_possible()) / row.unit(), 2);
    to.filled.push_back({double_from(range.low) / row.unit(), c.count});
  }
  const bool is_whole = row.table.buckets.empty();
  to.norm_low = std::sqrt(low);
  to.norm_high = is_whole ? std::sqrt(high) : std::numeric_limits<double>::infinity();
  std::ranges::sort(to.filled, {}, &row_figures::slot::low);
  int exponent = 0;
  to.significand = std::frexp(row.unit(), &exponent);
}

// By how much values have to move in all for one table to become the other, less what may be chance.
double moves(const std::vector<row_figures::slot>& a, const std::vector<row_figures::slot>& b) {
  double all = 0;
  double squares = 0;
  double widest = 0;
  double ahead = 0;  // how many more values of a than of b are below here
  double last = 0;
  for (std::size_t i = 0, j = 0; i < a.size() || j < b.size();) {
    const double low = std::min(i < a.size() ? a[i].low : b[j].low, j < b.size() ? b[j].low : a[i].low);
    if (ahead != 0) {
      const double width = low - last;
      all += std::abs(ahead) * width;
      squares += std::abs(ahead) * width * width;
      widest = std::max(widest, width);
    }
    last = low;
    for (; i < a.size() && a[i].low == low; ++i) ahead += static_cast<double>(a[i].count);
    for (; j < b.size() && b[j].low == low; ++j) ahead -= static_cast<double>(b[j].count);
  }
  return std::max(0.0, all - 6 * (widest + std::sqrt(squares)));
}

}  // namespace

double row_figures::typical() const noexcept { return numel == 0 ? 0 : norm / std::sqrt(static_cast<double>(numel)); }

bool operator==(const row_figures& a, const row_figures& b) noexcept {
  const auto same = [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); };
  return a.numel == b.numel && a.zeros == b.zeros && a.nonfinite == b.nonfinite && a.nans == b.nans &&
         same(a.norm, b.norm) && same(a.magnitudes, b.magnitudes) && same(a.sum, b.sum) && same(a.largest, b.largest) &&
         a.exact == b.exact && a.filled == b.filled;
}

row_figures figures_of(const tensor_row& row) {
  const cell_table& t = row.table;
  const value_sum squares = squares_sum(t);
  const value_sum magnitudes = magnitudes_sum(t);
  const bool has_signs =
      t.has_sums && std::ranges::none_of(t.sums, [](const binade_sums& s) { return s.sign == cell_sign::unknown; });
  row_figures f{.numel = t.numel,
                .zeros = t.zeros,
                .nonfinite = t.nonfinite(),
                .nans = t.nans,
                .norm = std::sqrt(squares.value) / row.unit(),
                .magnitudes = magnitudes.value / row.unit(),
                .sum = has_signs ? signed_sum(t) / row.unit() : not_known,
                .largest = t.max_abs / row.unit(),
                .exact = squares.quality != sum_quality::estimated && magnitudes.quality != sum_quality::estimated};
  if (!f.exact) add_slots(f, row);
  return f;
}

double least_change(const row_figures& a, const row_figures& b) noexcept {
  if (a.numel != b.numel || (a.nonfinite > 0) != (b.nonfinite > 0)) return std::numeric_limits<double>::infinity();
  const double whole = std::max(a.norm, b.norm);
  if (!(whole > 0)) return 0;
  if (!(std::min(a.norm, b.norm) > 0)) return 1;
  double least = std::isnan(a.largest - b.largest) ? 0 : std::abs(a.largest - b.largest) / whole;
  if (a.exact && b.exact) {
    const double root = std::sqrt(static_cast<double>(a.numel));
    least = std::max(least, std::abs(std::log(a.norm / b.norm)));
    for (const double difference : {(a.magnitudes - b.magnitudes) / root, (a.sum - b.sum) / root})
      if (!std::isnan(difference)) least = std::max(least, std::abs(difference) / whole);
    return least;
  }
  const auto low = [](const row_figures& f) { return f.exact ? f.norm : f.norm_low; };
  const auto high = [](const row_figures& f) { return f.exact ? f.norm : f.norm_high; };
  if (low(a) > high(b)) least = std::max(least, std::log(low(a) / high(b)));
  if (low(b) > high(a)) least = std::max(least, std::log(low(b) / high(a)));
  if (a.exact == b.exact && a.significand == b.significand)
    least = std::max(least, moves(a.filled, b.filled) / std::sqrt(static_cast<double>(a.numel)) / whole);
  return least;
}

significand_bits bits_of(const cell_table& table) {
  std::vector<int> bits;
  for (const binade_sums& s : table.sums)
    if (s.significands != 0) bits.push_back(std::max(longest - trailing_zeros(s.significands), 1));
  if (!table.has_sums)
    for (const double extreme : {table.max_abs, table.min_abs})
      if (extreme > 0 && std::isfinite(extreme)) bits.push_back(bits_of(extreme));
  if (bits.empty()) return {};
  std::ranges::sort(bits);
  return {.most = bits.back(), .usual = bits[bits.size() / 2], .binades = static_cast<int>(bits.size())};
}

bool is_narrower(const significand_bits& shorter, const significand_bits& longer) noexcept {
  constexpr int of_float16 = 11;
  return shorter.most <= of_float16 && (longer.usual - shorter.most) * shorter.binades >= longest;
}

}  // namespace ulp
