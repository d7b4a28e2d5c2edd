// Numbers as text and back, exactly. Independent of the locale. Allocates; uses Boost.Multiprecision inside.
#ifndef ULP_FORMATS_TEXT_HPP
#define ULP_FORMATS_TEXT_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <ulp/formats/codec.hpp>
#include <ulp/formats/format.hpp>

namespace ulp {

// The value of a decimal ("-1.5e-7"), of a power of two ("2^-24") or of inf, infinity, nan with an optional sign, in
// either case. `significand` and `sticky` hold the exact value well enough for one correct rounding to any format, in
// any direction; under stochastic rounding while precision and random bits are 64 together. Numbers beyond 2^+-20000 keep that exponent: every format rounds them as it would the true ones.
// nullopt where the text is not such a number, or has trailing characters.
[[nodiscard]] std::optional<unpacked> parse_number(std::string_view text);

// Every digit of the value: "0.0999755859375", "-0", "inf", "nan".
[[nodiscard]] std::string exact_decimal(const unpacked& x);

// The decimal with the fewest significant digits that rounds (to nearest even) to this code, and among those the one
// nearest to its value: "0.1" for float16 0x2E66.
[[nodiscard]] std::string shortest_decimal(const format& in, std::uint64_t code);

}  // namespace ulp

#endif
