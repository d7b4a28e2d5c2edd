// Loops of arithmetic over numbers, and over codes that are quickly floats. Included after avx2_lanes.hpp or
// avx512_lanes.hpp.
#ifndef ULP_FORMATS_BULK_ARITHMETIC_VECTORS_HPP
#define ULP_FORMATS_BULK_ARITHMETIC_VECTORS_HPP

#include <utility>

#include "arithmetic_loops.hpp"
#include "odd_vectors.hpp"

#if defined(ULP_VECTORS)

namespace ulp::detail::ULP_VECTORS {
namespace {

// How operands are kept.
enum class kept : std::uint8_t { numbers, float16s, halves };

template <class Lanes, kept Kept>
ULP_VECTOR_INLINE auto operand(const void* from, std::size_t i) {
  if constexpr (Kept == kept::numbers) {
    return Lanes::load(static_cast<const typename Lanes::number*>(from) + i);
  } else {
    const auto* const codes = static_cast<const std::uint16_t*>(from) + i;
    return Kept == kept::float16s ? of_float16s(codes) : of_upper_halves(codes);
  }
}

template <class Lanes, kept Kept, lane_operation Op, bool MinusZero>
ULP_VECTOR_INLINE auto result_of(const arithmetic_call& call, typename Lanes::vector negated, std::size_t i) {
  const auto a = operand<Lanes, Kept>(call.operands[0], i);
  if constexpr (Op == lane_operation::root) {
    return odd_root<Lanes>(a);
  } else {
    const auto b = operand<Lanes, Kept>(call.operands[1], i);
    if constexpr (Op == lane_operation::sum) {
      return odd_sum<Lanes, MinusZero>(a, Lanes::flipped(b, negated));
    } else if constexpr (Op == lane_operation::exact_product) {
      return Lanes::mul(a, b);
    } else if constexpr (Op == lane_operation::product) {
      return odd_product<Lanes>(a, b);
    } else if constexpr (Op == lane_operation::quotient) {
      return odd_quotient<Lanes>(a, b);
    } else {
      const auto c = operand<Lanes, Kept>(call.operands[2], i);
      if constexpr (Op == lane_operation::exact_fma)
        return odd_sum<Lanes, MinusZero>(Lanes::mul(a, b), c);
      else
        return odd_ranged_fma<Lanes, MinusZero>(a, b, c);
    }
  }
}

// A function of its own, as in encode_vectors.hpp, and nothing in it but what the control register is set for.
template <class Lanes, kept Kept, lane_operation Op, bool MinusZero>
ULP_VECTOR [[gnu::noinline]] bool compute_lanes(const arithmetic_call& call) {
  auto* const results = static_cast<typename Lanes::number*>(call.results);
  const auto negated = call.negate_second ? Lanes::sign() : Lanes::zero();
  // Products with zero are not zero but NaN if one was infinite or NaN.
  auto finite = Lanes::zero();
  for (std::size_t i = 0; i + Lanes::size <= call.size; i += Lanes::size) {
    const auto x = result_of<Lanes, Kept, Op, MinusZero>(call, negated, i);
    finite = Lanes::fma(x, Lanes::zero(), finite);
    Lanes::store(results + i, x);
  }
  return Lanes::any(Lanes::is_nan(finite));
}

template <class Lanes, kept Kept, lane_operation Op>
bool compute(const arithmetic_call& call) {
  using element = std::conditional_t<Kept == kept::numbers, typename Lanes::number, std::uint16_t>;
  return in_vectors<element, typename Lanes::number, Lanes::size>(call, [](const arithmetic_call& part) {
    const control_register rounds{way_of_processor(Op)};
    if (part.minus_zero) return compute_lanes<Lanes, Kept, Op, true>(part);
    return compute_lanes<Lanes, Kept, Op, false>(part);
  });
}

template <lane_operation Op>
ULP_VECTOR_INLINE floats native_result(const arithmetic_call& call, floats negated, std::size_t i) {
  using lanes = float_lanes;
  const auto number = [&](std::size_t j)
                          ULP_VECTOR_LAMBDA { return lanes::load(static_cast<const float*>(call.operands[j]) + i); };
  if constexpr (Op == lane_operation::root) return lanes::sqrt(number(0));
  if constexpr (Op == lane_operation::sum) return lanes::add(number(0), lanes::flipped(number(1), negated));
  if constexpr (Op == lane_operation::product) return lanes::mul(number(0), number(1));
  if constexpr (Op == lane_operation::quotient) return lanes::div(number(0), number(1));
  if constexpr (Op == lane_operation::exact_fma) return lanes::fma(number(0), number(1), number(2));
}

template <lane_operation Op>
ULP_VECTOR [[gnu::noinline]] bool compute_natively(const arithmetic_call& call) {
  auto* const results = static_cast<float*>(call.results);
  const floats negated = call.negate_second ? float_lanes::sign() : float_lanes::zero();
  floats finite = float_lanes::zero();
  for (std::size_t i = 0; i + float_lanes::size <= call.size; i += float_lanes::size) {
    const floats x = native_result<Op>(call, negated, i);
    finite = float_lanes::fma(x, float_lanes::zero(), finite);
    float_lanes::store(results + i, x);
  }
  return float_lanes::any(float_lanes::is_nan(finite));
}

template <lane_operation Op>
bool native(const arithmetic_call& call) {
  return in_vectors<float, float, float_lanes::size>(call, [](const arithmetic_call& part) {
    const control_register rounds{part.way};
    return compute_natively<Op>(part);
  });
}

template <class Lanes, kept Kept, std::size_t... Op>
constexpr arithmetic_loops_of loops_of(std::index_sequence<Op...>) {
  return {compute<Lanes, Kept, static_cast<lane_operation>(Op)>...};
}
template <class Lanes, kept Kept>
constexpr arithmetic_loops_of loops = loops_of<Lanes, Kept>(std::make_index_sequence<lane_operation_count>{});

constexpr arithmetic_loops_of native_loops{native<lane_operation::sum>,      native<lane_operation::product>,
                                           native<lane_operation::product>,  native<lane_operation::quotient>,
                                           native<lane_operation::root>,     native<lane_operation::exact_fma>,
                                           native<lane_operation::exact_fma>};

constexpr arithmetic_loops all_loops(const code_loops& codes) {
  return {.floats = loops<float_lanes, kept::numbers>,
          .float16s = loops<float_lanes, kept::float16s>,
          .halves = loops<float_lanes, kept::halves>,
          .doubles = loops<double_lanes, kept::numbers>,
          .native = native_loops,
          .codes = codes};
}

}  // namespace
}  // namespace ulp::detail::ULP_VECTORS

#endif
#endif
