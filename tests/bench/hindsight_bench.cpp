// The best loss-scale trajectory of runs of 10,000 to a million steps, over few and many scales, with small moves and any:
// the cost grows linearly with the steps.
//   build/release/tests/bench/hindsight_bench
#include <benchmark/benchmark.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <random>

#include <ulp/model/hindsight/hindsight.hpp>

namespace {

using namespace ulp;

// Steps that overflow from some scale on, anywhere among `scales`, and lose more and more below.
run_costs made_costs(std::int64_t steps, int scales) {
  std::mt19937 random(1);
  run_costs costs;
  for (std::int64_t i = 0; i < steps; ++i) {
    const int from = static_cast<int>(random() % static_cast<unsigned>(scales));
    magnitude_loss loss{.first = from - 40, .total = 1};
    double lost = 1;
    for (int k = 0; k < 50; ++k) loss.lost.push_back(lost *= 0.5);
    costs.add({from, from, from}, loss);
  }
  return costs;
}

void best(benchmark::State& state) {
  const run_costs costs = made_costs(state.range(0), static_cast<int>(state.range(1)));
  const auto most = static_cast<int>(state.range(2));
  for (auto _ : state) benchmark::DoNotOptimize(best_in_hindsight(costs, 16, {most, most}));
  state.SetComplexityN(state.range(0));
}

}  // namespace

BENCHMARK(best)
    ->Name("best/steps/scales/move")
    ->Args({10'000, 60, 1})
    ->Args({100'000, 60, 1})
    ->Args({1'000'000, 60, 1})
    ->Args({1'000'000, 60, 1000})
    ->Args({1'000'000, 300, 1})
    ->Args({1'000'000, 300, 20})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_MAIN();
