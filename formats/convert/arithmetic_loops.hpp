// Loops of arithmetic over blocks: numbers to the exact result rounded to odd, which float's or double's 24 or 53 bits hold.
// Whoever rounds that to at least two bits fewer has rounded the exact result (Boldo and Melquiond 2008).
#ifndef ULP_FORMATS_CONVERT_ARITHMETIC_LOOPS_HPP
#define ULP_FORMATS_CONVERT_ARITHMETIC_LOOPS_HPP

#include <array>
#include <cstddef>
#include <cstdint>

namespace ulp::detail {

enum class lane_operation : std::uint8_t {
  sum,
  exact_product,  // of operands whose products are all numbers of the lane
  product,
  quotient,
  root,
  exact_fma,   // of such products
  ranged_fma,  // of products that are, unless they overflow or underflow: those elements are left out
};
inline constexpr std::size_t lane_operation_count = 7;

// Where a code of 16 bits, infinity and NaN in its highest binade, has its fields as a float.
struct field_layout {
  std::uint32_t dropped = 0;        // fraction bits that floats have more
  std::uint32_t magnitude = 0;      // of the code shifted by as many bits
  std::uint32_t offset = 0;         // to float's exponents
  std::uint32_t smallest = 0;       // the smallest normal number, a float
  std::uint32_t infinity_code = 0;  // shifted too
};

struct arithmetic_call {
  std::array<const void*, 3> operands{};
  void* results = nullptr;
  std::size_t size = 0;
  bool negate_second = false;
  bool minus_zero = false;  // sums that cancel are -0
  std::array<field_layout, 3> fields{};
};
// Whether an operand or a result is no number, or an element was left out: then its result is infinite or NaN, and wrong.
// Of codes16, whatever the result is.
using arithmetic_loop = bool (*)(const arithmetic_call&);
using arithmetic_loops_of = std::array<arithmetic_loop, lane_operation_count>;

struct arithmetic_loops {
  arithmetic_loops_of floats;
  arithmetic_loops_of float16s;  // codes of float16
  arithmetic_loops_of halves;    // codes that are the upper halves of floats
  arithmetic_loops_of codes16;   // codes that have a field_layout
  arithmetic_loops_of doubles;
};

#if defined(__x86_64__)
extern const arithmetic_loops avx2_arithmetic;
#endif

}  // namespace ulp::detail

#endif
