// Pins that arrays are converted alike whatever the processor's rounding, flushing and exception masks are, and that these are
// left as they were, sticky flags and all.
#include <cfenv>
#include <cstdint>
#include <string>
#include <vector>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include <ulp/formats/convert.hpp>

#include "formats/convert.hpp"
#include "support/catch.hpp"
#include "support/strides.hpp"

namespace {

using namespace ulp;
using namespace ulp::test;

std::vector<float> elements() {
  std::vector<float> all;
  push_numbers_and_midpoints(all, float16, is_exhaustive() ? 5 : 37);
  push_numbers_and_midpoints(all, bfloat16, is_exhaustive() ? 17 : 131);
  push_specials(all);
  return all;
}

// All that is converted, by one target.
std::vector<std::uint32_t> convert_all(const std::vector<float>& x, const std::vector<double>& wide,
                                       std::string_view target) {
  const forced_target forced{target};
  std::vector<std::uint32_t> all;
  std::vector<std::uint32_t> codes(x.size());
  std::vector<float> numbers(x.size());
  const auto keep = [&] { all.insert(all.end(), codes.begin(), codes.end()); };
  for (const format& f : {float16, bfloat16, cbfloat16, float8_e4m3fn, float8_e5m2fnuz, dlfloat16, tf32}) {
    std::vector<rounding> modes{{.flush = flush::after_rounding, .daz = true},
                                {.direction = direction::stochastic, .random_bits = 16},
                                {.direction = direction::stochastic}};
    for (const direction way : deterministic) modes.push_back({.direction = way});
    for (const rounding& mode : modes) {
      conversion_counts counts;
      encode_array(f, x, codes, {.rounding = mode}, &counts);
      keep();
      for (const std::uint64_t n :
           {counts.zeros, counts.newly_zero, counts.subnormal, counts.inexact, counts.overflowed, counts.nan})
        all.push_back(static_cast<std::uint32_t>(n));
      encode_array(f, x, codes, {.rounding = mode, .threads = 1});
      keep();
      encode_array(f, x, codes, {.rounding = mode, .scale = 3});
      keep();
      encode_array(f, x, codes, {.rounding = mode, .scale = 0x1p-1074});
      keep();
      encode_array(f, wide, codes, {.rounding = mode});
      keep();
      round_array(f, x, numbers, {.rounding = mode, .scale = 2});
      for (const float y : numbers) all.push_back(std::bit_cast<std::uint32_t>(y));
    }
    for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::uint32_t>(i & f.code_mask());
    decode_array(f, codes, numbers);
    for (const float y : numbers) all.push_back(std::bit_cast<std::uint32_t>(y));
  }
  return all;
}

// Called through a pointer that compilers cannot see through, so that nothing moves across the change of state.
std::vector<std::uint32_t> (*volatile const convert)(const std::vector<float>&, const std::vector<double>&,
                                                     std::string_view) = convert_all;

}  // namespace

TEST_CASE("arrays do not depend on the rounding direction") {
  const std::vector<float> x = elements();
  const std::vector<double> wide{x.begin(), x.end()};
  for (const std::string_view target : targets()) {
    const auto expected = convert(x, wide, target);
    for (const int way : {
#ifdef FE_UPWARD
             FE_UPWARD,
#endif
#ifdef FE_DOWNWARD
             FE_DOWNWARD,
#endif
#ifdef FE_TOWARDZERO
             FE_TOWARDZERO,
#endif
             FE_TONEAREST}) {
      std::fesetround(way);
      const auto got = convert(x, wide, target);
      const int after = std::fegetround();
      std::fesetround(FE_TONEAREST);
      INFO(target);
      CHECK((got == expected));
      CHECK(after == way);
    }
  }
}

#if defined(__SSE2__)
TEST_CASE("arrays do not depend on flushing and unmasked exceptions, and leave the control register as it was") {
  const std::vector<float> x = elements();
  const std::vector<double> wide{x.begin(), x.end()};
  const unsigned initial = _mm_getcsr();
  constexpr unsigned flush_to_zero = 0x8000;
  constexpr unsigned denormals_are_zero = 0x0040;
  constexpr unsigned masks = 0x1F80;
  constexpr unsigned flags = 0x003F;
  std::vector<std::uint32_t> first;
  for (const std::string_view target : targets()) {
    const auto expected = convert(x, wide, target);
    if (first.empty()) first = expected;
    CHECK((expected == first));
    for (const unsigned way : {0u, 1u, 2u, 3u})
      for (const unsigned masked : {masks, 0u}) {
        const unsigned state =
            (initial & ~(0x6000u | masks | flags)) | way << 13 | flush_to_zero | denormals_are_zero | masked;
        _mm_setcsr(state);
        const auto got = convert(x, wide, target);
        const unsigned after = _mm_getcsr();
        _mm_setcsr(initial);
        INFO(target << " way " << way << " masked " << masked);
        CHECK((got == expected));
        CHECK(after == state);
      }
  }
}
#endif
