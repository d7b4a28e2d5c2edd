#include "block_elements.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>

#include <ulp/formats/codec.hpp>
#include <ulp/formats/convert.hpp>

#include "block_scale.hpp"

namespace ulp::detail {
namespace {

// To an integer; NaN stays.
float rounded(float x, direction way) {
  switch (way) {
    case direction::nearest_even: return std::nearbyint(x);
    case direction::nearest_away: return std::round(x);
    default: return std::trunc(x);
  }
}

// As microxcaling's _round_mantissa: floor(|x| + 0.5) in float32, where the number before 0.5 becomes 1.
float rounded_by_sum(float x, direction way) {
  if (way != direction::toward_zero && std::fabs(x) < 0.5F && std::fabs(x) + 0.5F == 1) return std::copysign(1.0F, x);
  return rounded(x, way);
}

// 2^k, for k from -126 to 127.
float normal_power(int k) { return std::bit_cast<float>(static_cast<std::uint32_t>(k + 127) << 23U); }

// microxcaling's steps: the binade by a log2 in float32, and 0.5 added in float32.
float rounded_by_log2f(float x, const format& to, direction way) {
  if (x == 0 || !std::isfinite(x)) return x;
  const int binade = std::max(floor_of_log2f(std::fabs(x)), to.emin());
  const int step = binade - to.fraction_bits;
  return rounded_by_sum(x * normal_power(-step), way) * normal_power(step);
}

void count_integer(float exact, float rounded, bool is_clamped, conversion_counts& counts) {
  if (exact == 0)
    ++counts.zeros;
  else if (rounded == 0)
    ++counts.newly_zero;
  if (is_clamped && std::isfinite(exact)) ++counts.overflowed;
  if (exact != rounded && std::isfinite(exact)) ++counts.inexact;
}

std::uint8_t integer_code(const block_format& row, float x, conversion_counts* counts) {
  const block_element& e = row.element;
  if (x != x) {
    if (counts != nullptr) ++counts->nan;
    return nan_of_integers;
  }
  const float one = std::ldexp(1.0F, e.fraction_bits);
  const float integer = row.rounds_by_log2f ? rounded_by_sum(x * one, row.rounding) : rounded(x * one, row.rounding);
  const float whole = std::clamp(integer, e.least * one, e.largest * one);
  if (counts != nullptr) count_integer(x * one, whole, whole != integer, *counts);
  return static_cast<std::uint8_t>(static_cast<int>(whole)) & static_cast<std::uint8_t>((1U << e.width) - 1);
}

// How a row rounds elements that are integers in units of their last place.
integer_way way_of(const block_format& row) {
  switch (row.rounding) {
    case direction::nearest_even: return row.rounds_by_log2f ? integer_way::even_by_sum : integer_way::even;
    case direction::nearest_away: return row.rounds_by_log2f ? integer_way::away_by_sum : integer_way::away;
    default: return integer_way::toward_zero;
  }
}

integer_plan plan_of_integers(const block_element& e) {
  const float one = std::ldexp(1.0F, e.fraction_bits);
  return {one, e.least * one, e.largest * one, (1U << e.width) - 1};
}

}  // namespace

void element_encoder::prepare(std::span<float> scaled, bool may_be_nan) const {
  if (row_.nan_is_zero && may_be_nan)
    for (float& x : scaled) {
      const auto bits = std::bit_cast<std::uint32_t>(x);
      x = std::bit_cast<float>((bits & 0x7FFFFFFF) > 0x7F800000 ? 0 : bits);
    }
  if (row_.zeros != zero_signs::kept)
    for (float& x : scaled) x += 0.0F;  // -0 becomes 0
  if (!row_.rounds_by_log2f) return;
  const format& to = *row_.element.numbers;
  if (loops_ != nullptr)
    return loops_->to_grid[static_cast<std::size_t>(way_of(row_))]({to.emin() + 127, to.fraction_bits}, scaled.data(),
                                                                   scaled.size());
  for (float& x : scaled) x = rounded_by_log2f(x, to, row_.rounding);
}

element_encoder::element_encoder(const block_format& row, const block_conversion& how, bool counting)
    : row_(row), loops_(loops_in_use().load(std::memory_order_relaxed)) {
  how_.rounding.direction = row.rounding;
  if (how.rounding) {
    if (row.element.numbers == nullptr || row.rounds_by_log2f)
      throw std::invalid_argument(std::string{row.name} + " rounds elements in its own way only");
    how_.rounding = *how.rounding;
  }
  if (row.saturates) how_.rounding.overflow = overflow_mode::saturate;
  how_.random = how.random;
  how_.threads = 1;
  if (!how_.rounding.is_valid()) throw std::invalid_argument("the rounding has a field out of range");
  if (row.element.numbers != nullptr) {
    const conversion_plan plan = plan_conversion(*row.element.numbers, how_, {binary32, true, false}, loops_, counting);
    if (plan.way == element_way::floats) tiles_.emplace(plan.of_floats, how.random);
  }
}

void element_encoder::operator()(std::span<float> scaled, bool may_be_nan, std::size_t first,
                                 std::span<std::uint8_t> codes, conversion_counts* counts) const {
  if (row_.element.numbers == nullptr) {
    if (loops_ != nullptr)
      return loops_->to_integers[static_cast<std::size_t>(way_of(row_))](plan_of_integers(row_.element), scaled.data(),
                                                                         codes.data(), scaled.size(), counts);
    for (std::size_t i = 0; i < scaled.size(); ++i) codes[i] = integer_code(row_, scaled[i], counts);
    return;
  }
  prepare(scaled, may_be_nan);
  if (tiles_) {
    conversion_counts none;
    const std::size_t step = tiles_->plan().takes_long_tiles() ? scaled.size() : tile_size;
    for (std::size_t at = 0; at < scaled.size(); at += step)
      (*tiles_)(scaled.subspan(at, std::min(step, scaled.size() - at)), first + at, {codes.data() + at, 1}, false,
                counts != nullptr ? *counts : none);
  } else {
    conversion how = how_;
    how.random.first += first;
    encode_array(*row_.element.numbers, scaled, codes, how, counts);
  }
  if (row_.zeros == zero_signs::lost) {
    const auto sign = static_cast<std::uint8_t>(row_.element.numbers->sign_mask());
    for (std::uint8_t& code : codes)
      if (code == sign) code = 0;
  }
}

std::vector<float> numbers_of_codes(const block_element& of) {
  std::vector<float> numbers;
  for (int code = 0; code < 1 << of.width; ++code) {
    const int value = code >= 1 << (of.width - 1) ? code - (1 << of.width) : code;
    numbers.push_back(of.numbers != nullptr ? to_float(*of.numbers, static_cast<std::uint64_t>(code))
                                            : std::ldexp(static_cast<float>(value), -of.fraction_bits));
  }
  return numbers;
}

}  // namespace ulp::detail
