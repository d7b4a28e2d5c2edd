// Text as it is printed: powers with raised exponents, long names cut in the middle. All of it is plain text, which can be
// copied; what becomes of it in HTML is for escaped().
#ifndef ULP_REPORT_PAGE_TYPESET_HPP
#define ULP_REPORT_PAGE_TYPESET_HPP

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ulp {

// "2⁻¹⁰" of "2^-10", and "10¹³" of "10^13", wherever they stand in the text; a decimal point is raised too. Not in what may
// be copied to a command line: after '=' and in the value of an option.
[[nodiscard]] std::string typeset(std::string_view text);

// "2⁻¹⁴"
[[nodiscard]] std::string power_of_two(double exponent);
// "10⁻⁵"
[[nodiscard]] std::string power_of_ten(double exponent);

// Printable, and at most so many characters: of longer ones the beginning and the end, with "…" between.
[[nodiscard]] std::string elided(std::string_view name, std::size_t most);
// The same of names that stand below each other: what the long ones begin with alike is cut first, so that they differ.
[[nodiscard]] std::vector<std::string> elided(const std::vector<std::string>& names, std::size_t most);

}  // namespace ulp

#endif
