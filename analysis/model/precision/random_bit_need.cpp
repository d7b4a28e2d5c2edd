#include <ulp/model/precision/random_bit_need.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>

#include <ulp/formats/codec.hpp>
#include <ulp/formats/operation.hpp>

namespace ulp {
namespace {

constexpr std::uint64_t one = std::uint64_t{1} << 33;  // discarded::leading counts in units of 1 / one

// Where an exact sum lies between numbers of the format.
struct position {
  discarded part;
  int quantum = 0;          // log2 of their distance
  bool from_inner = false;  // w' is the one nearer to zero
  bool from_outer = false;
};

position position_of(const format& to, std::uint64_t weight, const unpacked& sum) {
  const int quantum = std::max(sum.exponent, to.emin()) - to.fraction_bits;
  const std::uint64_t first_64 = detail::bits_from(sum, quantum - 1);
  const std::uint64_t inner = encode(to, sum, {.direction = direction::toward_zero}).code;
  const bool both_zero = ((inner | weight) & to.magnitude_mask()) == 0;
  return {.part = {.leading = first_64 >> 31,
                   .beyond_leading = first_64 << 33 != 0 || sum.sticky || detail::lsb_exponent(sum) < quantum - 64},
          .quantum = quantum,
          .from_inner = inner == weight || both_zero,
          .from_outer = inner + 1 == weight};
}

// Whether rounding in some direction overflows.
bool reaches_beyond(const format& to, const unpacked& sum) {
  const encoded inner = encode(to, sum, {.direction = direction::toward_zero});
  return inner.flags != status::none && (inner.code & to.magnitude_mask()) == to.max_finite_code();
}

// Whether less than 2^-bits of the distance lies between w' and the sum.
bool is_below(const position& at, int bits) {
  const std::uint64_t limit = one >> bits;
  if (at.from_inner) return at.part.leading < limit;
  if (!at.from_outer) return false;
  return at.part.leading > one - limit || (at.part.leading == one - limit && at.part.beyond_leading);
}

bool never_moves(const position& at, std::uint64_t up, std::uint64_t draws) {
  return (at.from_inner && up == 0) || (at.from_outer && up == draws);
}

// Of the distance, from the number nearer to zero.
double part_of(const discarded& lost) {
  return std::ldexp(static_cast<double>(lost.leading), -33) + (lost.beyond_leading ? std::ldexp(1, -34) : 0);
}

void count(random_bit_need& all, const position& at, double update, bool outward) {
  const double part = part_of(at.part);
  for (int n = 0; n <= random_bit_need::most_bits; ++n) {
    random_bit_need::row& row = all.bits[static_cast<std::size_t>(n)];
    row.below += is_below(at, n) ? 1 : 0;
    const std::uint64_t draws = std::uint64_t{1} << n;
    for (std::size_t d = 0; d < row.by.size(); ++d) {
      const std::uint64_t up = draws_up(at.part, static_cast<stochastic_definition>(d), n);
      const double bias = std::ldexp(static_cast<double>(up), -n) - part;
      stochastic_movement& to = row.by[d];
      to.bias += bias;
      to.drift += std::ldexp(outward ? bias : -bias, at.quantum);
      if (!never_moves(at, up, draws)) continue;
      ++to.never;
      to.mass_never += std::fabs(update);
    }
  }
}

}  // namespace

std::uint64_t draws_up(const discarded& lost, stochastic_definition definition, int bits) noexcept {
  const std::uint64_t top = lost.leading >> (33 - bits);
  if (definition == stochastic_definition::a) return top;
  const std::uint64_t top_and_next = lost.leading >> (32 - bits);
  if (definition == stochastic_definition::b) return (top_and_next + 1) / 2;
  const bool next = (top_and_next & 1) != 0;
  const bool below = lost.beyond_leading || (lost.leading & ((std::uint64_t{1} << (32 - bits)) - 1)) != 0;
  return top + (next && (below || (top & 1) != 0) ? 1 : 0);
}

std::optional<double> mean_stochastic_error(const format& to, const unpacked& x, stochastic_definition definition,
                                            int bits) noexcept {
  if (reaches_beyond(to, x)) return std::nullopt;
  const discarded part = position_of(to, 0, x).part;
  return std::ldexp(static_cast<double>(draws_up(part, definition, bits)), -bits) - part_of(part);
}

stochastic_movement& stochastic_movement::operator+=(const stochastic_movement& other) noexcept {
  never += other.never;
  mass_never += other.mass_never;
  bias += other.bias;
  drift += other.drift;
  return *this;
}

random_bit_need& random_bit_need::operator+=(const random_bit_need& other) noexcept {
  numel += other.numel;
  zero_updates += other.zero_updates;
  nonfinite += other.nonfinite;
  overflowing += other.overflowing;
  updates += other.updates;
  mass += other.mass;
  lost_nearest += other.lost_nearest;
  mass_lost_nearest += other.mass_lost_nearest;
  for (std::size_t n = 0; n < bits.size(); ++n) {
    bits[n].below += other.bits[n].below;
    for (std::size_t d = 0; d < bits[n].by.size(); ++d) bits[n].by[d] += other.bits[n].by[d];
  }
  return *this;
}

std::optional<int> random_bit_need::fewest(stochastic_definition definition, double share) const noexcept {
  if (updates == 0) return std::nullopt;
  for (int n = 0; n <= most_bits; ++n)
    if (bits[static_cast<std::size_t>(n)].by[static_cast<std::size_t>(definition)].mass_never < share * mass) return n;
  return std::nullopt;
}

random_bit_need random_bits_needed(std::span<const double> weights, std::span<const double> updates, const format& to) {
  if (weights.size() != updates.size()) throw std::invalid_argument("there are not as many weights as updates");
  if (!to.is_valid() || !to.has_sign || !to.has_subnormals())
    throw std::invalid_argument("stochastic rounding of weights is counted in formats with sign and subnormals");
  random_bit_need all;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    ++all.numel;
    const double update = updates[i];
    if (!std::isfinite(weights[i]) || !std::isfinite(update)) {
      ++all.nonfinite;
      continue;
    }
    if (update == 0) {
      ++all.zero_updates;
      continue;
    }
    const std::uint64_t weight = encode(to, weights[i]).code;
    const unpacked from = decode(to, weight);
    const unpacked sum =
        exact_result(operation::add, to, binary64,
                     {std::bit_cast<std::uint64_t>(to_double(to, weight)), std::bit_cast<std::uint64_t>(update)});
    if (from.kind == number_class::infinity || from.kind == number_class::nan || reaches_beyond(to, sum)) {
      ++all.overflowing;
      continue;
    }
    ++all.updates;
    all.mass += std::fabs(update);
    if (sum.kind == number_class::zero) continue;  // d = -w', which the format holds
    const position at = position_of(to, weight, sum);
    const std::uint64_t nearest = encode(to, sum).code;
    if (nearest == weight || ((nearest | weight) & to.magnitude_mask()) == 0) {
      ++all.lost_nearest;
      all.mass_lost_nearest += std::fabs(update);
    }
    count(all, at, update, sum.negative == (update < 0));
  }
  return all;
}

}  // namespace ulp
