#include <ulp/model/outcomes/outcome.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>

#include <ulp/formats/codec.hpp>

#include "cells/buckets.hpp"
#include "outcome_kind.hpp"

namespace ulp {
namespace {

using detail::outcome;
using enum detail::outcome;

// Two numbers next to each other in the format extended by unbounded exponents, and the point halfway.
struct adjacent {
  magnitude low;
  magnitude middle;
  magnitude high;
  bool high_is_odd = false;  // the last bit of the upper one's significand
};

// Above 2^exponent * (1 + fraction / 2^bits) with spacing 2^(exponent - bits).
adjacent above(int exponent, std::uint64_t fraction, int bits) noexcept {
  const std::uint64_t low = fraction << (64 - bits);
  const bool carries = fraction + 1 == std::uint64_t{1} << bits;
  return {.low = {exponent, low},
          .middle = {exponent, low | std::uint64_t{1} << (63 - bits)},
          .high = carries ? magnitude{exponent + 1, 0} : magnitude{exponent, low + (std::uint64_t{1} << (64 - bits))},
          .high_is_odd = (fraction & 1) == 0};
}

// Below 2^exponent with spacing 2^(exponent - bits), bits >= 1.
adjacent below_power(int exponent, int bits) noexcept {
  if (bits == 1) return {{exponent - 1, 0}, {exponent - 1, std::uint64_t{1} << 63}, {exponent, 0}, false};
  return above(exponent - 1, (std::uint64_t{1} << (bits - 1)) - 1, bits - 1);
}

constexpr magnitude below_everything{.exponent = std::numeric_limits<int>::min() / 2, .fraction = 0};

// Zero and the smallest subnormal 2^exponent.
adjacent above_zero(int exponent) noexcept { return {below_everything, {exponent - 1, 0}, {exponent, 0}, true}; }

// The magnitudes that round to pair.high or above.
threshold rounds_to_high(const adjacent& pair, direction way, bool negative) noexcept {
  switch (way) {
    case direction::nearest_even: return {pair.middle, !pair.high_is_odd};
    case direction::nearest_away: return {pair.middle, true};
    case direction::to_odd: return pair.high_is_odd ? threshold{pair.low, false} : threshold{pair.high, true};
    case direction::toward_positive: return negative ? threshold{pair.high, true} : threshold{pair.low, false};
    case direction::toward_negative: return negative ? threshold{pair.low, false} : threshold{pair.high, true};
    case direction::toward_zero:
    case direction::stochastic: break;
  }
  return {pair.high, true};
}

outcome_thresholds divided(const outcome_thresholds& t, const multiplier& by) noexcept {
  return {divided(t.nonzero, by), divided(t.normal, by), divided(t.overflow, by)};
}

// Where values reach the threshold once they are rounded to float32, to nearest even. A format's threshold is an even
// float32 number: halfway below it values are rounded up to it, halfway above it down.
threshold before_float32(const threshold& t) noexcept {
  const auto at = static_cast<float>(double_from(t.at));
  const float next = std::nextafter(at, t.closed ? 0.0F : std::numeric_limits<float>::infinity());
  if (std::isinf(next)) return t;
  return {.at = magnitude_of((static_cast<double>(at) + static_cast<double>(next)) / 2), .closed = t.closed};
}

// Magnitudes from low to high, both possibly not included.
struct span_of_magnitudes {
  magnitude low;
  bool low_closed;
  magnitude high;
  bool high_closed;
};

// The highest outcome whose threshold is reached.
template <typename Reached>
outcome highest(const outcome_thresholds& t, Reached reached) noexcept {
  return reached(t.overflow) ? overflow : reached(t.normal) ? normal : reached(t.nonzero) ? subnormal : underflow;
}

outcome outcome_of_lowest(const span_of_magnitudes& s, const outcome_thresholds& t) noexcept {
  return highest(
      t, [&](const threshold& edge) { return s.low_closed ? edge.reached_by(s.low) : edge.reached_above(s.low); });
}

outcome outcome_of_highest(const span_of_magnitudes& s, const outcome_thresholds& t) noexcept {
  return highest(t, [&](const threshold& edge) { return s.high_closed ? edge.reached_by(s.high) : edge.at < s.high; });
}

// What no magnitude of the table exceeds; zero where it has none.
magnitude limit_of(const cell_table& table) noexcept {
  if (std::isnan(table.max_abs)) return {.exponent = 1024};
  return table.max_abs > 0 ? magnitude_of(table.max_abs) : magnitude{};
}

// The outcomes that values of one sign may have, and whether their overflow is infinite.
struct sign_rule {
  outcome_thresholds least;  // gives the smallest result that may be delivered
  outcome_thresholds most;   // the largest; differs from `least` under stochastic rounding only
  bool infinite;             // or NaN
};

sign_rule rule_of(const treatment& how, bool negative, const multiplier& by) noexcept {
  const bool infinite = overflow_is_infinite(how, negative);
  if (how.rounding.direction != direction::stochastic) {
    const outcome_thresholds both = divided(thresholds_of(how, negative), by);
    return {both, both, infinite};
  }
  rounding low = how.rounding;
  rounding high = how.rounding;
  low.direction = direction::toward_zero;
  high.direction = negative ? direction::toward_negative : direction::toward_positive;
  outcome_thresholds most = thresholds_of({how.format, high}, negative);
  const bool gradual = how.format.has_subnormals() && how.rounding.flush == flush::never;
  if (how.rounding.random_bits != exact_probability && gradual) {
    // What is so far below the smallest number that no draw rounds it up: its cut probability is 0.
    const bool cut_down = how.rounding.definition == stochastic_definition::a;
    most.nonzero = {{how.format.min_quantum_exponent() - how.rounding.random_bits - (cut_down ? 0 : 1), 0},
                    how.rounding.definition != stochastic_definition::c};
  }
  return {divided(thresholds_of({how.format, low}, negative), by), divided(most, by), infinite};
}

// The outcome of whole binades, where it is the same for all values of either sign: nearly everywhere.
class binade_outcomes {
 public:
  explicit binade_outcomes(const std::array<sign_rule, 2>& rules) noexcept {
    for (const sign_rule& rule : rules)
      for (const outcome_thresholds& t : {rule.least, rule.most}) {
        see(nonzero_, t.nonzero.at.exponent);
        see(normal_, t.normal.at.exponent);
        see(overflow_, t.overflow.at.exponent);
      }
  }

