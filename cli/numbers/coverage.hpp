// Which kinds of cases a file of test vectors comes to.
#ifndef ULP_CLI_COVERAGE_HPP
#define ULP_CLI_COVERAGE_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <ulp/formats/operation.hpp>

namespace ulp::cli {

struct coverage_class {
  std::string_view name;
  std::string_view noun;  // of one case
  std::string_view plural;
};

// A line may be in several classes, or in none.
inline constexpr std::array<coverage_class, 14> coverage_classes{
    {{"exact", "exact result", "exact results"},
     {"inexact", "inexact result", "inexact results"},
     {"tie", "tie", "ties"},
     {"subnormal result", "subnormal result", "subnormal results"},
     {"rounded to zero", "result rounded to zero", "results rounded to zero"},
     {"least normal", "result rounded up to the least normal", "results rounded up to the least normal"},
     {"largest", "result that is the largest number", "results that are the largest number"},
     {"overflow", "overflow", "overflows"},
     {"cancellation", "cancellation", "cancellations"},
     {"cancelled to zero", "sum cancelled to zero", "sums cancelled to zero"},
     {"infinite operand", "line of infinite operands", "lines of infinite operands"},
     {"quiet NaN", "line of quiet NaNs", "lines of quiet NaNs"},
     {"signaling NaN", "line of signaling NaNs", "lines of signaling NaNs"},
     {"NaN of numbers", "NaN of numbers", "NaNs of numbers"}}};

// Bit i is coverage_classes[i].
using class_set = std::uint32_t;

// `result` is the expected one, with inexact also of rounding to integers.
[[nodiscard]] class_set classes_of(operation op, const format& to, const format& from, const operand_codes& operands,
                                   const rounding& mode, const encoded& result);

struct coverage {
  std::array<std::uint64_t, coverage_classes.size()> lines{};

  void add(class_set classes) {
    for (std::size_t i = 0; i < lines.size(); ++i) lines[i] += classes >> i & 1;
  }
};

}  // namespace ulp::cli

#endif
