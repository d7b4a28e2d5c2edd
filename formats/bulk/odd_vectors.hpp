// Results rounded to odd, by lanes of floats or doubles: the processor rounds down or toward zero, so the last bit is right
// but for what was lost, and an exact second operation tells whether something was. Its result may be too small for a
// number: rounded down, what is negative is then not zero. Included after avx2_lanes.hpp or avx512_lanes.hpp.
#ifndef ULP_FORMATS_BULK_ODD_VECTORS_HPP
#define ULP_FORMATS_BULK_ODD_VECTORS_HPP

#include <algorithm>

#include "arithmetic_loops.hpp"

#if defined(ULP_VECTORS)

namespace ulp::detail::ULP_VECTORS {

// The processor rounds toward zero, so sums that cancel are +0. What the sum less a lacks of b is what was lost: if a is the
// larger one, the difference is exact however the sum was rounded (Boldo, Graillat, Muller 2017); if b is, it is of b's
// sign and smaller.
template <class Lanes, bool MinusZero>
ULP_VECTOR_INLINE auto odd_sum(typename Lanes::vector a, typename Lanes::vector b) {
  const auto s = Lanes::add(a, b);
  const auto lost = Lanes::is_other(Lanes::sub(s, a), b);
  auto odd = Lanes::either_where(lost, s, Lanes::last_bit());
  if constexpr (MinusZero) {
    const auto sign = Lanes::both(Lanes::either(a, b), Lanes::sign());
    odd = Lanes::either_where(Lanes::is_equal(s, Lanes::zero()), odd, sign);
  }
  return odd;
}

template <class Lanes>
ULP_VECTOR_INLINE auto odd_where(typename Lanes::vector magnitude, typename Lanes::vector rest) {
  return Lanes::either_where(Lanes::is_other(rest, Lanes::zero()), magnitude, Lanes::last_bit());
}

template <class Lanes>
ULP_VECTOR_INLINE auto odd_product(typename Lanes::vector a, typename Lanes::vector b) {
  const auto x = Lanes::without(a, Lanes::sign());
  const auto y = Lanes::without(b, Lanes::sign());
  const auto s = Lanes::mul(x, y);
  return Lanes::either(odd_where<Lanes>(s, Lanes::fnma(x, y, s)), Lanes::both(Lanes::flipped(a, b), Lanes::sign()));
}

template <class Lanes>
ULP_VECTOR_INLINE auto odd_quotient(typename Lanes::vector a, typename Lanes::vector b) {
  const auto x = Lanes::without(a, Lanes::sign());
  const auto y = Lanes::without(b, Lanes::sign());
  const auto s = Lanes::div(x, y);
  const auto odd = odd_where<Lanes>(s, Lanes::fms(s, y, x));
  // A finite number divided by infinity needs no rounding, but is no business of lanes: as a product with y is NaN or not.
  const auto unknown = Lanes::is_other(Lanes::mul(Lanes::zero(), y), Lanes::zero());
  const auto quotient = Lanes::either_where(unknown, odd, Lanes::all_bits());
  return Lanes::either(quotient, Lanes::both(Lanes::flipped(a, b), Lanes::sign()));
}

template <class Lanes>
ULP_VECTOR_INLINE auto odd_root(typename Lanes::vector a) {
  const auto s = Lanes::sqrt(a);
  return odd_where<Lanes>(s, Lanes::fms(s, s, a));
}

// A number rounded down, which was rounded away from zero if it is negative and something was lost: then it goes back by
// one bit.
template <class Lanes>
ULP_VECTOR_INLINE auto odd_below(typename Lanes::vector x, typename Lanes::mask lost) {
  return Lanes::either_where(lost, Lanes::before_where(Lanes::is_negative(x), lost, x), Lanes::last_bit());
}

// The same as odd_product for finite operands; for others whatever.
template <class Lanes>
ULP_VECTOR_INLINE auto odd_finite_product(typename Lanes::vector a, typename Lanes::vector b) {
  const auto s = Lanes::mul(a, b);
  return odd_below<Lanes>(s, Lanes::is_other(Lanes::fnma(a, b, s), Lanes::zero()));
}

// The processor rounds down, which shows every product that is not exact, and every sum: less one operand it is then below
// the other one. Sums that cancel are -0.
template <class Lanes, bool MinusZero>
ULP_VECTOR_INLINE auto odd_ranged_fma(typename Lanes::vector a, typename Lanes::vector b, typename Lanes::vector c) {
  const auto p = Lanes::mul(a, b);
  const auto s = Lanes::add(p, c);
  auto odd = odd_below<Lanes>(s, Lanes::is_other(Lanes::sub(s, p), c));
  if constexpr (!MinusZero) {
    odd =
        Lanes::without_where(Lanes::is_equal(s, Lanes::zero()), odd, Lanes::without(Lanes::sign(), Lanes::both(p, c)));
  }
  return Lanes::either_where(Lanes::is_other(Lanes::fnma(a, b, p), Lanes::zero()), odd, Lanes::all_bits());
}

// What the functions above take for granted.
constexpr direction way_of_processor(lane_operation op) {
  switch (op) {
    case lane_operation::sum:
    case lane_operation::exact_product:
    case lane_operation::exact_fma: return direction::toward_zero;
    default: return direction::toward_negative;
  }
}

// Calls run for the vectors in the call, and for a last one that what is left over fills with copies of the last element.
template <class Element, class Result, std::size_t Size, class Run>
bool in_vectors(const arithmetic_call& call, Run run) {
  const std::size_t whole = call.size / Size * Size;
  const bool unknown = run(call);
  if (whole == call.size) return unknown;
  std::array<std::array<Element, Size>, 3> some;
  std::array<Result, Size> results;
  arithmetic_call last = call;
  for (std::size_t j = 0; j < 3; ++j) {
    const auto* from = static_cast<const Element*>(call.operands[j]);
    if (from == nullptr) continue;
    for (std::size_t k = 0; k < Size; ++k) some[j][k] = from[std::min(whole + k, call.size - 1)];
    last.operands[j] = some[j].data();
  }
  last.results = results.data();
  last.size = Size;
  const bool last_unknown = run(last);
  std::copy_n(results.begin(), call.size - whole, static_cast<Result*>(call.results) + whole);
  return unknown || last_unknown;
}

}  // namespace ulp::detail::ULP_VECTORS

#endif
#endif
