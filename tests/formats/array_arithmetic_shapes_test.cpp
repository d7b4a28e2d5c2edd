// Pins arithmetic of arrays in pieces, on threads, in place, with one operand for all, in elements of every width, and
// whatever the processor's floating-point state is.
#include <cfenv>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include <ulp/formats/array_arithmetic.hpp>

#include "formats/array_arithmetic.hpp"
#include "support/catch.hpp"

namespace {

using namespace ulp;
using namespace ulp::test;

// Tuples for which something happens, specials among them.
std::vector<codes> tuples(operation op, const format& to, const operand_formats& from, std::size_t n) {
  operand_source source{op, to, from, 99};
  std::vector<codes> all;
  for (std::size_t i = 0; i < n; ++i) all.push_back(source.next());
  return all;
}

struct mix {
  format to;
  operand_formats from;
};
// By every path there is: float16's instructions, other codes of 16 bits, floats, the processor's own, doubles, singly.
std::vector<mix> mixes() {
  return {{float16, {float16, float16, float16}},
          {bfloat16, {bfloat16, bfloat16, bfloat16}},
          {cbfloat16, {cbfloat16, cbfloat16, cbfloat16}},
          {float8_e4m3fn, {float8_e4m3fn, float8_e4m3fn, float8_e4m3fn}},
          {binary32, {float16, float16, binary32}},
          {bfloat16, {binary32, binary32, binary32}},
          {ieee_format(11, 20), {ieee_format(11, 20), ieee_format(11, 20), binary32}}};
}

std::vector<rounding> modes() {
  return {{},
          {.direction = direction::toward_negative},
          {.direction = direction::to_odd, .overflow = overflow_mode::saturate, .daz = true},
          {.direction = direction::stochastic, .random_bits = 8}};
}

code_span part(code_span all, std::size_t first, std::size_t n) {
  switch (all.bytes()) {
    case 1: return std::span{static_cast<std::uint8_t*>(all.data()) + first, n};
    case 2: return std::span{static_cast<std::uint16_t*>(all.data()) + first, n};
    default: return std::span{static_cast<std::uint32_t*>(all.data()) + first, n};
  }
}
const_code_span part(const_code_span all, std::size_t first, std::size_t n) {
  switch (all.bytes()) {
    case 1: return std::span{static_cast<const std::uint8_t*>(all.data()) + first, n};
    case 2: return std::span{static_cast<const std::uint16_t*>(all.data()) + first, n};
    default: return std::span{static_cast<const std::uint32_t*>(all.data()) + first, n};
  }
}

std::uint64_t differences(const code_array& got, const std::vector<std::uint32_t>& expected) {
  std::uint64_t n = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) n += got[i] != expected[i] ? 1 : 0;
  return n;
}

}  // namespace

TEST_CASE("arithmetic in pieces of any size, at any place, writes these and nothing else") {
  constexpr std::size_t size = 2100;
  for (const mix& m : mixes())
    for (const operation op : array_operations)
      for (const rounding& mode : modes()) {
        const operand_arrays x{m.from, tuples(op, m.to, m.from, size)};
        const array_rounding how{.rounding = mode, .random = {.seed = 3, .first = 12345}};
        const auto expected = by_arithmetic(op, m.to, x, how);
        for (const std::string_view target : targets()) {
          const forced_target forced{target};
          for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{1025}, size}) {
            // Pieces begin at odd places of arrays that are not aligned.
            code_array out{code_array::bytes_for(m.to), size + 2};
            for (std::size_t i = 0; i < size + 2; ++i) out.set(i, 0x55);
            const std::size_t last = piece < 7 ? 40 : piece < 1024 ? 700 : size;
            for (std::size_t at = 0; at < last; at += piece) {
              const std::size_t n = std::min(piece, last - at);
              auto operands = x.operands();
              for (array_operand& o : operands) o.codes = part(o.codes, at, n);
              array_rounding here = how;
              here.random.first += at;
              compute_array(op, m.to, part(out.span(), at + 1, n), operands, here);
            }
            std::uint64_t wrong = (out[0] != 0x55 ? 1 : 0) + (out[last + 1] != 0x55 ? 1 : 0);
            for (std::size_t i = 0; i < last; ++i) wrong += out[i + 1] != expected[i] ? 1 : 0;
            INFO(describe(m.to) << ' ' << to_string(op) << ' ' << describe(mode) << ' ' << target << ' ' << piece);
            CHECK(wrong == 0);
          }
        }
      }
}

