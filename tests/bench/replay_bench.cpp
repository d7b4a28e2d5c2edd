// Replays of runs 1, 10 and 100 times as large, longer and wider, with the outcomes of every tensor: the cost grows
// linearly with steps x tensors (the lines BigO and RMS).
//   build/release/tests/bench/replay_bench
#include <benchmark/benchmark.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <ulp/formats/catalog.hpp>
#include <ulp/model/cells/cell_counter.hpp>
#include <ulp/model/replay/replay.hpp>

namespace {

using namespace ulp;

struct run {
  std::vector<tensor_info> tensors;
  step first;
};

// Gradients spread over some twenty binades, of another size in each tensor.
run made_run(std::int64_t tensors) {
  std::mt19937 random(1);
  std::normal_distribution<float> exponent(-20, 4);
  std::vector<float> values(4096);
  run r;
  for (std::int64_t i = 0; i < tensors; ++i) {
    for (float& x : values) x = std::exp2(exponent(random) - static_cast<float>(i % 8));
    r.tensors.push_back({.name = "layer" + std::to_string(i) + ".weight", .kind = tensor_kind::weight_grad});
    r.first.tensors.push_back({.tensor = static_cast<std::uint32_t>(i), .type = dtype::float32, .factor = 1});
    r.first.tensors.back().table = count_cells(values);
  }
  return r;
}

void replay(benchmark::State& state) {
  const std::int64_t steps = state.range(0);
  const run recorded = made_run(state.range(1));
  scenario what{make_scaler(*find_scaler("pytorch_gradscaler")), {float16}};
  step now = recorded.first;
  for (auto _ : state) {
    replayer r(what);
    std::vector<tensor_outcome> per_tensor;
    for (now.key.step = 0; now.key.step < steps; ++now.key.step) {
      per_tensor.clear();
      benchmark::DoNotOptimize(r.advance(now, recorded.tensors, &per_tensor));
    }
  }
  const std::int64_t rows = steps * state.range(1);
  state.SetComplexityN(rows);
  using benchmark::Counter;
  state.counters["time/row"] =
      Counter(static_cast<double>(state.iterations() * rows), Counter::kIsRate | Counter::kInvert);
}

}  // namespace

BENCHMARK(replay)->Name("longer")->Args({10, 20})->Args({100, 20})->Args({1000, 20})->Complexity(benchmark::oN);
BENCHMARK(replay)->Name("wider")->Args({10, 20})->Args({10, 200})->Args({10, 2000})->Complexity(benchmark::oN);
BENCHMARK_MAIN();
