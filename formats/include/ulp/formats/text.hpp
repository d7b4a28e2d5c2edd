// Numbers as text and back, exactly. Independent of the locale. Allocates; uses Boost.Multiprecision inside.
#ifndef ULP_FORMATS_TEXT_HPP
#define ULP_FORMATS_TEXT_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <ulp/formats/codec.hpp>
#include <ulp/formats/format.hpp>
#include <ulp/formats/rounding.hpp>

namespace ulp {

// The value of a text, in either case, with an optional sign:
//   a decimal                  "-1.5e-7"
//   a power of two             "2^-24"
//   hexadecimal floating       "0x1.94p-14" (C17, 6.4.4.2; without 'p' it is not a number, so that 0x3C01 may be a code)
//   binary                     "1.0101b*2^-14", "101b"
//   inf, infinity, nan
// 128 significant bits and `sticky` are enough for one correct rounding to any format, in any direction, stochastic with
// up to 32 random bits included; with exact_probability too where `sticky` is not set. Numbers beyond 2^+-20000 keep that
// exponent: every format rounds them as it would the true ones.
// nullopt where the text is not such a number, or has trailing characters.
[[nodiscard]] std::optional<unpacked> parse_number(std::string_view text);

// The text's value rounded once; nullopt if it is not a number. Under exact_probability what is beyond 128 significant
// bits counts as nothing.
[[nodiscard]] std::optional<encoded> parse(const format& to, std::string_view text, const rounding& mode,
                                           random_input random = {});
// In the format's own rounding (default_direction).
[[nodiscard]] std::optional<encoded> parse(const format& to, std::string_view text);

// Every digit of the value: "0.0999755859375", "-0", "inf", "nan".
[[nodiscard]] std::string exact_decimal(const unpacked& x);

// The decimal with the fewest significant digits that becomes this code without overflow in the format's own rounding
// (nearest-away for DLFloat16, nearest-even for all others), and among those the one nearest to its value, of two the one
// with an even last digit: "0.1" for float16 0x2E66.
[[nodiscard]] std::string shortest_decimal(const format& of_numbers, code of);

// As C's %a writes a normal double, subnormal numbers too: "0x1.94p-14", "0x1p+3", "-0x0p+0", "inf", "nan".
[[nodiscard]] std::string hexadecimal(const unpacked& x);

// "1.0101b*2^-14", "1.0b*2^3", "-0.0b", "inf", "nan".
[[nodiscard]] std::string binary_scientific(const unpacked& x);

}  // namespace ulp

#endif
