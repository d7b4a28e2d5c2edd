// Dot products of a unit that aligns products of narrow formats with its accumulator, in 64-bit integers: what dot() gives.
#ifndef ULP_MODEL_PRECISION_ALIGNED_UNIT_HPP
#define ULP_MODEL_PRECISION_ALIGNED_UNIT_HPP

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>
#include <vector>

#include <ulp/formats/dot.hpp>

namespace ulp {

// The numbers of an array as integers times powers of two.
class integer_factors {
 public:
  static constexpr std::int32_t zero_exponent = -(1 << 20);

  integer_factors(const format& of, std::span<const std::uint32_t> codes);

  [[nodiscard]] bool holds(std::size_t begin, std::size_t end) const noexcept;  // no infinity or NaN in it

  std::vector<std::int32_t> significands;  // signed, in units of 2^(exponent - fraction bits)
  std::vector<std::int32_t> exponents;     // of the codes
 private:
  std::vector<std::size_t> special_;  // where they are
};

inline integer_factors::integer_factors(const format& of, std::span<const std::uint32_t> codes) {
  significands.reserve(codes.size());
  exponents.reserve(codes.size());
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const unpacked x = decode(of, std::uint64_t{codes[i]});
    const bool finite = x.kind == number_class::finite;
    if (!finite && x.kind != number_class::zero) special_.push_back(i);
    const int exponent = x.subnormal ? of.emin() : x.exponent;
    const int magnitude =
        finite ? static_cast<int>(x.significand >> (63 - of.fraction_bits + (exponent - x.exponent))) : 0;
    significands.push_back(x.negative ? -magnitude : magnitude);
    exponents.push_back(finite ? exponent : zero_exponent);
  }
}

inline bool integer_factors::holds(std::size_t begin, std::size_t end) const noexcept {
  const auto first = std::lower_bound(special_.begin(), special_.end(), begin);
  return first == special_.end() || *first >= end;
}

class aligned_unit {
 public:
  // Whether 64 bits hold what is added. Operands have at most 11 significand bits.
  [[nodiscard]] static bool takes(const accumulation& how, const format& a, const format& b) noexcept {
    const auto is_narrow = [](const format& f) { return f.precision() <= 11 && f.has_zero(); };
    const format& to = how.accumulator;
    const bool ends_with_binade = (to.max_finite_code() & to.fraction_mask()) == to.fraction_mask();
    const bool rounds = how.rounding == rounding{} || how.rounding == rounding{.direction = direction::toward_zero};
    return is_narrow(a) && is_narrow(b) && rounds && how.align_bits && *how.align_bits <= 28 && !how.late &&
           how.exact_group == 0 && !how.outer && !how.products && !how.sums && how.order.size <= most_products &&
           how.align == direction::toward_zero && to.precision() <= 24 && to.has_subnormals() && to.has_sign &&
           ends_with_binade;
  }

  aligned_unit(const accumulation& how, const format& a, const format& b) noexcept
      : to_(how.accumulator),
        nearest_(how.rounding.direction == direction::nearest_even),
        bits_(*how.align_bits),
        floor_(how.align_floor),
        group_(how.order.size),
        fraction_bits_(a.fraction_bits + b.fraction_bits) {}

  // The sum from +0 as a code; nothing where it leaves the range of finite numbers, or is a zero, whose sign is dot()'s.
  [[nodiscard]] std::optional<std::uint32_t> sum(const integer_factors& a, std::size_t a_at, const integer_factors& b,
                                                 std::size_t b_at, std::size_t size) const noexcept {
    accumulator c;
    for (std::size_t k = 0; k < size; k += group_)
      if (!add(c, &a.significands[a_at + k], &a.exponents[a_at + k], &b.significands[b_at + k], &b.exponents[b_at + k],
               std::min(group_, size - k)))
        return {};
    if (c.magnitude == 0) return {};
    const std::int64_t implicit = std::int64_t{1} << to_.fraction_bits;
    const std::int64_t field = c.magnitude >= implicit ? c.exponent + to_.bias : 0;
    return static_cast<std::uint32_t>(
        to_.sign_code(c.negative) |
        static_cast<std::uint64_t>((field << to_.fraction_bits) + (c.magnitude & (implicit - 1))));
  }

 private:
  static constexpr std::size_t most_products = 64;

  // magnitude * 2^(exponent - fraction bits)
  struct accumulator {
    std::int64_t magnitude = 0;
    int exponent = integer_factors::zero_exponent;
    bool negative = false;
  };

  bool add(accumulator& c, const std::int32_t* a, const std::int32_t* a_exponents, const std::int32_t* b,
           const std::int32_t* b_exponents, std::size_t size) const noexcept {
    int largest = std::max(c.magnitude == 0 ? floor_ : c.exponent, floor_);
    for (std::size_t i = 0; i < size; ++i) largest = std::max(largest, a_exponents[i] + b_exponents[i]);
    const auto cut = [&](std::int64_t magnitude, int places) { return (magnitude << bits_) >> std::min(places, 63); };
    std::int64_t total = c.magnitude == 0 ? 0 : cut(c.magnitude, largest - c.exponent + to_.fraction_bits);
    if (c.negative) total = -total;
    for (std::size_t i = 0; i < size; ++i) {
      const std::int64_t product = std::int64_t{a[i]} * b[i];
      const std::int64_t sign = product >> 63;
      const std::int64_t kept =
          cut((product ^ sign) - sign, largest - a_exponents[i] - b_exponents[i] + fraction_bits_);
      total += (kept ^ sign) - sign;
    }
    return store(c, total, largest - bits_);
  }

  // total * 2^unit, rounded to the accumulator's format; false beyond its largest number.
  bool store(accumulator& c, std::int64_t total, int unit) const noexcept {
    c.negative = total < 0;
    c.magnitude = std::abs(total);
    if (total == 0) return true;
    const int width = 64 - std::countl_zero(static_cast<std::uint64_t>(c.magnitude));
    int quantum = std::max(unit + width - to_.precision(), to_.min_quantum_exponent());
    const int shift = quantum - unit;
    if (shift <= 0) {
      c.magnitude <<= -shift;
    } else if (shift > 62) {
      c.magnitude = 0;  // below half of the smallest number
    } else {
      const std::int64_t rest = c.magnitude & ((std::int64_t{1} << shift) - 1);
      const std::int64_t half = std::int64_t{1} << (shift - 1);
      c.magnitude >>= shift;
      if (nearest_ && (rest > half || (rest == half && c.magnitude % 2 != 0))) ++c.magnitude;
      if (c.magnitude >> to_.precision() != 0) {
        c.magnitude >>= 1;
        ++quantum;
      }
    }
    c.exponent = std::max(quantum + to_.fraction_bits, to_.emin());
    return c.exponent <= to_.emax();
  }

  format to_;
  bool nearest_;
  int bits_;
  int floor_;
  std::size_t group_;
  int fraction_bits_;
};

}  // namespace ulp

#endif