TEST_CASE("arithmetic on several threads gives what one gives") {
  constexpr std::size_t size = (std::size_t{1} << 19) + 5;
  const format in = cbfloat16;
  for (const operation op : {operation::add, operation::fma})
    for (const rounding& mode : modes()) {
      const operand_arrays x{{in, in, in}, tuples(op, in, {in, in, in}, size)};
      code_array one{2, size};
      code_array two{2, size};
      compute_array(op, in, one.span(), x.operands(), {.rounding = mode, .threads = 1});
      compute_array(op, in, two.span(), x.operands(), {.rounding = mode, .threads = 2});
      CHECK((one == two));
      CHECK(one[size - 1] == by_arithmetic(op, in, x, size - 1, {.rounding = mode}));
    }
}

TEST_CASE("results over an operand") {
  constexpr std::size_t size = 2100;
  for (const mix& m : mixes())
    for (const operation op : array_operations)
      for (const rounding& mode : modes()) {
        const operand_arrays x{m.from, tuples(op, m.to, m.from, size)};
        const auto expected = by_arithmetic(op, m.to, x, {.rounding = mode});
        for (const std::string_view target : targets()) {
          const forced_target forced{target};
          for (std::size_t j = 0; j < static_cast<std::size_t>(operand_count(op)); ++j) {
            operand_arrays over = x;
            if (over.codes[j].view().bytes() != code_array::bytes_for(m.to)) continue;
            compute_array(op, m.to, over.codes[j].span(), over.operands(), {.rounding = mode});
            INFO(describe(m.to) << ' ' << to_string(op) << ' ' << describe(mode) << ' ' << target << ' ' << j);
            CHECK(differences(over.codes[j], expected) == 0);
          }
        }
      }
}

TEST_CASE("an operand of one element goes with all of the others") {
  constexpr std::size_t size = 1500;
  for (const mix& m : mixes())
    for (const operation op : array_operations)
      for (std::size_t j = 0; j < static_cast<std::size_t>(operand_count(op)); ++j) {
        std::vector<codes> all = tuples(op, m.to, m.from, size);
        for (codes& x : all) x[j] = all[0][j];
        const operand_arrays x{m.from, all};
        const auto expected = by_arithmetic(op, m.to, x, {});
        for (const std::string_view target : targets()) {
          const forced_target forced{target};
          code_array out{code_array::bytes_for(m.to), size};
          auto operands = x.operands();
          operands[j].codes = part(operands[j].codes, 0, 1);
          if (operand_count(op) == 1) continue;
          compute_array(op, m.to, out.span(), operands, {});
          INFO(describe(m.to) << ' ' << to_string(op) << ' ' << target << ' ' << j);
          CHECK(differences(out, expected) == 0);
        }
      }
  // One result of one element; none; all results of one element.
  std::vector<std::uint16_t> one{0x3C00};
  add_array(float16, one, {float16, one}, {float16, one});
  CHECK(one[0] == 0x4000);
  add_array(float16, std::span<std::uint16_t>{}, {float16, one}, {float16, one});
  std::vector<std::uint16_t> many(100);
  add_array(float16, many, {float16, one}, {float16, one});
  CHECK(many == std::vector<std::uint16_t>(100, 0x4400));
}

TEST_CASE("arithmetic in elements that are wider than codes, and of two codes to a byte") {
  constexpr std::size_t size = 1501;
  const auto check = [&](const format& f, operation op, int bytes) {
    const operand_arrays x{{f, f, f}, tuples(op, f, {f, f, f}, size)};
    const auto expected = by_arithmetic(op, f, x, {});
    for (const std::string_view target : targets()) {
      const forced_target forced{target};
      std::array<code_array, 3> in{code_array{bytes, size}, code_array{bytes, size}, code_array{bytes, size}};
      for (std::size_t i = 0; i < size; ++i)
        for (std::size_t j = 0; j < 3; ++j) in[j].set(i, x.codes[j][i]);
      code_array out{bytes, size};
      compute_array(op, f, out.span(), {array_operand{f, in[0].view()}, {f, in[1].view()}, {f, in[2].view()}}, {});
      INFO(describe(f) << ' ' << to_string(op) << ' ' << bytes << ' ' << target);
      CHECK(differences(out, expected) == 0);
      // In place, and with one operand for all.
      const code_array first = in[0];
      compute_array(op, f, in[0].span(), {array_operand{f, in[0].view()}, {f, in[1].view()}, {f, in[2].view()}}, {});
      CHECK((in[0] == out));
      code_array single{bytes, 1};
      single.set(0, first[5]);
      code_array same{bytes, size};
      for (std::size_t i = 0; i < size; ++i) same.set(i, first[5]);
      if (op == operation::sqrt) continue;
      code_array of_same{bytes, size};
      compute_array(op, f, out.span(), {array_operand{f, single.view()}, {f, in[1].view()}, {f, in[2].view()}}, {});
      compute_array(op, f, of_same.span(), {array_operand{f, same.view()}, {f, in[1].view()}, {f, in[2].view()}}, {});
      CHECK((out == of_same));
    }
  };
  for (const operation op : array_operations) {
    check(float16, op, 4);
    check(bfloat16, op, 4);
    check(float8_e5m2, op, 2);
    check(float8_e5m2, op, 4);
    check(float4_e2m1, op, 0);
    check(float4_e2m1, op, 1);
    check(float6_e2m3, op, 2);
  }
}

