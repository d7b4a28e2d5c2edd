#include <ulp/model/outcomes/block_outcomes.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <string>
#include <ulp/formats/format.hpp>
#include <ulp/model/outcomes/outcome.hpp>

#include "block_scales.hpp"
#include "outcome_kind.hpp"

namespace ulp {
namespace {

using detail::add;
using detail::block_scales;
using detail::nan_scale;
using detail::outcome;
using detail::scale_range;
using enum detail::outcome;

rounding element_rounding(const block_format& row, const std::optional<rounding>& how) {
  rounding mode = how.value_or(rounding{.direction = row.rounding});
  if (row.saturates) mode.overflow = overflow_mode::saturate;
  return mode;
}

// Of integers that stand for themselves over 2^fraction_bits, cut to those from `least` to `largest`.
outcome_thresholds integer_thresholds(const block_element& e, direction way, bool negative) {
  const double end =
      std::ldexp(negative ? -static_cast<double>(e.least) : static_cast<double>(e.largest), e.fraction_bits);
  const auto at = [&](double integer, bool closed) {
    return threshold{magnitude_of(std::ldexp(integer, -e.fraction_bits)), closed};
  };
  outcome_thresholds t;
  switch (way) {
    case direction::nearest_even:
      t.nonzero = at(0.5, false);
      t.overflow = at(end + 0.5, std::fmod(end, 2) != 0);
      break;
    case direction::nearest_away:
      t.nonzero = at(0.5, true);
      t.overflow = at(end + 0.5, true);
      break;
    default: t.nonzero = at(1, true); t.overflow = at(end + 1, true);
  }
  t.normal = t.nonzero;
  return t;
}

outcome_thresholds element_thresholds(const block_format& row, const rounding& mode, bool negative) {
  return row.element.numbers != nullptr ? thresholds_of({*row.element.numbers, mode}, negative)
                                        : integer_thresholds(row.element, mode.direction, negative);
}

struct outcome_range {
  outcome low = underflow;
  outcome high = overflow;
};

void add(block_outcomes& to, std::uint64_t n, outcome_range what, bool may_be_lost) {
  const std::array<count_range*, 4> of{&to.underflow, &to.subnormal, &to.normal, &to.overflow};
  for (int o = what.low; o <= what.high; ++o)
    add(*of[static_cast<std::size_t>(o)], n, what.low == what.high && !may_be_lost);
}

}  // namespace

struct block_outcome_counter::state {
  state(const block_format& of, const std::optional<rounding>& how)
      : row(of), mode(element_rounding(of, how)), scales(of) {
    for (const bool negative : {false, true}) thresholds[negative ? 1 : 0] = element_thresholds(of, mode, negative);
  }

  // Of the element 2^exponent * significand, a float32 number or one that the product with the scale rounds to one.
  [[nodiscard]] outcome outcome_of(float significand, int exponent, bool negative) const {
    const auto y = static_cast<float>(std::ldexp(static_cast<double>(significand), exponent));
    if (y == 0 || (mode.daz && std::ilogb(y) < binary32.emin())) return underflow;
    const outcome_thresholds& t = thresholds[negative ? 1 : 0];
    const magnitude m = magnitude_of(static_cast<double>(y));
    if (t.overflow.reached_by(m)) return overflow;
    if (t.normal.reached_by(m)) return normal;
    return t.nonzero.reached_by(m) ? subnormal : underflow;
  }

  // Of all that the cell stands for, where the scale's exponent, less amax's, is that.
  [[nodiscard]] outcome_range outcomes_of(const block_cell& c, int scale) const {
    const significands& s = element_places[c.place];
    const int exponent = -c.below - scale;
    outcome_range all{outcome_of(s.low, exponent, c.negative), outcome_of(s.high, exponent, c.negative)};
    // Where half is added in float32, the number before half of the least one becomes one: rounded_by_sum.
    const magnitude& half = thresholds[c.negative ? 1 : 0].nonzero.at;
    if (row.rounds_by_log2f && mode.direction != direction::toward_zero && exponent + 1 == half.exponent &&
        c.place + 1U == element_places.size())
      all.high = outcome_of(1, half.exponent + 1, c.negative);
    return all;
  }

  // Where it is within the range; a larger scale makes less of an element.
  [[nodiscard]] outcome_range outcomes_of(const block_cell& c, scale_range scale) const {
    const outcome_range most = outcomes_of(c, scale.low);
    return scale.exact() || scale.high == nan_scale ? most : outcome_range{outcomes_of(c, scale.high).low, most.high};
  }

  // Relative to the exponent of amax.
  [[nodiscard]] scale_range scale_of(const block_table& table, const block_class& c) const {
    if (c.exponent == ordinary) return scales.relative(table.least_exponent, table.greatest_exponent, c.place);
    return scales.relative(c.exponent, c.exponent, c.place);
  }

  void add_class(block_outcomes& to, const block_class& c, scale_range scale) const {
    const bool is_nan = scale.low == nan_scale;
    if (scale.high == nan_scale) add(to.nan_blocks, c.blocks, is_nan);
    if (is_nan || (c.exponent == ordinary && row.scale == scale_type::e8m0)) return;
    const scale_range usual = scales.relative(0, greatest_ordinary, c.place);
    if (usual.exact() && scale.exact() && scale.low == usual.low) return;
    const bool apart = scale.high != nan_scale && (scale.high < usual.low || scale.low > usual.high);
    add(to.clamped_blocks, c.blocks, apart);
  }

