// Pins sums and products of arrays, of all 2^32 pairs of float16 codes to nearest even, to the value type, which another
// test pins to arithmetic.hpp for all of them; and to arithmetic.hpp in every deterministic rounding, quotients too, of every
// 127th pair of float16, bfloat16 and cbfloat16 codes.
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include <ulp/formats/array_arithmetic.hpp>
#include <ulp/formats/number.hpp>

#include "formats/array_arithmetic.hpp"
#include "support/catch.hpp"

namespace {

using namespace ulp;
using namespace ulp::test;

constexpr std::size_t all_codes = 65536;

struct by_arithmetic_header {
  format in;
  rounding mode;

  template <operation Op>
  [[nodiscard]] std::uint64_t code(std::uint64_t a, std::uint64_t b) const {
    if constexpr (Op == operation::add) return add(in, a, b, mode).code;
    if constexpr (Op == operation::mul) return mul(in, a, b, mode).code;
    return div(in, a, b, mode).code;
  }
};
struct by_value_type {
  static constexpr format in = float16;
  static constexpr rounding mode{};

  template <operation Op>
  [[nodiscard]] std::uint64_t code(std::uint64_t a, std::uint64_t b) const {
    const auto x = float16_t::from_code(a);
    const auto y = float16_t::from_code(b);
    return (Op == operation::add ? x + y : x * y).code();
  }
};

// Every code with every `stride`th one.
template <operation Op, class Expected>
sweep_result compare_pairs(const Expected& expected_of, std::size_t stride) {
  const format in = expected_of.in;
  const rounding mode = expected_of.mode;
  return on_all_processors(all_codes, [&](sweep& s, std::uint64_t i) {
    const std::array<std::uint16_t, 1> a{static_cast<std::uint16_t>(i)};
    std::vector<std::uint16_t> b;
    for (std::size_t code = i % stride; code < all_codes; code += stride) b.push_back(static_cast<std::uint16_t>(code));
    std::vector<std::uint16_t> got(b.size());
    compute_array(Op, in, got, {array_operand{in, a}, {in, b}, {in, b}}, {.rounding = mode, .threads = 1});
    std::vector<std::uint16_t> expected(b.size());
    for (std::size_t k = 0; k < b.size(); ++k)
      expected[k] = static_cast<std::uint16_t>(expected_of.template code<Op>(i, b[k]));
    // One comparison for all, most of which agree.
    s.expect(got == expected, [&] {
      const auto k = static_cast<std::size_t>(std::ranges::mismatch(got, expected).in1 - got.begin());
      return describe(Op, in, {in, in, in}, {a[0], b[k], 0}, mode, encoded{got[k]}, encoded{expected[k]});
    });
  });
}

}  // namespace

TEST_CASE("arrays of all pairs of float16 codes, to nearest even") {
  const sweep_result sums = compare_pairs<operation::add>(by_value_type{}, 1);
  CHECK(sums.failures == "");
  CHECK(sums.compared == all_codes);
  const sweep_result products = compare_pairs<operation::mul>(by_value_type{}, 1);
  CHECK(products.failures == "");
  CHECK(products.compared == all_codes);
}

TEST_CASE("arrays of every 127th pair of 16-bit codes, in every deterministic rounding") {
  for (const format& in : {float16, bfloat16, cbfloat16})
    for (const direction way : deterministic) {
      const rounding mode{.direction = way};
      INFO(describe(in) << ' ' << describe(mode));
      CHECK(compare_pairs<operation::add>(by_arithmetic_header{in, mode}, 127).failures == "");
      CHECK(compare_pairs<operation::mul>(by_arithmetic_header{in, mode}, 127).failures == "");
      CHECK(compare_pairs<operation::div>(by_arithmetic_header{in, mode}, 127).failures == "");
    }
}
