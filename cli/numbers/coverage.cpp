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

}  // namespace

void coverage::add(operation op, const format& to, const format& from, const operand_codes& operands,
                   const rounding& mode, const encoded& result) {
  const auto count = [this](std::string_view name, bool holds) {
    const auto* const at = std::find(coverage_classes.begin(), coverage_classes.end(), name);
    lines[static_cast<std::size_t>(at - coverage_classes.begin())] += holds ? 1 : 0;
  };
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
  count("quiet NaN", quiet);
  count("signaling NaN", signaling);
  count("infinite operand", infinite);
  if (is_comparison(op)) return;
  count("NaN of numbers", !quiet && !signaling && any(result.flags, status::invalid));

  const unpacked exact = exact_result(op, to, from, operands, mode.daz);
  const bool cancelled = cancels(op, x, exact);
  count("cancellation", cancelled && exact.kind == number_class::finite);
  count("cancelled to zero", cancelled && exact.kind == number_class::zero);
  if (exact.kind != number_class::finite) return;
  const bool inexact = any(result.flags, status::inexact);
  count("exact", !inexact && !any(result.flags, status::invalid));
  count("inexact", inexact);
  count("tie", inexact && is_tie(op, to, exact));
  if (integer_result(op).bits != 0) {
    count("rounded to zero", inexact && result.code == 0);
    return;
  }
  const std::uint64_t magnitude = to.has_sign ? result.code & to.magnitude_mask() : std::uint64_t{result.code};
  count("subnormal result", decode(to, result.code).subnormal);
  count("rounded to zero", inexact && decode(to, result.code).kind == number_class::zero);
  count("least normal", magnitude == to.min_normal_code() && exact.exponent < to.emin());
  count("overflow", any(result.flags, status::overflow));
  count("largest", magnitude == to.max_finite_code() && !any(result.flags, status::overflow));
}

}  // namespace ulp::cli
