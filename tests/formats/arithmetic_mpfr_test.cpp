// Pins arithmetic.hpp to MPFR, a second oracle that knows nothing of this project: random and aimed operands
// (operand_source, seed 20) in the four directions both have, values with the signs of zeros, and the flags inexact,
// overflow, divide-by-zero and underflow. MPFR's remainder has no NaN flag of IEEE's kind, so invalid is that the
// result is NaN and no operand was.
#include <mpfr.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

#include <ulp/formats/arithmetic.hpp>
#include <ulp/formats/catalog.hpp>

#include "formats/operations.hpp"
#include "support/catch.hpp"

namespace {

using namespace ulp;
using namespace ulp::test;

// A number of the format's precision and exponents while it lives.
class mpfr_numbers {
 public:
  explicit mpfr_numbers(const format& f) : emin_(mpfr_get_emin()), emax_(mpfr_get_emax()) {
    for (mpfr_t& x : operands) mpfr_init2(x, f.precision());
    mpfr_init2(result, f.precision());
    // MPFR's significand is in [1/2, 1), so its exponents are larger by one.
    mpfr_set_emin(f.min_quantum_exponent() + 1);
    mpfr_set_emax(f.emax() + 1);
  }
  ~mpfr_numbers() {
    for (mpfr_t& x : operands) mpfr_clear(x);
    mpfr_clear(result);
    mpfr_set_emin(emin_);
    mpfr_set_emax(emax_);
  }
  mpfr_numbers(const mpfr_numbers&) = delete;
  mpfr_numbers& operator=(const mpfr_numbers&) = delete;

  // The ternary value.
  int apply(operation op, mpfr_rnd_t direction) {
    auto& [x, y, z] = operands;
    switch (op) {
      case operation::add: return mpfr_add(result, x, y, direction);
      case operation::sub: return mpfr_sub(result, x, y, direction);
      case operation::mul: return mpfr_mul(result, x, y, direction);
      case operation::div: return mpfr_div(result, x, y, direction);
      case operation::rem: return mpfr_remainder(result, x, y, direction);
      case operation::sqrt: return mpfr_sqrt(result, x, direction);
      case operation::fma: return mpfr_fma(result, x, y, z, direction);
      default: break;
    }
    return mpfr_set(result, x, direction);
  }

  mpfr_t operands[3];
  mpfr_t result;

 private:
  mpfr_exp_t emin_;
  mpfr_exp_t emax_;
};

}  // namespace

TEST_CASE("arithmetic as MPFR does it") {
  constexpr std::array directions{
      std::pair{direction::nearest_even, MPFR_RNDN}, std::pair{direction::toward_zero, MPFR_RNDZ},
      std::pair{direction::toward_positive, MPFR_RNDU}, std::pair{direction::toward_negative, MPFR_RNDD}};
  for (const format& f : {float16, bfloat16, cbfloat16, tf32})
    for (const operation op : all_operations) {
      mpfr_numbers numbers{f};
      operand_source source{op, f, {f, f, f}, 20};
      sweep s;
      for (int i = 0; i < 20000; ++i) {
        const codes x = source.next();
        bool nan_operand = false;
        bool signaling_operand = false;
        for (std::size_t n = 0; n < static_cast<std::size_t>(operand_count(op)); ++n) {
          mpfr_set_d(numbers.operands[n], ulp::to_double(f, x[n]), MPFR_RNDN);
          nan_operand = nan_operand || decode(f, x[n]).kind == number_class::nan;
          signaling_operand = signaling_operand || decode(f, x[n]).signaling;
        }
        for (const auto& [ours, theirs] : directions) {
          mpfr_clear_flags();
          int ternary = numbers.apply(op, theirs);
          ternary = mpfr_subnormalize(numbers.result, ternary, theirs);
          const double expected = mpfr_get_d(numbers.result, MPFR_RNDN);
          const rounding mode{.direction = ours};
          const encoded got = library(op, f, x, mode);
          const double value = ulp::to_double(f, got.code);
          const bool is_nan = std::isnan(expected);
          status flags = signaling_operand || (is_nan && !nan_operand) ? status::invalid : status::none;
          if (ternary != 0) flags |= status::inexact;
          if (mpfr_overflow_p() != 0) flags |= status::overflow;
          if (mpfr_divby0_p() != 0) flags |= status::divide_by_zero;
          // MPFR raises it for exact subnormal numbers too.
          if (mpfr_underflow_p() != 0 && ternary != 0) flags |= status::underflow;
          const bool same_value =
              is_nan ? std::isnan(value) : value == expected && std::signbit(value) == std::signbit(expected);
          // fma of 0, infinity and NaN is invalid here, and not in MPFR.
          const bool same_flags = got.flags == flags || (op == operation::fma && nan_operand);
          s.expect(same_value && same_flags, [&] {
            return describe(op, f, {f, f, f}, x, mode, got, {encode(f, expected).code, flags});
          });
        }
      }
      INFO(describe(f) << ' ' << to_string(op));
      CHECK(s.failures() == "");
    }
}
