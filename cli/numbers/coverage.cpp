#include "coverage.hpp"

#include <algorithm>
#include <ulp/formats/codec.hpp>

namespace ulp::cli {
namespace {

// Whether exactly half a step is discarded.
bool is_tie(operation op, const format& to, const unpacked& exact) {
  const int quantum = rounds_to_integer(op) ? 0 : std::max(exact.exponent, to.emin()) - to.fraction_bits;
  const bool more = exact.sticky || detail::lsb_exponent(exact) < quantum - 64;
  return !more && exact.exponent < quantum + 62 && detail::bits_from(exact, quantum - 1) == std::uint64_t{1} << 63;
}

// Whether a sum is more than one binade below its larger addend.
bool cancels(operation op, const std::array<unpacked, 3>& x, const unpacked& exact) {
  const bool fused = op == operation::fma || op == operation::mac;
  if (!fused && op != operation::add && op != operation::sub) return false;
  const auto finite = [](const unpacked& one) { return one.kind == number_class::finite; };
  if (!finite(x[0]) || !finite(x[1]) || (fused && !finite(x[2]))) return false;
  const int larger =
      fused ? std::max(x[0].exponent + x[1].exponent, x[2].exponent) : std::max(x[0].exponent, x[1].exponent);
  return exact.kind == number_class::zero || (finite(exact) && exact.exponent < larger - 1);
}

// In the order of coverage_classes.
enum class_index : unsigned {
  exact_result_of,
  inexact_result,
  tie,
  subnormal_result,
  rounded_to_zero,
  least_normal,
  largest,
  overflow,
  cancellation,
  cancelled_to_zero,
  infinite_operand,
  quiet_nan,
  signaling_nan,
  nan_of_numbers
};
static_assert(nan_of_numbers + 1 == coverage_classes.size());

}  // namespace

class_set classes_of(operation op, const format& to, const format& from, const operand_codes& operands,
                     const rounding& mode, const encoded& result) {
  class_set classes = 0;
  const auto set = [&classes](class_index i, bool holds) { classes |= class_set{holds ? 1U : 0U} << i; };
  std::array<unpacked, 3> x{};
  bool quiet = false;
  bool signaling = false;
  bool infinite = false;
  if (integer_operand(op).bits == 0)
    for (int i = 0; i < operand_count(op); ++i) {
      unpacked& one = x[static_cast<std::size_t>(i)];
      one = decode(operand_format(op, to, from, i), operands[static_cast<std::size_t>(i)]);
      signaling = signaling || one.signaling;
      quiet = quiet || (one.kind == number_class::nan && !one.signaling);
      infinite = infinite || one.kind == number_class::infinity;
    }
  set(quiet_nan, quiet);
  set(signaling_nan, signaling);
  set(infinite_operand, infinite);
  if (is_comparison(op)) return classes;
  const bool invalid = any(result.flags, status::invalid);
  set(nan_of_numbers, !quiet && !signaling && invalid);

  const bool to_integer = integer_result(op).bits != 0;
  const bool inexact = any(result.flags, status::inexact);
  // A result without flags is the exact one, and cheaper to look at.
  const bool is_result = result.flags == status::none && !quiet && !infinite && !to_integer;
  const unpacked exact = is_result ? decode(to, result.code) : exact_result(op, to, from, operands, mode.daz);
  const bool cancelled = cancels(op, x, exact);
  set(cancellation, cancelled && exact.kind == number_class::finite);
  set(cancelled_to_zero, cancelled && exact.kind == number_class::zero);
  if (exact.kind != number_class::finite) return classes;
  set(exact_result_of, !inexact && !invalid);
  set(inexact_result, inexact);
  set(tie, inexact && is_tie(op, to, exact));
  if (to_integer) {
    set(rounded_to_zero, inexact && result.code == 0);
    return classes;
  }
  const std::uint64_t magnitude = to.has_sign ? result.code & to.magnitude_mask() : std::uint64_t{result.code};
  set(subnormal_result, magnitude != 0 && magnitude < to.min_normal_code());
  set(rounded_to_zero, inexact && magnitude == 0 && decode(to, result.code).kind == number_class::zero);
  set(least_normal, magnitude == to.min_normal_code() && exact.exponent < to.emin());
  const bool overflows = any(result.flags, status::overflow);
  set(overflow, overflows);
  set(largest, magnitude == to.max_finite_code() && !overflows);
  return classes;
}

}  // namespace ulp::cli
