// The IEEE 754-2019 clause 7 exceptions of one operation, returned with its result; there is no global state.
#ifndef ULP_FORMATS_STATUS_HPP
#define ULP_FORMATS_STATUS_HPP

#include <cstdint>

namespace ulp {

// A set of flags. The bit values are those of Berkeley TestFloat's output lines.
enum class status : std::uint8_t {
  none = 0,
  inexact = 1,         // the delivered result differs from the exact one
  underflow = 2,       // tiny and inexact (7.5, default handling); what is tiny is rounding::tininess
  overflow = 4,        // the result rounded with unbounded exponent exceeds the largest finite number (7.4)
  divide_by_zero = 8,  // an exact infinite result from finite operands (7.3)
  invalid = 16,        // a signaling NaN, or no usefully definable result (7.2)
};

[[nodiscard]] constexpr status operator|(status a, status b) noexcept {
  return static_cast<status>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr status& operator|=(status& a, status b) noexcept { return a = a | b; }

// True when any flag of `asked` is raised in `raised`.
[[nodiscard]] constexpr bool any(status raised, status asked) noexcept {
  return (static_cast<unsigned>(raised) & static_cast<unsigned>(asked)) != 0;
}

}  // namespace ulp

#endif
