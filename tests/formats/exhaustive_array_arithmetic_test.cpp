// Pins sums and products of arrays to arithmetic.hpp: of all 2^32 pairs of float16 codes to nearest even, and in every
// deterministic rounding, quotients too, of every 61st pair of float16, bfloat16 and cbfloat16 codes.
#include <array>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include <ulp/formats/array_arithmetic.hpp>

#include "formats/array_arithmetic.hpp"
#include "support/catch.hpp"

namespace {

using namespace ulp;
using namespace ulp::test;

constexpr std::size_t all_codes = 65536;

template <operation Op>
std::uint64_t code_of(const format& in, const unpacked& a, const unpacked& b, const rounding& mode) {
  if constexpr (Op == operation::add) return add(in, a, b, mode).code;
  if constexpr (Op == operation::mul) return mul(in, a, b, mode).code;
  return div(in, a, b, mode).code;
}

// Every code with every `stride`th one.
template <operation Op>
sweep_result compare_pairs(const format& in, const rounding& mode, std::size_t stride) {
  return on_all_processors(all_codes, [&](sweep& s, std::uint64_t i) {
    const std::array<std::uint16_t, 1> a{static_cast<std::uint16_t>(i)};
    std::vector<std::uint16_t> b;
    for (std::size_t code = i % stride; code < all_codes; code += stride) b.push_back(static_cast<std::uint16_t>(code));
    std::vector<std::uint16_t> got(b.size());
    compute_array(Op, in, got, {array_operand{in, a}, {in, b}, {in, b}}, {.rounding = mode, .threads = 1});
    const unpacked x = decode(in, a[0]);
    for (std::size_t k = 0; k < b.size(); ++k) {
      const std::uint64_t expected = code_of<Op>(in, x, decode(in, b[k]), mode);
      s.expect(got[k] == expected, [&] {
        return describe(Op, in, {in, in, in}, {a[0], b[k], 0}, mode, encoded{got[k]}, encoded{expected});
      });
    }
  });
}

}  // namespace

TEST_CASE("arrays of all pairs of float16 codes, to nearest even") {
  const sweep_result sums = compare_pairs<operation::add>(float16, {}, 1);
  CHECK(sums.failures == "");
  CHECK(sums.compared == std::uint64_t{1} << 32);
  const sweep_result products = compare_pairs<operation::mul>(float16, {}, 1);
  CHECK(products.failures == "");
  CHECK(products.compared == std::uint64_t{1} << 32);
}

TEST_CASE("arrays of every 61st pair of 16-bit codes, in every deterministic rounding") {
  for (const format& in : {float16, bfloat16, cbfloat16})
    for (const direction way : deterministic) {
      const rounding mode{.direction = way};
      INFO(describe(in) << ' ' << describe(mode));
      CHECK(compare_pairs<operation::add>(in, mode, 61).failures == "");
      CHECK(compare_pairs<operation::mul>(in, mode, 61).failures == "");
      CHECK(compare_pairs<operation::div>(in, mode, 61).failures == "");
    }
}
