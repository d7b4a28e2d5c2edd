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

}  // namespace

double row_figures::typical() const noexcept { return numel == 0 ? 0 : norm / std::sqrt(static_cast<double>(numel)); }

row_figures figures_of(const tensor_row& row) {
  const cell_table& t = row.table;
  const value_sum squares = squares_sum(t);
  const value_sum magnitudes = magnitudes_sum(t);
  const bool has_signs =
      t.has_sums && std::ranges::none_of(t.sums, [](const binade_sums& s) { return s.sign == cell_sign::unknown; });
  return {.numel = t.numel,
          .zeros = t.zeros,
          .nonfinite = t.nonfinite(),
          .norm = std::sqrt(squares.value) / row.unit(),
          .magnitudes = magnitudes.value / row.unit(),
          .sum = has_signs ? signed_sum(t) / row.unit() : not_known,
          .largest = t.max_abs / row.unit(),
          .exact = squares.quality != sum_quality::estimated && magnitudes.quality != sum_quality::estimated};
}

double least_change(const row_figures& a, const row_figures& b) noexcept {
  if (a.numel != b.numel || (a.nonfinite > 0) != (b.nonfinite > 0)) return std::numeric_limits<double>::infinity();
  const double whole = std::max(a.norm, b.norm);
  if (!(whole > 0)) return 0;
  if (!(std::min(a.norm, b.norm) > 0)) return 1;
  const double root = std::sqrt(static_cast<double>(a.numel));
  double least = std::abs(std::log(a.norm / b.norm));
  for (const double difference : {(a.magnitudes - b.magnitudes) / root, (a.sum - b.sum) / root, a.largest - b.largest})
    if (!std::isnan(difference)) least = std::max(least, std::abs(difference) / whole);
  return least;
}

significand_bits bits_of(const cell_table& table) {
  if (!table.has_sums) return {};
  std::vector<int> bits;
  for (const binade_sums& s : table.sums)
    if (s.significands != 0) bits.push_back(std::max(longest - trailing_zeros(s.significands), 1));
  if (bits.empty()) return {};
  std::ranges::sort(bits);
  return {.most = bits.back(), .usual = bits[bits.size() / 2], .binades = static_cast<int>(bits.size())};
}

bool is_narrower(const significand_bits& shorter, const significand_bits& longer) noexcept {
  return (longer.usual - shorter.most) * shorter.binades >= longest;
}

}  // namespace ulp
