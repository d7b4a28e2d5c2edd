// Arithmetic of arrays, bit for bit as arithmetic.hpp's add, sub, mul, div, sqrt and fma of their elements, many times
// faster.
//
//   std::vector<std::uint16_t> a, b;
//   std::vector<std::uint32_t> sums;
//   ulp::fma_array(ulp::binary32, sums, {ulp::float16, a}, {ulp::float16, b}, {ulp::binary32, sums});
//   ulp::add_array(ulp::cbfloat16, a, {ulp::cbfloat16, a}, {ulp::cbfloat16, b}, {.rounding = mode});
//
// Each result is the exact one, rounded once: any valid formats whose codes are as wide as an element or narrower, any mix
// of them, any valid rounding. An operand of one element goes with every element of the others. NaN, infinity and
// division by zero give what arithmetic.hpp says; flags are not kept. Nothing is written beyond the output, bits of an
// element above the code are zero. The result depends on the arguments alone: not on threads, the processor or its
// floating-point state, which is left as it was. The output may be one of the operands where their elements are of one
// size, and must not overlap them otherwise. Nothing is allocated for the elements.
// Throws std::invalid_argument, before anything is written, where sizes differ, a format is not valid or too wide, or the
// rounding is not valid.
#ifndef ULP_FORMATS_ARRAY_ARITHMETIC_HPP
#define ULP_FORMATS_ARRAY_ARITHMETIC_HPP

#include <ulp/formats/convert.hpp>
#include <ulp/formats/format.hpp>
#include <ulp/formats/rounding.hpp>

namespace ulp {

// Codes of a format, as many as there are results, or one.
struct array_operand {
  ulp::format format;
  const_code_span codes;
};

struct array_rounding {
  ulp::rounding rounding{};
  random_stream random{};  // read by direction::stochastic only; element i takes what it takes in a conversion
  unsigned threads = 0;    // at most; 0: one for each processor. Short arrays take one
};

// a + b, a - b, a * b, a / b, the square root of a, and a * b + c.
void add_array(const format& to, code_span out, const array_operand& a, const array_operand& b,
               const array_rounding& how = {});
void sub_array(const format& to, code_span out, const array_operand& a, const array_operand& b,
               const array_rounding& how = {});
void mul_array(const format& to, code_span out, const array_operand& a, const array_operand& b,
               const array_rounding& how = {});
void div_array(const format& to, code_span out, const array_operand& a, const array_operand& b,
               const array_rounding& how = {});
void sqrt_array(const format& to, code_span out, const array_operand& a, const array_rounding& how = {});
void fma_array(const format& to, code_span out, const array_operand& a, const array_operand& b, const array_operand& c,
               const array_rounding& how = {});

}  // namespace ulp

#endif
