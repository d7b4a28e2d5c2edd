// Pins what is published about sums and updates in few bits: where sums stop growing, which updates are lost, which
// means do not decay. The sources name the formats and the numbers; every step is one operation of arithmetic.hpp.
#include <array>
#include <cmath>
#include <cstdint>

#include <ulp/formats/arithmetic.hpp>
#include <ulp/formats/catalog.hpp>

#include "support/catch.hpp"

namespace {

using namespace ulp;

std::uint64_t code_of(const format& f, double x) { return encode(f, x).code; }

struct stalled_sum {
  double sum = 0;
  int first_lost = 0;  // the first term that changes nothing
};

stalled_sum harmonic(const format& f) {
  const std::uint64_t one = code_of(f, 1);
  std::uint64_t sum = 0;
  for (int i = 1;; ++i) {
    const std::uint64_t next = add(f, sum, div(f, one, from_integer(f, i).code).code).code;
    if (next == sum) return {to_double(f, sum), i};
    sum = next;
  }
}

double sum_of_equal_terms(const format& f, double term) {
  std::uint64_t sum = 0;
  for (;;) {
    const std::uint64_t next = add(f, sum, code_of(f, term)).code;
    if (next == sum) return to_double(f, sum);
    sum = next;
  }
}

// How many significands of a binade beta * v leaves as they are, rounded once. beta is a float: 0.998 as a double lies
// below the decimal, which makes 250 / 256 * 0.998 less than the tie that it is.
int stuck(const format& f, float beta) {
  int n = 0;
  const std::uint64_t one = code_of(f, 1);
  for (std::uint64_t v = one; v < one + (std::uint64_t{1} << f.fraction_bits); ++v)
    if (mul(f, decode(beta), decode(f, v)).code == v) ++n;
  return n;
}

int half_life(const format& f, double beta) {
  std::uint64_t v = code_of(f, 1);
  int steps = 0;
  for (; to_double(f, v) > 0.5; ++steps) v = mul(f, decode(beta), decode(f, v)).code;
  return steps;
}

}  // namespace

// N. J. Higham's harmonic series, terms and sums rounded to nearest even. The numbers of float16 and bfloat16 are
// published (chop, demo_harmonic.m); those of cbfloat16 and float8_e5m2 follow by the same definition.
TEST_CASE("where the harmonic series stops") {
  CHECK(harmonic(float16).sum == 7.0859375);
  CHECK(harmonic(float16).first_lost == 513);
  CHECK(harmonic(bfloat16).sum == 5.0625);
  CHECK(harmonic(bfloat16).first_lost == 65);
  CHECK(harmonic(cbfloat16).sum == 6.40625);
  CHECK(harmonic(cbfloat16).first_lost == 257);
  CHECK(harmonic(float8_e5m2).sum == 2.0);
  CHECK(harmonic(float8_e5m2).first_lost == 5);
}

TEST_CASE("adding a constant stops at 2^(M+1) times the constant") {
  for (const double term : {1.0, 0.25, 8.0}) {
    CHECK(sum_of_equal_terms(bfloat16, term) == 256 * term);
    CHECK(sum_of_equal_terms(cbfloat16, term) == 1024 * term);
    CHECK(sum_of_equal_terms(float16, term) == 2048 * term);
    CHECK(sum_of_equal_terms(float8_e4m3fn, term) == 16 * term);
  }
}

// Micikevicius et al., "Mixed Precision Training" (ICLR 2018): an update is lost "when the magnitude of a normalized
// weight value is at least 2048 times larger". In between 2^(M+1) and 2^(M+2) it depends on the significands.
TEST_CASE("updates are kept below a ratio of 2^(M+1) and lost above 2^(M+2)") {
  for (const format& f : {float16, bfloat16, cbfloat16}) {
    const double kept_below = std::ldexp(1.0, f.precision());
    int between_kept = 0;
    int between_lost = 0;
    bool as_stated = true;
    for (std::uint64_t w = code_of(f, 1); w < code_of(f, 2); ++w)
      for (std::uint64_t d = code_of(f, 0.25 / kept_below); d <= code_of(f, 4 / kept_below); ++d) {
        const double ratio = to_double(f, w) / to_double(f, d);
        const bool kept = add(f, w, d).code != w;
        if (ratio < kept_below) as_stated = as_stated && kept;
        if (ratio > 2 * kept_below) as_stated = as_stated && !kept;
        if (ratio > kept_below && ratio < 2 * kept_below) ++(kept ? between_kept : between_lost);
      }
    CHECK(as_stated);
    CHECK(between_kept > 0);
    CHECK(between_lost > 0);
  }
}

