// Loops of arithmetic over tiles: numbers to the exact result rounded to odd, which float's or double's 24 or 53 bits hold.
// Whoever rounds that to at least two bits fewer has rounded the exact result (Boldo and Melquiond 2008).
#ifndef ULP_FORMATS_BULK_ARITHMETIC_LOOPS_HPP
#define ULP_FORMATS_BULK_ARITHMETIC_LOOPS_HPP

#include <array>
#include <cstddef>
#include <cstdint>

#include <ulp/formats/rounding.hpp>

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

// Codes of 16 bits as floats: shifted, they are the numbers divided by 2^scale, subnormal ones too.
struct code_grid {
  std::uint32_t dropped = 0;  // fraction bits that floats have more
  std::uint32_t scale = 0;
  std::uint32_t infinity_code = 0;
  std::array<std::uint32_t, 2> limit{};  // codes that results end at, by sign
};

struct arithmetic_call {
  std::array<const void*, 3> operands{};
  void* results = nullptr;
  std::size_t size = 0;
  bool negate_second = false;
  bool minus_zero = false;  // sums that cancel are -0
  direction way{};          // of native loops
  code_grid grid{};         // of loops of codes
};
// Whether an operand or a result is no number, or an element was left out: then its result is infinite or NaN, and wrong.
using arithmetic_loop = bool (*)(const arithmetic_call&);
using arithmetic_loops_of = std::array<arithmetic_loop, lane_operation_count>;

// From codes of one format to codes of it, by deterministic direction. nullptr where there is none. They return the same, and
// their results are undefined.
using code_loops_of = std::array<arithmetic_loops_of, 6>;
struct code_loops {
  code_loops_of float16s;
  code_loops_of bfloat16s;
  code_loops_of others;  // that have a code_grid
};

struct arithmetic_loops {
  arithmetic_loops_of floats;
  arithmetic_loops_of float16s;  // from codes of float16
  arithmetic_loops_of halves;    // from codes that are the upper halves of floats
  arithmetic_loops_of doubles;
  arithmetic_loops_of native;  // floats rounded by the processor, in a direction that it has
  const code_loops& codes;
};

#if defined(__x86_64__)
extern const code_loops avx2_code_arithmetic;
extern const arithmetic_loops avx2_arithmetic;
extern const code_loops avx512_code_arithmetic;
extern const arithmetic_loops avx512_arithmetic;
#endif

}  // namespace ulp::detail

#endif