TEST_CASE("what arithmetic of arrays refuses, and says why") {
  std::vector<std::uint16_t> a(3);
  std::vector<std::uint16_t> two(2);
  std::vector<std::uint8_t> narrow(3);
  const array_operand x{float16, a};
  CHECK_THROWS_AS(add_array(float16, a, x, {float16, two}), std::invalid_argument);
  CHECK_THROWS_AS(add_array(float16, two, x, x), std::invalid_argument);
  CHECK_THROWS_AS(sub_array(float16, narrow, x, x), std::invalid_argument);
  CHECK_THROWS_AS(mul_array(float16, a, {float16, narrow}, x), std::invalid_argument);
  CHECK_THROWS_AS(div_array(binary64, a, x, x), std::invalid_argument);
  CHECK_THROWS_AS(sqrt_array(float16, a, {binary32, a}), std::invalid_argument);
  CHECK_THROWS_AS(fma_array(float16, a, x, x, {ulp::format{.exponent_bits = 1}, a}), std::invalid_argument);
  rounding wrong;
  wrong.random_bits = 33;
  CHECK_THROWS_AS(add_array(float16, a, x, x, {.rounding = wrong}), std::invalid_argument);
  std::string refusal;
  try {
    add_array(float16, a, x, {float16, two});
  } catch (const std::invalid_argument& e) {
    refusal = e.what();
  }
  CHECK(refusal == "ulp::array_arithmetic: 2 operands for 3 results");
}

namespace {

std::vector<std::uint32_t> compute_all(const std::vector<codes>& all, std::string_view target) {
  const forced_target forced{target};
  std::vector<std::uint32_t> results;
  for (const mix& m : mixes()) {
    std::vector<codes> masked = all;
    for (codes& x : masked)
      for (std::size_t j = 0; j < 3; ++j) x[j] &= m.from[j].code_mask();
    const operand_arrays x{m.from, masked};
    for (const operation op : array_operations)
      for (const rounding& mode : modes()) {
        code_array out{code_array::bytes_for(m.to), x.size()};
        compute_array(op, m.to, out.span(), x.operands(), {.rounding = mode});
        for (std::size_t i = 0; i < x.size(); ++i) results.push_back(out[i]);
      }
  }
  return results;
}

// Called through a pointer that compilers cannot see through, so that nothing moves across the change of state.
std::vector<std::uint32_t> (*volatile const compute)(const std::vector<codes>&, std::string_view) = compute_all;

std::vector<codes> some_codes() {
  sequence random{4711};
  std::vector<codes> all;
  for (int i = 0; i < 600; ++i) all.push_back({random.next(), random.next(), random.next()});
  // Subnormal numbers of 16 bits, whose results are.
  for (int i = 0; i < 600; ++i) all.push_back({random.next() & 0x83FF, random.next() & 0x8FFF, random.next() & 0x803F});
  return all;
}

}  // namespace

#if defined(__SSE2__)
TEST_CASE("arithmetic of arrays does not depend on the control register, and leaves it as it was") {
  const std::vector<codes> all = some_codes();
  const unsigned initial = _mm_getcsr();
  std::vector<std::uint32_t> first;
  for (const std::string_view target : targets()) {
    const auto expected = compute(all, target);
    if (first.empty()) first = expected;
    CHECK((expected == first));
    for (const unsigned way : {0u, 1u, 2u, 3u})
      for (const unsigned masked : {0x1F80u, 0u}) {
        // Flushing to zero, denormals as zero, maybe no exception masked, and no flag raised.
        const unsigned state = (initial & ~0x7FBFu) | way << 13 | 0x8040u | masked;
        _mm_setcsr(state);
        const auto got = compute(all, target);
        const unsigned after = _mm_getcsr();
        _mm_setcsr(initial);
        INFO(target << " way " << way << " masked " << masked);
        CHECK((got == expected));
        CHECK(after == state);
      }
  }
}
#else
TEST_CASE("arithmetic of arrays does not depend on the rounding direction, and leaves it and the flags as they were") {
  const std::vector<codes> all = some_codes();
  for (const std::string_view target : targets()) {
    const auto expected = compute(all, target);
    for (const int way : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
      std::fesetround(way);
      std::feclearexcept(FE_ALL_EXCEPT);
      const auto got = compute(all, target);
      const int after = std::fegetround();
      const int raised = std::fetestexcept(FE_ALL_EXCEPT);
      std::fesetround(FE_TONEAREST);
      INFO(target << " way " << way);
      CHECK((got == expected));
      CHECK(after == way);
      CHECK(raised == 0);
    }
  }
}
#endif