  // What becomes of them is known where the scale is NaN; elsewhere it depends on more than a table has.
  static void add_nonfinite(block_outcomes& to, const nonfinite_blocks& of, bool gives_nan) {
    to.numel += of.elements();
    to.zero += of.zeros;
    to.nonfinite += of.infinities + of.nans;
    to.blocks += of.blocks;
    to.nonfinite_blocks += of.blocks;
    add(to.lost, of.numbers, gives_nan);
    if (!gives_nan) add(to, of.numbers, {}, true);
  }

  block_format row;
  rounding mode;
  block_scales scales;
  std::array<outcome_thresholds, 2> thresholds;
};

bool block_outcomes::exact() const noexcept {
  return underflow.exact() && subnormal.exact() && normal.exact() && overflow.exact() && lost.exact() &&
         clamped_blocks.exact() && nan_blocks.exact();
}

block_outcomes& block_outcomes::operator+=(const block_outcomes& other) noexcept {
  numel += other.numel;
  zero += other.zero;
  nonfinite += other.nonfinite;
  underflow += other.underflow;
  subnormal += other.subnormal;
  normal += other.normal;
  overflow += other.overflow;
  lost += other.lost;
  blocks += other.blocks;
  zero_blocks += other.zero_blocks;
  nonfinite_blocks += other.nonfinite_blocks;
  clamped_blocks += other.clamped_blocks;
  nan_blocks += other.nan_blocks;
  return *this;
}

outcome_thresholds thresholds_of(const block_format& row, bool negative) {
  return element_thresholds(row, element_rounding(row, {}), negative);
}

std::string why_block_tables_do_not_tell(const block_format& row, const std::optional<rounding>& how) {
  if (row.transposed_hadamard) return "its blocks are of the transformed transpose";
  if (row.scale == scale_type::e4m3) return "its scales are no powers of two, and follow from the whole tensor";
  if (row.scale == scale_type::float32 && !row.power_of_two && row.rule != amax_rule::ceil_of_log2f)
    return "its scales are no powers of two";
  if (how && (row.element.numbers == nullptr || row.rounds_by_log2f)) return "it rounds elements in its own way only";
  if (row.rounds_by_log2f && row.element.numbers != nullptr && row.rounding == direction::toward_zero)
    return "its elements are cut to steps of a binade that a rounded logarithm names";
  if (how && how->direction == direction::stochastic) return "stochastic rounding depends on the place of each element";
  return {};
}

block_outcome_counter::block_outcome_counter(const block_format& row, const std::optional<rounding>& how) {
  if (const std::string why = why_block_tables_do_not_tell(row, how); !why.empty())
    throw std::invalid_argument("block tables cannot answer for " + std::string{row.name} + ": " + why);
  state_ = std::make_unique<state>(row, how);
}
block_outcome_counter::~block_outcome_counter() = default;
block_outcome_counter::block_outcome_counter(block_outcome_counter&&) noexcept = default;
block_outcome_counter& block_outcome_counter::operator=(block_outcome_counter&&) noexcept = default;

block_outcomes block_outcome_counter::operator()(const block_table& table) const {
  block_outcomes all;
  all.numel = table.zeros + table.in_zero_blocks;
  all.zero = all.numel;
  all.blocks = all.zero_blocks = table.zero_blocks;
  state::add_nonfinite(all, table.with_infinity, state_->scales.infinity_gives_nan());
  state::add_nonfinite(all, table.with_nan, state_->scales.nan_gives_nan());
  auto cell = table.cells.begin();
  for (const block_class& c : table.classes) {
    const scale_range scale = state_->scale_of(table, c);
    all.blocks += c.blocks;
    state_->add_class(all, c, scale);
    for (; cell != table.cells.end() && cell->of == c.key(); ++cell) {
      all.numel += cell->count;
      if (scale.high == nan_scale) add(all.lost, cell->count, scale.low == nan_scale);
      if (scale.low != nan_scale) add(all, cell->count, state_->outcomes_of(*cell, scale), scale.high == nan_scale);
    }
  }
  return all;
}

block_exponents block_outcome_counter::exponents(const block_table& table) const {
  block_exponents all = exponents_outside_classes(table);
  auto cell = table.cells.begin();
  for (const block_class& c : table.classes) {
    const scale_range scale = state_->scale_of(table, c);
    for (; cell != table.cells.end() && cell->of == c.key(); ++cell) {
      all.numel += cell->count;
      if (scale.high == nan_scale) add(all.lost, cell->count, scale.low == nan_scale);
      if (scale.low == nan_scale) continue;
      // As operator() takes it: a scale that may be NaN is the lower one otherwise.
      const int highest = scale.high == nan_scale ? scale.low : scale.high;
      for (int at = scale.low; at <= highest; ++at) add(all.by_exponent[-cell->below - at], cell->count, scale.exact());
    }
  }
  return all;
}

}  // namespace ulp
