// Steps a second of loss scalers over a step log in memory: `totals` of overflow flags, `trajectory` with the scale after
// each step, from the largest gradient of each.
//   build/release/tests/bench/scalers_bench --benchmark_filter=pytorch
// tests/bench/gradscaler.py runs this beside PyTorch's own class.
#include <benchmark/benchmark.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <ulp/model/machines/scaler.hpp>
#include <vector>

namespace {

using namespace ulp;

constexpr std::size_t steps = 1 << 22;

// One step in five thousand overflows.
std::vector<std::uint8_t> flags() {
  std::vector<std::uint8_t> all(steps);
  std::uint32_t state = 1;
  for (auto& flag : all) {
    state = state * 1664525 + 1013904223;
    flag = (state >> 8) % 5000 == 0 ? 1 : 0;
  }
  return all;
}

// 2^0 to 2^-15.
std::vector<double> maxima() {
  std::vector<double> all(steps);
  std::uint32_t state = 1;
  for (auto& x : all) {
    state = state * 1664525 + 1013904223;
    x = std::ldexp(1.0, -static_cast<int>(state >> 28));
  }
  return all;
}

void totals(benchmark::State& state, const std::string& name) {
  const std::vector<std::uint8_t> found_inf = flags();
  const scaler start = make_scaler(*find_scaler(name));
  std::uint64_t run = 0;  // fewer where the policy raises
  for (auto _ : state) {
    scaler s = start;
    run += s.run({.found_inf = found_inf, .max_abs = {}}).steps;
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(run));
}

void trajectory(benchmark::State& state, const std::string& name) {
  const std::vector<double> max_abs = maxima();
  std::vector<double> scales(steps);
  const scaler start = make_scaler(*find_scaler(name));
  std::uint64_t run = 0;
  for (auto _ : state) {
    scaler s = start;
    run += s.run({.found_inf = {}, .max_abs = max_abs, .threshold = 65520}, scales).steps;
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(run));
}

}  // namespace

int main(int argc, char** argv) {
  for (const scaler_entry& entry : scaler_catalog()) {
    if (!entry.family.starts_with('A')) continue;
    const std::string name{entry.name};
    benchmark::RegisterBenchmark((name + "/totals").c_str(), [=](auto& state) { totals(state, name); });
    benchmark::RegisterBenchmark((name + "/trajectory").c_str(), [=](auto& state) { trajectory(state, name); });
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
