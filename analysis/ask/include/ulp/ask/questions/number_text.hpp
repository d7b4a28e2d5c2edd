// Numbers in sentences.
#ifndef ULP_ASK_QUESTIONS_NUMBER_TEXT_HPP
#define ULP_ASK_QUESTIONS_NUMBER_TEXT_HPP

#include <cstdint>
#include <string>
#include <string_view>

namespace ulp {

// Shortest round-trip decimal: "65536", "6.103515625e-05", "inf", "nan".
[[nodiscard]] std::string shortest(double x);
// 1234567 as "1,234,567".
[[nodiscard]] std::string grouped(std::uint64_t n);
// "1 step", "1,234 steps".
[[nodiscard]] std::string count_text(std::uint64_t n, std::string_view noun);

}  // namespace ulp

#endif