  // Of the values from 2^exponent up to twice that; nullopt where a threshold may lie among them.
  [[nodiscard]] std::optional<outcome> of(int exponent) const noexcept {
    if (exponent < nonzero_.low) return underflow;
    if (exponent > nonzero_.high && exponent < normal_.low) return subnormal;
    if (exponent > normal_.high && exponent > nonzero_.high && exponent < overflow_.low) return normal;
    return std::nullopt;
  }

 private:
  struct span {
    int low = std::numeric_limits<int>::max();
    int high = std::numeric_limits<int>::min();
  };
  static void see(span& s, int exponent) noexcept {
    s.low = std::min(s.low, exponent);
    s.high = std::max(s.high, exponent);
  }

  span nonzero_;
  span normal_;
  span overflow_;
};

void add(outcome_counts& counts, std::uint64_t n, outcome least, outcome most, bool always_infinite,
         bool ever_infinite) noexcept {
  const std::array<count_range*, 4> of{&counts.underflow, &counts.subnormal, &counts.normal, &counts.overflow};
  for (int o = least; o <= most; ++o) of[static_cast<std::size_t>(o)]->high += n;
  if (least == most) of[least]->low += n;
  if (most == overflow && ever_infinite) counts.infinite.high += n;
  if (least == overflow && always_infinite) counts.infinite.low += n;
}

// Of n values that were counted as certainly `what`: they may be zero instead.
void leave_open(outcome_counts& counts, std::uint64_t n, outcome what) noexcept {
  (what == underflow ? counts.underflow : counts.overflow).low -= n;
  if (what == overflow) counts.infinite.low -= std::min(counts.infinite.low, n);
}

// Adds the buckets of the table, and returns how many values they hold.
std::uint64_t add_buckets(outcome_counts& counts, const cell_table& table, const std::array<sign_rule, 2>& rules,
                          int daz_below) noexcept {
  std::uint64_t all = 0;
  const auto rule_of_sign = [&](cell_sign sign) -> const sign_rule& {
    return rules[sign == cell_sign::negative ? 1 : 0];
  };
  for_each_bucket(table, [&](const bucket_values& v) {
    const auto n = static_cast<std::uint64_t>(v.count);
    all += n;
    const magnitude low = magnitude_of(v.magnitudes.low);
    const magnitude high = magnitude_of(v.magnitudes.high);
    const span_of_magnitudes s{low, true, high, true};
    const sign_rule& first = rule_of_sign(v.sign);
    const sign_rule& second = v.sign == cell_sign::unknown ? rules[1] : first;
    outcome least = std::min(outcome_of_lowest(s, first.least), outcome_of_lowest(s, second.least));
    outcome most = std::max(outcome_of_highest(s, first.most), outcome_of_highest(s, second.most));
    if (low.exponent < daz_below) least = underflow;
    if (high.exponent < daz_below) most = underflow;
    if (!v.maybe_zero) {
      add(counts, n, least, most, first.infinite && second.infinite, first.infinite || second.infinite);
      return;
    }
    outcome_counts possible;
    add(possible, n, least, most, false, first.infinite || second.infinite);
    counts.underflow.high += possible.underflow.high;
    counts.subnormal.high += possible.subnormal.high;
    counts.normal.high += possible.normal.high;
    counts.overflow.high += possible.overflow.high;
    counts.infinite.high += possible.infinite.high;
  });
  // The largest value is somewhere, and of one sign or the other.
  if (table.max_abs > 0 && counts.overflow.low == 0) {
    const magnitude largest = magnitude_of(table.max_abs);
    const span_of_magnitudes s{largest, true, largest, true};
    const bool in_either = outcome_of_lowest(s, rules[0].least) == overflow &&
                           outcome_of_lowest(s, rules[1].least) == overflow && largest.exponent >= daz_below;
    if (in_either) counts.overflow.low = 1;
    if (in_either && rules[0].infinite && rules[1].infinite) counts.infinite.low = 1;
  }
  return all;
}

}  // namespace

outcome_counts& outcome_counts::operator+=(const outcome_counts& other) noexcept {
  numel += other.numel;
  zero += other.zero;
  maybe_zero += other.maybe_zero;
  nonfinite += other.nonfinite;
  underflow += other.underflow;
  subnormal += other.subnormal;
  normal += other.normal;
  overflow += other.overflow;
  infinite += other.infinite;
  return *this;
}

value_range share_of_nonzero(const outcome_counts& counts, const count_range& part) noexcept {
  const count_range all = counts.nonzero();
  if (all.high == 0) return {};
  // A part is of all at most.
  return {static_cast<double>(part.low) / static_cast<double>(all.high),
          part.high == 0 ? 0 : static_cast<double>(part.high) / static_cast<double>(std::max(all.low, part.high))};
}

value_range underflow_share(const outcome_counts& counts) noexcept {
  const auto all = static_cast<double>(counts.nonzero().high);
  if (all == 0) return {};
  return {static_cast<double>(counts.underflow.low) / all, static_cast<double>(counts.underflow.high) / all};
}

outcome_thresholds thresholds_of(const treatment& how, bool negative) noexcept {
  const auto at = [&](const adjacent& pair) { return rounds_to_high(pair, how.rounding.direction, negative); };
  outcome_thresholds t;
  t.overflow =
      at(above(how.format.emax(), how.format.max_finite_code() & how.format.fraction_mask(), how.format.fraction_bits));
  if (!how.format.has_subnormals()) {
    // Rounded to the precision as if the lowest binade went on below; what is then below its second number, the
    // smallest above zero, is zero. No flushing is left to do.
    t.nonzero = t.normal = at(above(how.format.emin(), 0, how.format.fraction_bits));
    return t;
  }
  t.nonzero = at(above_zero(how.format.min_quantum_exponent()));
  t.normal = at(below_power(how.format.emin(), how.format.fraction_bits));
  switch (how.rounding.flush) {
    case flush::never: break;
    case flush::before_rounding: t.normal = {{how.format.emin(), 0}, true}; break;
    case flush::after_rounding: t.normal = at(below_power(how.format.emin(), how.format.fraction_bits + 1)); break;
    case flush::result: break;
  }
  if (how.rounding.flush != flush::never) t.nonzero = t.normal;
  return t;
}

rounding undrawn(rounding mode) noexcept {
  if (mode.direction == direction::stochastic) mode.direction = direction::nearest_even;
  return mode;
}

drawn_overflow drawn_overflow_of(const format& to) noexcept {
  const auto from = [&](direction way) { return thresholds_of({to, {.direction = way}}, false).overflow; };
  return {.of_some = from(direction::toward_positive), .of_every = from(direction::toward_zero)};
}

threshold divided(const threshold& of, const multiplier& by) noexcept {
  const threshold t = by.in_float32 ? before_float32(of) : of;
  const unpacked scale = decode(by.scale);
  const unpacked factor = decode(by.factor);
  if (scale.significand == factor.significand)
    return {.at = {.exponent = t.at.exponent + factor.exponent - scale.exponent, .fraction = t.at.fraction},
            .closed = t.closed};
  const std::uint64_t denominator = scale.significand >> 11;                                    // 53 bits
  const uint128 numerator = ((uint128{1} << 64) | t.at.fraction) * (factor.significand >> 11);  // 117 or 118 bits
  // 63 to 66 bits, and eight more to have at least 65.
  const uint128 whole = numerator / denominator;
  const uint128 rest = (numerator % denominator) << 8;
  const uint128 quotient = (whole << 8) | (rest / denominator);
  const auto high = static_cast<std::uint64_t>(quotient >> 64);  // not 0
  const int top = 127 - std::countl_zero(high);
  const int drop = top - 64;
  const bool exact = rest % denominator == 0 && (quotient & ((uint128{1} << drop) - 1)) == 0;
  return {.at = {.exponent = t.at.exponent + factor.exponent - scale.exponent + top - 72,
                 .fraction = static_cast<std::uint64_t>(quotient >> drop)},
          .closed = exact && t.closed};
}

int read_as_zero_below(const rounding& mode, dtype recorded) noexcept {
  if (!mode.daz) return std::numeric_limits<int>::min();
  const format* const of = properties_of(recorded).of;
  return of != nullptr ? of->emin() : binary32.emin();
}

bool keeps_infinity(const treatment& how) noexcept {
  return how.rounding.overflow != overflow_mode::saturate && how.format.has_nan();
}

bool overflow_is_infinite(const treatment& how, bool negative) noexcept {
  return how.rounding.overflow == overflow_mode::ieee && how.format.has_nan() &&
         !points_to_zero(how.rounding.direction, negative);
}

bool reaches(const threshold& t, multiplier by, double x) noexcept {
  return divided(t, by).reached_by(magnitude_of(x));
}

count_range count_above(const cell_table& table, double edge, multiplier by) noexcept {
  const threshold above = divided(threshold{.at = magnitude_of(edge), .closed = false}, by);
  const magnitude largest = limit_of(table);
  const magnitude smallest = table.min_abs > 0 ? magnitude_of(table.min_abs) : magnitude{.exponent = -1075};
  count_range n{table.infinities(), table.infinities()};
  for (const cell& c : table.cells) {
    const cell_range range = range_of(c);
    // Of an open cell the values just above its lower end.
    const bool all = above.reached_by(std::max(range.low, smallest)) || (!range.low_closed && above.at == range.low);
    const magnitude high = std::min(range.high, largest);
    const bool some = all || above.reached_by(high);
    if (all) n.low += c.count;
    if (some) n.high += c.count;
  }
  for_each_bucket(table, [&](const bucket_values& v) {
    const auto count = static_cast<std::uint64_t>(v.count);
    if (!v.maybe_zero && above.reached_by(magnitude_of(v.magnitudes.low))) n.low += count;
    if (above.reached_by(magnitude_of(v.magnitudes.high))) n.high += count;
  });
  n.high += in_no_cell(table);
  for (const edge_counts& e : table.edges) {
    const magnitude at = magnitude_of(e.at);
    if (!(above.at < at)) n.high = std::min(n.high, table.infinities() + e.above);
    if (!(at < above.at)) n.low = std::max(n.low, table.infinities() + e.above);
  }
  // The largest is one of them.
  if (table.max_abs > 0 && above.reached_by(largest)) n.low = std::max(n.low, table.infinities() + 1);
  return n;
}

outcome_counts outcomes_of(const cell_table& table, const treatment& how, multiplier by, dtype recorded) noexcept {
  outcome_counts counts;
  counts.numel = table.numel;
  counts.zero = table.zeros;
  counts.maybe_zero = table.maybe_zeros;
  counts.nonfinite = table.nonfinite();
  std::uint64_t left = table.nonzero_finite();  // of a payload that its reader did not know
  if (!by.usable()) {
    const outcome all = by.scale == 0 ? underflow : overflow;
    const bool infinite = keeps_infinity(how);  // the products are infinite, whatever the direction
    add(counts, left, all, all, infinite, infinite);
    leave_open(counts, table.maybe_zeros, all);
    return counts;
  }
  const std::array<sign_rule, 2> rules{rule_of(how, false, by), rule_of(how, true, by)};
  const int daz_below = read_as_zero_below(how.rounding, recorded);
  const bool known_min = table.min_abs > 0;
  const magnitude largest = limit_of(table);
  const magnitude smallest = known_min ? magnitude_of(table.min_abs) : magnitude{};

  // The largest value is known to lie in a cell when no other shares its binade.
  const auto is_alone_in_top = [&] { return std::ranges::count(table.cells, largest.exponent, &cell::exponent) == 1; };

  const auto add_span = [&](const cell& c, std::uint64_t n, const span_of_magnitudes& s) {
    if (n == 0) return;
    const sign_rule& first = rules[c.sign == cell_sign::negative ? 1 : 0];
    outcome least = outcome_of_lowest(s, first.least);
    outcome most = outcome_of_highest(s, first.most);
    bool always = first.infinite;
    bool ever = first.infinite;
    if (c.sign == cell_sign::unknown) {
      least = std::min(least, outcome_of_lowest(s, rules[1].least));
      most = std::max(most, outcome_of_highest(s, rules[1].most));
      always = always && rules[1].infinite;
      ever = ever || rules[1].infinite;
    }
    add(counts, n, least, most, always, ever);
  };

  const binade_outcomes binades(rules);
  std::array<std::uint64_t, 4> certain{};  // of each outcome
  for (std::size_t i = 0; i < table.cells.size();) {
    const cell& c = table.cells[i];
    if (const auto all = c.exponent < daz_below ? underflow : binades.of(c.exponent)) {
      // All cells of the binade at once: they follow one another.
      for (; i < table.cells.size() && table.cells[i].exponent == c.exponent; ++i)
        certain[*all] += table.cells[i].count;
      continue;
    }
    ++i;
    left -= c.count;
    const cell_range range = range_of(c);
    span_of_magnitudes s{range.low, range.low_closed, range.high, range.low == range.high};
    // The extremes of the whole table narrow what a cell may hold.
    if (largest < s.high) s = {s.low, s.low_closed, largest, true};
    if (known_min && s.low < smallest) s = {smallest, true, s.high, s.high_closed};
    if (c.slot == whole_binade && c.exponent == largest.exponent && is_alone_in_top()) {
      add_span(c, 1, {largest, true, largest, true});
      add_span(c, c.count - 1, s);
    } else {
      add_span(c, c.count, s);
    }
  }
  for (const outcome o : {underflow, subnormal, normal, overflow}) {
    left -= certain[o];
    add(counts, certain[o], o, o, false, false);
  }
  if (!table.buckets.empty()) left -= add_buckets(counts, table, rules, daz_below);
  add(counts, left, underflow, overflow, false, rules[0].infinite || rules[1].infinite);
  // Nothing is between zero and the normal numbers, where a cut cell may seem to have it.
  if (!how.format.has_subnormals() || how.rounding.flush != flush::never) counts.subnormal = {};
  return counts;
}

}  // namespace ulp
