// Pins the value type's own formulas to arithmetic.hpp: add and mul of bfloat16 and cbfloat16 for all 2^32 pairs
// (float16 has its own test), fma for all triples of two 8-bit formats and 2^26 of the formats of 16 and 19 bits.
#include <ulp/formats/number.hpp>

#include <cstdint>

#include "formats/operations.hpp"
#include "support/catch.hpp"

namespace {

using namespace ulp;
using namespace ulp::test;

template <class T>
T of(std::uint64_t code) {
  return T::from_code(static_cast<typename T::code_type>(code));
}

template <class T>
void expect_same(sweep& s, operation op, const codes& x, T got, const encoded& expected) {
  static constexpr ulp::format f = T::definition;
  s.expect(got.code() == expected.code, [&] {
    return describe(op, f, {f, f, f}, x, T::mode, encoded{got.code()}, expected);
  });
}

template <class T>
void all_pairs() {
  static constexpr ulp::format f = T::definition;
  const sweep_result all = on_all_processors(f.code_mask() + 1, [](sweep& s, std::uint64_t a) {
    for (std::uint64_t b = 0; b <= f.code_mask(); ++b) {
      expect_same<T>(s, operation::add, {a, b, 0}, of<T>(a) + of<T>(b), add(f, a, b, T::mode));
      expect_same<T>(s, operation::mul, {a, b, 0}, of<T>(a) * of<T>(b), mul(f, a, b, T::mode));
    }
  });
  CHECK(all.failures == "");
  CHECK(all.compared == std::uint64_t{1} << 33);
}

template <class T>
void all_triples() {
  static constexpr ulp::format f = T::definition;
  const sweep_result all = on_all_processors(f.code_mask() + 1, [](sweep& s, std::uint64_t a) {
    for (std::uint64_t b = 0; b <= f.code_mask(); ++b)
      for (std::uint64_t c = 0; c <= f.code_mask(); ++c)
        expect_same<T>(s, operation::fma, {a, b, c}, fma(of<T>(a), of<T>(b), of<T>(c)), ulp::fma(f, a, b, c, T::mode));
  });
  CHECK(all.failures == "");
  CHECK(all.compared == std::uint64_t{1} << 24);
}

template <class T>
void many_triples() {
  static constexpr ulp::format f = T::definition;
  const sweep_result all = on_all_processors(1 << 10, [](sweep& s, std::uint64_t block) {
    operand_source source{operation::fma, f, {f, f, f}, block};
    for (int i = 0; i < 1 << 16; ++i) {
      const codes x = source.next();
      expect_same<T>(s, operation::fma, x, fma(of<T>(x[0]), of<T>(x[1]), of<T>(x[2])),
                     ulp::fma(f, x[0], x[1], x[2], T::mode));
    }
  });
  CHECK(all.failures == "");
  CHECK(all.compared == std::uint64_t{1} << 26);
}

}  // namespace

TEST_CASE("bfloat16_t adds and multiplies as arithmetic.hpp") { all_pairs<bfloat16_t>(); }
TEST_CASE("cbfloat16_t adds and multiplies as arithmetic.hpp") { all_pairs<cbfloat16_t>(); }
TEST_CASE("8-bit value types fuse as arithmetic.hpp") {
  all_triples<float8_e4m3fn_t>();
  all_triples<float8_e5m2_t>();
}
TEST_CASE("16-bit value types fuse as arithmetic.hpp") {
  many_triples<float16_t>();
  many_triples<bfloat16_t>();
  many_triples<cbfloat16_t>();
  many_triples<tf32_t>();
}
