// Checking a conversion for all 2^32 floats on one processor: what the library's part of it costs beside a callable of a
// nanosecond.
//   build/release/tests/bench/check_bench
#include <benchmark/benchmark.h>

#include <bit>
#include <cstdint>

#include <ulp/formats/catalog.hpp>
#include <ulp/formats/check.hpp>

namespace {

// float32 -> float16 by integer steps and one addition of floats, which rounds subnormal results.
std::uint16_t float16_of(std::uint32_t x) {
  const std::uint32_t sign = x >> 16 & 0x8000;
  x &= 0x7FFFFFFF;
  if (x >= 0x47800000) return static_cast<std::uint16_t>(sign | (x > 0x7F800000 ? 0x7E00 : 0x7C00));
  if (x < 0x38800000)
    return static_cast<std::uint16_t>(sign |
                                      (std::bit_cast<std::uint32_t>(std::bit_cast<float>(x) + 0.5F) - 0x3F000000));
  return static_cast<std::uint16_t>(sign | (x - 0x37FFF001 + (x >> 13 & 1)) >> 13);
}

void all_floats(benchmark::State& state) {
  for (auto _ : state) {
    const auto report = ulp::check(ulp::operation::convert, ulp::float16, ulp::float32, ulp::check_inputs::all,
                                   [](std::uint32_t x) { return float16_of(x); }, {.threads = 1});
    if (!report.agrees()) state.SkipWithError("the conversion is wrong");
  }
}
BENCHMARK(all_floats)->Iterations(1)->Unit(benchmark::kSecond);

}  // namespace

BENCHMARK_MAIN();
