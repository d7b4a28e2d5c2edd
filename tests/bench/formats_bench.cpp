// Nanoseconds for one operation on random codes (all of them, infinities and NaNs too): arithmetic.hpp with flags in
// several roundings, the value type, and beside them float and, where the compiler has it, _Float16.
//   build/release/tests/bench/formats_bench --benchmark_filter=add
#include <benchmark/benchmark.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <ulp/formats/arithmetic.hpp>
#include <ulp/formats/names.hpp>
#include <ulp/formats/number.hpp>
#include <vector>

namespace {

using namespace ulp;

constexpr std::size_t count = 16384;

std::uint64_t next_random(std::uint64_t& state) {
  state += 0x9E3779B97F4A7C15;  // SplitMix64
  std::uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

// Values of T whose bits are random.
template <class T>
std::vector<T> random_values(std::uint64_t seed, std::uint64_t mask = ~std::uint64_t{0}) {
  std::vector<T> values(count);
  for (T& value : values) {
    const std::uint64_t bits = next_random(seed) & mask;
    std::memcpy(static_cast<void*>(&value), &bits, sizeof value);
  }
  return values;
}

// op(i) for all i, over and over.
template <class T, class Operation>
void measure(benchmark::State& state, Operation op) {
  std::vector<T> results(count);
  for (auto _ : state) {
    for (std::size_t i = 0; i < count; ++i) results[i] = op(i);
    benchmark::DoNotOptimize(results.data());
    benchmark::ClobberMemory();
  }
  const double operations = static_cast<double>(state.iterations()) * count;
  state.SetItemsProcessed(static_cast<std::int64_t>(operations));
  using benchmark::Counter;
  state.counters["time/op"] = Counter(operations, Counter::kIsRate | Counter::kInvert);
}

// The format and the rounding are known at run time only.
template <class Operation>
void arithmetic(const std::string& name, Operation op) {
  struct named {
    const char* name;
    ulp::format format;
  };
  for (const named& f : {named{"float16", float16}, named{"bfloat16", bfloat16}, named{"cbfloat16", cbfloat16}})
    for (const direction way : {direction::nearest_even, direction::toward_positive, direction::stochastic}) {
      const rounding mode{.direction = way};
      const std::string full = "arithmetic/" + name + "/" + f.name + "/" + to_string(mode);
      benchmark::RegisterBenchmark(full.c_str(), [op, mode, in = f.format](benchmark::State& state) {
        const auto a = random_values<std::uint64_t>(1, in.code_mask());
        const auto b = random_values<std::uint64_t>(2, in.code_mask());
        const auto c = random_values<std::uint64_t>(3, in.code_mask());
        const auto bits = random_values<std::uint32_t>(4);
        measure<encoded>(state, [&](std::size_t i) { return op(in, a[i], b[i], c[i], mode, random_input{bits[i]}); });
      });
    }
}

template <class T>
void value_type(const std::string& name) {
  const auto add = [&](const char* operation, auto op) {
    benchmark::RegisterBenchmark(("value/" + std::string{operation} + "/" + name).c_str(),
                                 [op](benchmark::State& state) {
                                   const auto a = random_values<T>(1);
                                   const auto b = random_values<T>(2);
                                   const auto c = random_values<T>(3);
                                   measure<T>(state, [&](std::size_t i) { return op(a[i], b[i], c[i]); });
                                 });
  };
  add("add", [](T a, T b, T) { return static_cast<T>(a + b); });
  add("mul", [](T a, T b, T) { return static_cast<T>(a * b); });
  add("div", [](T a, T b, T) { return static_cast<T>(a / b); });
  if constexpr (std::is_class_v<T>)
    add("fma", [](T a, T b, T c) { return fma(a, b, c); });
  else
    add("fma", [](T a, T b, T c) { return static_cast<T>(std::fma(float{a}, float{b}, float{c})); });
}

}  // namespace

int main(int argc, char** argv) {
  arithmetic("add", [](const format& f, auto a, auto b, auto, const rounding& m, random_input r) {
    return add(f, a, b, m, r);
  });
  arithmetic("mul", [](const format& f, auto a, auto b, auto, const rounding& m, random_input r) {
    return mul(f, a, b, m, r);
  });
  arithmetic("div", [](const format& f, auto a, auto b, auto, const rounding& m, random_input r) {
    return div(f, a, b, m, r);
  });
  arithmetic("fma", [](const format& f, auto a, auto b, auto c, const rounding& m, random_input r) {
    return fma(f, a, b, c, m, r);
  });
  arithmetic("sqrt", [](const format& f, auto a, auto, auto, const rounding& m, random_input r) {
    return ulp::sqrt(f, a, m, r);
  });
  arithmetic("rem", [](const format& f, auto a, auto b, auto, const rounding& m, random_input r) {
    return rem(f, a, b, m, r);
  });
  value_type<float16_t>("float16");
  value_type<bfloat16_t>("bfloat16");
  value_type<cbfloat16_t>("cbfloat16");
  value_type<float>("float");
#ifdef __FLT16_MAX__
  value_type<_Float16>("_Float16");
#endif
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
