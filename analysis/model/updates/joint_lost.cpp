// Lost updates from a joint table: what a cell's weights may be in the format, and what becomes of its updates then.
#include <algorithm>
#include <array>
#include <cmath>
#include <ulp/model/updates/joint_table.hpp>

#include "updates/moving.hpp"

namespace ulp {
namespace {

// What the weights of a cell are in the format.
struct kept_weight {
  int spacing = 0;        // log2 of the distance to the neighbour above in magnitude
  bool is_power = false;  // and of the one below half of that
  bool is_zero = false;
  bool is_one = false;
  bool may_be_one = false;
  bool overflows = false;
  bool may_overflow = false;
};

// One of them, or two where the place does not tell.
struct stored_weights {
  std::array<kept_weight, 2> all;
  std::size_t size = 0;
  void add(const kept_weight& one) { all[size++] = one; }
};

kept_weight inside(const format& to, int exponent) {
  return {.spacing = std::max(exponent, to.emin()) - to.fraction_bits};
}

kept_weight power(const format& to, int exponent) {
  kept_weight kept = inside(to, exponent);
  kept.is_power = exponent > to.emin();
  kept.is_one = exponent == 0;
  return kept;
}

// The weights below the normal numbers, in units of the spacing there.
kept_weight subnormal(const format& to, const joint_cell& c) {
  kept_weight kept = inside(to, to.emin());
  const int least = to.min_quantum_exponent();
  // Up to half the least number, a tie to even.
  kept.is_zero = c.weight_exponent < least - 1 || (c.weight_exponent == least - 1 && c.place == 0);
  kept.may_be_one = to.emin() > 0;
  return kept;
}

stored_weights weights_of(const joint_cell& c, const format& to) {
  stored_weights made;
  const int bits = to.fraction_bits;
  const int k = c.weight_exponent;
  const bool ends_within_binade = (to.max_finite_code() & to.fraction_mask()) != to.fraction_mask();
  const auto add = [&](kept_weight kept, int exponent) {
    kept.overflows = exponent > to.emax();
    kept.may_overflow = ends_within_binade && exponent == to.emax();
    made.add(kept);
  };
  if (k == zero_weight) {
    kept_weight zero = inside(to, to.emin());
    zero.is_zero = true;
    made.add(zero);
    return made;
  }
  if (k < to.emin()) {
    const int leading_ones = c.place - 11;
    const bool may_carry = k == to.emin() - 1 && leading_ones >= 2;
    kept_weight kept = subnormal(to, c);
    kept.is_one = to.emin() == 0 && may_carry && leading_ones >= bits;
    add(kept, k);
    return made;
  }
  constexpr int middle = 12;
  constexpr int finest = 11;  // fraction bits up to which the places decide
  if (c.place <= middle) {
    const int zeros = c.place == 0 ? 64 : c.place == middle ? 1 : 13 - c.place;
    const bool rounds_down = zeros >= bits + 1;
    const bool is_open = c.place == 1 && bits > finest;
    if (rounds_down || is_open) add(power(to, k), k);
    if (!rounds_down) add(inside(to, k), k);
    return made;
  }
  const int ones = c.place - 11;
  const bool is_open = ones == 12 && bits > finest;
  if (ones >= bits + 1 || is_open) add(power(to, k + 1), k + 1);
  if (ones < bits + 1 || is_open) add(inside(to, k), k);
  return made;
}

struct fate {
  count_range never;     // no rounding, or draw, moves them
  value_range expected;  // that stay
};

fate all_of(std::uint64_t n) { return {{n, n}, {static_cast<double>(n), static_cast<double>(n)}}; }

double as_double(uint128 sum) {
  return std::ldexp(static_cast<double>(static_cast<std::uint64_t>(sum >> 64)), 64) +
         static_cast<double>(static_cast<std::uint64_t>(sum));
}

// gap: log2 of the update's binade in units of the distance that it would have to cross.
fate drawn(const joint_cell& c, int gap, bool shrinks, bool is_cut, const rounding& mode) {
  const auto n = static_cast<double>(c.count);
  if (gap >= 0) return {};
  const double moves = std::ldexp(as_double(c.significands), gap - 23);  // with all random bits
  // Cut significands are too small by less than one unit each.
  const double slack = is_cut ? std::ldexp(n, gap - 23) : 0;
  const auto staying = [&](double least, double most) {
    return value_range{std::max(0.0, n - most), std::min(n, n - least)};
  };
  if (mode.random_bits == exact_probability) return {{}, staying(moves, moves + slack)};
  const bool is_power = c.form != update_form::general;
  if (is_power) {
    const double chance = chance_to_move(std::ldexp(1.0, gap), shrinks, mode);
    return {chance == 0 ? count_range{c.count, c.count} : count_range{}, {n * (1 - chance), n * (1 - chance)}};
  }
  // Chances grow with the update: those next to the ends of its binade bound them.
  const double least = chance_to_move(std::ldexp(std::nextafter(1.0, 2.0), gap), shrinks, mode);
  const double most = chance_to_move(std::ldexp(std::nextafter(2.0, 0.0), gap), shrinks, mode);
  if (least == most)
    return {most == 0 ? count_range{c.count, c.count} : count_range{}, {n * (1 - most), n * (1 - most)}};
  if (gap - 23 >= -mode.random_bits && !is_cut) return {{}, staying(moves, moves)};
  const double step = std::ldexp(n, -mode.random_bits);
  const bool is_down = mode.definition == stochastic_definition::a && !shrinks;
  const bool is_up = mode.definition == stochastic_definition::a && shrinks;
  const double below = is_down ? step : is_up ? 0 : step / 2;
  const double above = is_up ? step : is_down ? 0 : step / 2;
  return {least == 0 ? count_range{0, c.count} : count_range{},
          staying(std::max(moves - below, n * least), std::min(moves + slack + above, n * most))};
}

fate fate_of(const joint_cell& c, const kept_weight& kept, bool is_cut, const rounding& mode) {
  // From zero every update grows.
  const bool shrinks = c.shrinks && !kept.is_zero;
  const bool is_short = shrinks && kept.is_power;
  const int gap = c.update_exponent - kept.spacing + (is_short ? 1 : 0);
  if (mode.direction == direction::stochastic) return drawn(c, gap, shrinks, is_cut, mode);
  // Powers of two are even in the format.
  const bool tie_stays = c.form == update_form::power_even || (c.form == update_form::power_odd && is_short);
  const bool is_lost = gap < -1 || (gap == -1 && tie_stays);
  return is_lost ? all_of(c.count) : fate{};
}

template <typename Range>
void widen(Range& range, const Range& other) {
  range.low = std::min(range.low, other.low);
  range.high = std::max(range.high, other.high);
}

lost_updates counts_of(const joint_cell& c, const kept_weight& kept, bool is_cut, const rounding& mode) {
  lost_updates one;
  const count_range all{c.count, c.count};
  if (kept.overflows) {
    one.overflowing = all;
    return one;
  }
  const fate f = fate_of(c, kept, is_cut, mode);
  one.updates = all;
  one.lost = f.never;
  one.expected_lost = f.expected;
  if (kept.is_one) one.at_one = all;
  if (kept.is_one) one.lost_at_one = f.never;
  if (kept.may_be_one) one.at_one.high = c.count;
  if (kept.may_be_one) one.lost_at_one.high = f.never.high;
  if (kept.may_overflow) {
    one.overflowing.high = c.count;
    one.updates.low = one.lost.low = one.lost_at_one.low = one.at_one.low = 0;
    one.expected_lost.low = 0;
  }
  one.largest_spacing = kept.spacing;
  return one;
}

}  // namespace

bool tells_lost_updates(const treatment& how) noexcept {
  const bool direction_told =
      how.rounding.direction == direction::nearest_even || how.rounding.direction == direction::stochastic;
  return direction_told && how.rounding.flush == flush::never && !how.rounding.daz &&
         how.rounding.overflow == overflow_mode::ieee && how.format.fraction_bits >= 1 && how.format.has_subnormals() &&
         how.format.has_zero() && how.format.has_sign && how.format.has_nan();
}

lost_updates count_lost_updates(const joint_table& table, const treatment& how) {
  lost_updates all;
  all.numel = table.numel;
  all.zero_updates = table.zero_updates;
  all.zeros_at_one = table.zero_updates;  // a table does not tell of which weights
  all.nonfinite = table.nonfinite;
  const bool is_cut = table.cut_significands > 0;
  for (const joint_cell& c : table.cells) {
    const stored_weights kept = weights_of(c, how.format);
    lost_updates one = counts_of(c, kept.all[0], is_cut, how.rounding);
    if (kept.size > 1) {
      const lost_updates other = counts_of(c, kept.all[1], is_cut, how.rounding);
      widen(one.overflowing, other.overflowing);
      widen(one.updates, other.updates);
      widen(one.lost, other.lost);
      widen(one.expected_lost, other.expected_lost);
      widen(one.at_one, other.at_one);
      widen(one.lost_at_one, other.lost_at_one);
      one.largest_spacing = std::max(one.largest_spacing, other.largest_spacing);
    }
    all += one;
  }
  return all;
}

}  // namespace ulp
