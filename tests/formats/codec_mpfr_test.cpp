// Pins codec.hpp to MPFR, a second oracle that knows nothing of this project: sampled doubles over each format's range
// in the four directions both have, values and the flags inexact and overflow.
#include <mpfr.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

#include <ulp/formats/catalog.hpp>
#include <ulp/formats/codec.hpp>

#include "formats/sweep.hpp"
#include "support/catch.hpp"

using namespace ulp;
using namespace ulp::test;

TEST_CASE("rounding as MPFR rounds") {
  constexpr std::array directions{
      std::pair{direction::nearest_even, MPFR_RNDN}, std::pair{direction::toward_zero, MPFR_RNDZ},
      std::pair{direction::toward_positive, MPFR_RNDU}, std::pair{direction::toward_negative, MPFR_RNDD}};
  const mpfr_exp_t emin = mpfr_get_emin();
  const mpfr_exp_t emax = mpfr_get_emax();
  for (const format& to : {float16, bfloat16, cbfloat16, tf32, float8_e5m2}) {
    sweep s;
    mpfr_t y;
    mpfr_init2(y, to.precision());
    // MPFR's significand is in [1/2, 1), so its exponents are larger by one.
    mpfr_set_emin(to.min_quantum_exponent() + 1);
    mpfr_set_emax(to.emax() + 1);
    const int lowest = to.min_quantum_exponent() - 3;
    const int binades = to.emax() + 3 - lowest;
    std::uint64_t bits = 99;
    for (int i = 0; i < 60000; ++i) {
      bits = bits * 6364136223846793005 + 1442695040888963407;
      // Every other sample has few fraction bits: exact values and ties.
      const int kept = i % 2 == 0 ? 52 : to.fraction_bits + 1;
      const double fraction = std::ldexp(static_cast<double>(bits >> (64 - kept)), -kept);
      const double magnitude = std::ldexp(1 + fraction, lowest + i % binades);
      const double x = i % 3 == 0 ? -magnitude : magnitude;
      for (const auto& [ours, theirs] : directions) {
        mpfr_clear_flags();
        int ternary = mpfr_set_d(y, x, theirs);
        ternary = mpfr_check_range(y, ternary, theirs);
        ternary = mpfr_subnormalize(y, ternary, theirs);
        const bool overflow = mpfr_overflow_p() != 0;
        const double expected = mpfr_get_d(y, MPFR_RNDN);
        const encoded got = encode(to, x, {.direction = ours});
        const double value = ulp::to_double(to, got.code);
        s.expect(value == expected && std::signbit(value) == std::signbit(x) &&
                     any(got.flags, status::inexact) == (ternary != 0) && any(got.flags, status::overflow) == overflow,
                 [&] { return describe(to) + ' ' + std::to_string(x) + ' ' + to_string({.direction = ours}); });
      }
    }
    CHECK(s.failures() == "");
    mpfr_clear(y);
    mpfr_set_emin(emin);
    mpfr_set_emax(emax);
  }
}
