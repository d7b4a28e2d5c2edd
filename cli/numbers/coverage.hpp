// Which kinds of cases a file of test vectors comes to.
#ifndef ULP_CLI_COVERAGE_HPP
#define ULP_CLI_COVERAGE_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <ulp/formats/operation.hpp>

namespace ulp::cli {

// A line may be in several classes, or in none.
inline constexpr std::array<std::string_view, 14> coverage_classes{
    "exact",         "inexact",       "tie",          "subnormal result",  "rounded to zero",  "least normal",
    "largest",       "overflow",      "cancellation", "cancelled to zero", "infinite operand", "quiet NaN",
    "signaling NaN", "NaN of numbers"};

struct coverage {
  std::array<std::uint64_t, coverage_classes.size()> lines{};

  // `result` is the expected one, with inexact also of rounding to integers.
  void add(operation op, const format& to, const format& from, const operand_codes& operands, const rounding& mode,
           const encoded& result);
};

}  // namespace ulp::cli

#endif
