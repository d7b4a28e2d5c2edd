// Test vectors: operands that make an operation round in every way it can.
//
// They are, in this order:
//  - all operands there are, and nothing else, where these are few (see for_each_vector);
//  - every combination of pattern codes: signs x telling exponents (of zero, subnormals, the least normal numbers, one,
//    the largest, infinity and NaN) x telling fractions (zeros, ones, single bits, runs of ones, alternating bits);
//  - operands aimed at results: the midpoint between two neighbours of the result's format, that number itself, and the
//    nearest that the operands can come to it from either side. Neighbours with the last kept bit even and odd, normal,
//    subnormal, at the least normal and the least subnormal number (what rounds to zero), at the largest (what
//    overflows) and where rounding to the format's precision ends being tiny. Sums and fma also come there by
//    cancellation and with an addend that is felt only as a sticky bit; products, quotients and roots by solving for
//    significands whose discarded bits are 10..01 and 01..1; remainders at quotients near n + 1/2 and of operands far
//    apart in exponent;
//  - random ones: of all codes, of near exponents, of long runs of equal bits.
// Patterns times exponents before random numbers are the way of Berkeley TestFloat; hard cases by solving congruences
// that of W. Kahan ("Checking Whether Floating-Point Division is Correctly Rounded", "A Test for Correctly Rounded
// SQRT").
#ifndef ULP_FORMATS_VECTORS_HPP
#define ULP_FORMATS_VECTORS_HPP

#include <cstdint>
#include <functional>
#include <span>

#include <ulp/formats/format.hpp>
#include <ulp/formats/operation.hpp>

namespace ulp {

using vector_sink = std::function<void(std::span<const operand_codes>)>;

// Calls sink with vector after vector, many at a time, always the same ones in the same order for the same arguments;
// they have no rounding, and serve every one. `to` is the format of the results, `from` that of the operands.
// Level 1: up to five thousand for one operand, some 40 to 80 thousand for two, some hundred thousands for three; all there
// are up to 2^10, 2^16, 2^18. Level 2: tens of thousands, a million, five millions; all there are up to 2^20, 2^20,
// 2^24.
// What sink throws passes through. Preconditions: is_defined(op, to, from); level is 1 or 2.
void for_each_vector(operation op, const format& to, const format& from, int level, std::uint64_t seed,
                     const vector_sink& sink);

}  // namespace ulp

#endif
