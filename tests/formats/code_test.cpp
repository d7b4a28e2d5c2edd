// Pins code.hpp: what takes a code takes every integer and no value, whatever the function. At compile time.
#include <ulp/formats/code.hpp>

#include <cstdint>
#include <type_traits>

#include <ulp/formats/arithmetic.hpp>
#include <ulp/formats/catalog.hpp>
#include <ulp/formats/check.hpp>
#include <ulp/formats/neighbours.hpp>
#include <ulp/formats/number.hpp>
#include <ulp/formats/text.hpp>

using namespace ulp;

namespace {

template <class A>
concept is_code = requires(A a) {
  decode(float16, a);
  to_float(float16, a);
  to_double(float16, a);
  add(float16, a, a);
  sub(float16, a, a);
  mul(float16, a, a);
  div(float16, a, a);
  rem(float16, a, a);
  sqrt(float16, a);
  fma(float16, a, a, a);
  convert(float16, bfloat16, a);
  to_integer<std::int32_t>(float16, a);
  compare_quiet(float16, a, a);
  compare_signaling(float16, a, a);
  next_up(float16, a);
  next_down(float16, a);
  ulp_distance(float16, a, a);
  shortest_decimal(float16, a);
  same_result(float16, a, a);
  float16_t::from_code(a);
};
template <class A>
concept is_no_code = !requires(A a) {
  decode(float16, a);
}
&&!requires(A a) { to_float(float16, a); }
&&!requires(A a) { to_double(float16, a); }
&&!requires(A a) { add(float16, 1, a); }
&&!requires(A a) { sub(float16, a, 1); }
&&!requires(A a) { mul(float16, a, a); }
&&!requires(A a) { div(float16, a, 1); }
&&!requires(A a) { rem(float16, 1, a); }
&&!requires(A a) { sqrt(float16, a); }
&&!requires(A a) { fma(float16, 1, 1, a); }
&&!requires(A a) { convert(float16, bfloat16, a); }
&&!requires(A a) { to_integer<std::int64_t>(float16, a); }
&&!requires(A a) { compare_quiet(float16, 1, a); }
&&!requires(A a) { compare_signaling(float16, a, 1); }
&&!requires(A a) { next_up(float16, a); }
&&!requires(A a) { next_down(float16, a); }
&&!requires(A a) { ulp_distance(float16, 1, a); }
&&!requires(A a) { shortest_decimal(float16, a); }
&&!requires(A a) { same_result(float16, 1, a); }
&&!requires(A a) { float16_t::from_code(a); };

static_assert(is_code<int> && is_code<unsigned> && is_code<std::int8_t> && is_code<std::uint8_t> &&
              is_code<std::uint16_t> && is_code<std::uint64_t> && is_code<long long> && is_code<code>);
static_assert(is_no_code<float> && is_no_code<double> && is_no_code<long double> && is_no_code<bool> &&
              is_no_code<float16_t> && is_no_code<encoded>);
static_assert(std::is_trivially_copyable_v<code> && sizeof(code) == 8);
static_assert(code{std::int8_t{-1}} == 0xFFFF'FFFF'FFFF'FFFF);
static_assert(to_double(float16, std::int16_t{-32768 + 0x3C00}) == -1);

}  // namespace
