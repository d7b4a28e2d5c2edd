// Pins the value type's own formulas to arithmetic.hpp: all floats converted, add and mul of bfloat16 and cbfloat16 for all
// 2^32 pairs (float16 has its own test), div for all of cbfloat16 and every 7th of float16 and bfloat16, fma for all triples of two 8-bit formats and 2^26 of the formats of 16 and 19 bits.
#include <ulp/formats/number.hpp>

#include <bit>
#include <cstdint>
#include <string>

#include "formats/exhaustive.hpp"
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
void quotients(std::uint64_t stride) {
  static constexpr ulp::format f = T::definition;
  const sweep_result all = on_all_processors(f.code_mask() + 1, [stride](sweep& s, std::uint64_t a) {
    for (std::uint64_t b = a % stride; b <= f.code_mask(); b += stride)
      expect_same<T>(s, operation::div, {a, b, 0}, of<T>(a) / of<T>(b), div(f, a, b, T::mode));
  });
  CHECK(all.failures == "");
}

template <class T>
void all_floats() {
  static constexpr ulp::format f = T::definition;
  const std::string failures = over_all_floats([](sweep& s, std::uint32_t first, std::uint32_t last) {
    for (std::uint64_t bits = first; bits <= last; ++bits) {
      const auto x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
      const encoded expected = encode(f, x, T::mode);
      s.expect(T(x).code() == expected.code,
               [&] { return describe(encoded{bits}) + ": " + describe(encoded{T(x).code()}); });
    }
  });
  CHECK(failures == "");
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
TEST_CASE("16-bit value types divide as arithmetic.hpp") {
  quotients<cbfloat16_t>(1);
  quotients<float16_t>(7);
  quotients<bfloat16_t>(7);
}
TEST_CASE("all floats become what encode makes of them") {
  all_floats<float16_t>();
  all_floats<bfloat16_t>();
  all_floats<cbfloat16_t>();
  all_floats<float8_e4m3fn_t>();
}
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
