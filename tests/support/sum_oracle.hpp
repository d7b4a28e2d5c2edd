// Sums and dot products by definition, one step at a time on whole numbers of any length, sharing nothing with the library
// but the meaning of its parameters; every rounding is the oracle's. Slow: microseconds for each step.
#ifndef ULP_TESTS_SUPPORT_SUM_ORACLE_HPP
#define ULP_TESTS_SUPPORT_SUM_ORACLE_HPP

#include <cstdint>
#include <vector>

#include <ulp/formats/codec.hpp>
#include <ulp/formats/dot.hpp>
#include <ulp/formats/format.hpp>
#include <ulp/formats/rounding.hpp>

namespace ulp::test {

struct coded {
  format of;
  std::uint64_t code = 0;
};

// c and the codes of one format each; without b, the sum of a.
struct sum_operands {
  coded c{binary32, 0};
  format a_format;
  std::vector<std::uint32_t> a;
  format b_format;
  std::vector<std::uint32_t> b;
};

// What exact_dot or exact_sum have to return.
[[nodiscard]] encoded oracle_exact(const format& to, const sum_operands& x, const rounding& mode = {},
                                   random_input random = {});
// What dot or sum have to. Stochastic rounding with 1 to 32 bits only.
[[nodiscard]] accumulated oracle_accumulate(const sum_operands& x, const accumulation& how);

}  // namespace ulp::test

#endif