// beta2 of Adam: in bfloat16 0.999 is 1, and even without rounding it no second moment can decay (Yu et al., "Collage",
// arXiv 2405.03637, for the example; the fractions by enumeration).
TEST_CASE("second moments that cannot decay") {
  CHECK(to_double(bfloat16, code_of(bfloat16, 0.999)) == 1);
  CHECK(stuck(bfloat16, 0.999F) == 128);
  CHECK(stuck(bfloat16, 0.998F) == 122);  // 95.3 %
  CHECK(stuck(bfloat16, 0.997F) == 38);   // 29.7 %
  CHECK(stuck(bfloat16, 0.996F) == 0);
  CHECK(stuck(cbfloat16, 0.999F) == 0);
  CHECK(stuck(float16, 0.999F) == 0);
  // 693 would be right for 0.999, 138 for 0.995.
  CHECK(half_life(cbfloat16, 0.999) == 512);
  CHECK(half_life(float16, 0.999) == 749);
  CHECK(half_life(bfloat16, 0.995) == 128);
}

// Weights of norm layers begin at 1 (vllm-project/speculators issue 765, workofart/ml-by-hand issue 85).
TEST_CASE("updates of a bfloat16 weight of 1") {
  const std::uint64_t one = code_of(bfloat16, 1);
  const auto moved = [&](double d) { return add(bfloat16, decode(bfloat16, one), decode(d)).code != one; };
  CHECK_FALSE(moved(-6e-4));
  CHECK_FALSE(moved(-0x1p-9));  // a tie, to even
  CHECK(moved(-0x1p-9 * (1 + 0x1p-40)));
  CHECK_FALSE(moved(0x1p-8));
  CHECK(moved(0x1p-8 * (1 + 0x1p-40)));
  std::uint64_t sum = one;
  for (int i = 0; i < 1000; ++i) sum = add(bfloat16, decode(bfloat16, sum), decode(0.001)).code;
  CHECK(sum == one);
}

// Zamirai et al., "Revisiting BFloat16 Training" (arXiv 2010.06192): weights halt at a distance of the optimum in
// proportion to the unit of the last place: half a unit / 0.01, where the last step is a tie or just below one in
// float's 0.01. w - 0.01 (w - 1.25) from 2, rounded once.
TEST_CASE("gradient descent halts before the optimum") {
  const auto halts_at = [](const format& f) {
    std::uint64_t w = code_of(f, 2);
    for (;;) {
      const std::uint64_t next = fma(f, decode(-0.01F), decode(to_double(f, w) - 1.25), decode(f, w)).code;
      if (next == w) return to_double(f, w);
      w = next;
    }
  };
  CHECK(halts_at(bfloat16) == 1.640625);
  CHECK(halts_at(cbfloat16) == 1.34765625);
  CHECK(halts_at(float16) == 1.298828125);
}

// w.add_(g, alpha=-0.05) of torch 1.13 on a CPU, whose elements beyond the last 32 take two roundings: alpha is rounded to
// bfloat16 (0.050048828125), then the product, then the sum. With alpha as a float, or one rounding, some would differ.
TEST_CASE("torch's addition with alpha rounds alpha to bfloat16") {
  constexpr std::array<std::uint64_t, 12> w{0x3f29, 0x3e89, 0x3d7d, 0x3f1f, 0xbee7, 0xbe2a,
                                            0xbfc3, 0x3ec3, 0xbf84, 0xbf10, 0xbf64, 0xbd6f};
  constexpr std::array<std::uint64_t, 12> g{0xbe48, 0xbf77, 0x3ed8, 0x3e89, 0xbed8, 0xbf03,
                                            0xbfc9, 0xbdfc, 0x4066, 0xbfea, 0x3fcd, 0xbfa3};
  constexpr std::array<std::uint64_t, 12> torch{0x3f2c, 0x3ea2, 0x3d26, 0x3f1c, 0xbedc, 0xbe10,
                                                0xbfb9, 0x3ec6, 0xbf9b, 0xbef1, 0xbf78, 0x3bb8};
  const std::uint64_t alpha = code_of(bfloat16, -0.05);
  CHECK(to_double(bfloat16, alpha) == -0.050048828125);
  int fused_differs = 0;
  int float_alpha_differs = 0;
  for (std::size_t i = 0; i < w.size(); ++i) {
    CHECK(add(bfloat16, w[i], mul(bfloat16, alpha, g[i]).code).code == torch[i]);
    fused_differs += fma(bfloat16, alpha, g[i], w[i]).code != torch[i] ? 1 : 0;
    const encoded product = mul(bfloat16, decode(-0.05F), decode(bfloat16, g[i]));
    float_alpha_differs += add(bfloat16, w[i], product.code).code != torch[i] ? 1 : 0;
  }
  CHECK(fused_differs == 3);
  CHECK(float_alpha_differs == 1);
}
