#include <ulp/model/updates/lost_update.hpp>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <ulp/formats/arithmetic.hpp>
#include <ulp/formats/codec.hpp>

#include "updates/moving.hpp"

namespace ulp {
namespace {

bool is_same(const unpacked& a, const unpacked& b) noexcept {
  if (a.kind != b.kind) return false;
  if (a.kind == number_class::zero) return true;
  return a.negative == b.negative && a.exponent == b.exponent && a.significand == b.significand;
}

// log2 of the distance from w' to its neighbour above in magnitude.
int spacing_at(const format& to, const unpacked& kept) noexcept {
  const int exponent = kept.kind == number_class::zero ? to.emin() : std::max(kept.exponent, to.emin());
  return exponent - to.fraction_bits;
}

// Its magnitude.
bool is_one(const unpacked& kept) noexcept {
  return kept.kind == number_class::finite && kept.exponent == 0 && kept.significand == std::uint64_t{1} << 63;
}

// Of a drawn sum, not to be w' again.
double chance_of_move(const format& to, const unpacked& kept, double update, const rounding& mode) noexcept {
  const bool is_zero = kept.kind == number_class::zero;
  const bool shrinks = !is_zero && kept.negative != std::signbit(update);
  const bool is_power = !is_zero && kept.significand == std::uint64_t{1} << 63;
  const int spacing = spacing_at(to, kept) - (shrinks && is_power && kept.exponent > to.emin() ? 1 : 0);
  const bool is_largest = is_same(kept, decode(to, code{to.max_finite_code() | to.sign_code(kept.negative)}));
  if (!shrinks && is_largest && (mode.overflow != overflow_mode::ieee || !to.has_nan())) return 0;
  return chance_to_move(std::ldexp(std::fabs(update), -spacing), shrinks, mode);
}

// `open` of both are in their upper ends alone, and the same ones: each is a lost update, one that was not, or none.
value_range share_of(double low, double high, const count_range& all, std::uint64_t open) noexcept {
  if (all.high == 0) return {not_known, not_known};
  const std::uint64_t least = all.low + open;
  const double most = least == 0 ? 1 : std::min(1.0, high / static_cast<double>(least));
  return {low / static_cast<double>(all.high), most};
}

}  // namespace

lost_updates& lost_updates::operator+=(const lost_updates& other) noexcept {
  numel += other.numel;
  zero_updates += other.zero_updates;
  zeros_at_one += other.zeros_at_one;
  nonfinite += other.nonfinite;
  overflowing += other.overflowing;
  updates += other.updates;
  lost += other.lost;
  open_zeros += other.open_zeros;
  expected_lost += other.expected_lost;
  at_one += other.at_one;
  lost_at_one += other.lost_at_one;
  largest_spacing = std::max(largest_spacing, other.largest_spacing);
  return *this;
}

void lost_updates::open_zero_updates() noexcept {
  open_zeros = zero_updates;
  for (count_range* const all : {&updates, &lost}) all->high += open_zeros;
  for (count_range* const all : {&at_one, &lost_at_one}) all->high += zeros_at_one;
  expected_lost.high += static_cast<double>(open_zeros);
}

value_range lost_updates::lost_share() const noexcept {
  return share_of(static_cast<double>(lost.low), static_cast<double>(lost.high), updates, open_zeros);
}

value_range lost_updates::expected_share() const noexcept {
  return share_of(expected_lost.low, expected_lost.high, updates, open_zeros);
}

bool counts_lost_updates(const treatment& how) noexcept {
  return how.rounding.direction != direction::stochastic ||
         (how.rounding.flush == flush::never && !how.rounding.daz && how.format.has_subnormals() &&
          how.format.has_zero() && how.format.has_sign);
}

lost_updates count_lost_updates(std::span<const double> weights, std::span<const double> updates,
                                const treatment& how) {
  if (weights.size() != updates.size()) throw std::invalid_argument("not as many updates as weights");
  if (!counts_lost_updates(how))
    throw std::invalid_argument("lost updates are not counted with stochastic rounding that flushes to zero");
  const bool is_drawn = how.rounding.direction == direction::stochastic;
  const rounding to_nearest = undrawn(how.rounding);
  lost_updates all;
  all.numel = weights.size();
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double update = updates[i];
    if (!std::isfinite(update) || !std::isfinite(weights[i])) {
      ++all.nonfinite;
      continue;
    }
    const unpacked kept = decode(how.format, code{encode(how.format, weights[i], to_nearest).code});
    if (update == 0) {
      ++all.zero_updates;
      all.zeros_at_one += is_one(kept) ? 1 : 0;
      continue;
    }
    if (kept.kind != number_class::zero && kept.kind != number_class::finite) {
      all.overflowing += {1, 1};
      continue;
    }
    all.updates += {1, 1};
    all.largest_spacing = std::max(all.largest_spacing, spacing_at(how.format, kept));
    const auto sum_is_kept = [&] {
      return is_same(kept, decode(how.format, code{add(how.format, kept, decode(update), how.rounding).code}));
    };
    const double move = is_drawn ? chance_of_move(how.format, kept, update, how.rounding) : sum_is_kept() ? 0 : 1;
    // With all random bits some draw moves every update, however rarely.
    const bool never = move == 0 && !(is_drawn && how.rounding.random_bits == exact_probability);
    const std::uint64_t is_lost = never ? 1 : 0;
    all.lost += {is_lost, is_lost};
    all.expected_lost += {1 - move, 1 - move};
    if (is_one(kept)) all.at_one += {1, 1};
    if (is_one(kept)) all.lost_at_one += {is_lost, is_lost};
  }
  return all;
}

std::uint64_t count_changed(std::span<const double> weights, const treatment& how) noexcept {
  const rounding to_nearest = undrawn(how.rounding);
  return static_cast<std::uint64_t>(std::ranges::count_if(weights, [&](double w) {
    if (std::isnan(w)) return false;
    const unpacked exact = decode(w);
    return !is_same(exact, decode(how.format, code{encode(how.format, exact, to_nearest).code}));
  }));
}

double stall_radius(int spacing, double learning_rate, double curvature) noexcept {
  return std::ldexp(0.5, spacing) / learning_rate / curvature;
}

}  // namespace ulp
