// Recording's kernel: float32 values into counts and exact sums, against a sum that only reads the same memory.
//
//     recording_bench [--benchmark_min_time=1]
//
// The last argument of a row is the number of threads. tests/bench/recording.py compares whole files and numpy.
#include <benchmark/benchmark.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <ulp/model/cells/cell_counter.hpp>
#include <ulp/model/cells/tensor_counter.hpp>

using namespace ulp;

namespace {

// 256 MiB, of a spread like that of gradients: some thirty binades, a twentieth zeros.
const std::vector<float>& gradients() {
  static const std::vector<float> values = [] {
    std::vector<float> all(std::size_t{1} << 26);
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    for (std::size_t i = 0; i < 1 << 20; ++i)
      all[i] = random() % 20 == 0 ? 0.0F : normal(random) * std::exp2(-10 + 3 * normal(random));
    for (std::size_t i = 1 << 20; i < all.size(); ++i) all[i] = all[i - (1 << 20)];
    return all;
  }();
  return values;
}

void per_element(benchmark::State& state) {
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(gradients().size()));
}

void plain_sum(benchmark::State& state) {
  const auto& values = gradients();
  for (auto _ : state) {
    std::uint32_t sums[16] = {};
    for (std::size_t i = 0; i < values.size(); i += 16)
      for (std::size_t k = 0; k < 16; ++k) sums[k] += std::bit_cast<std::uint32_t>(values[i + k]);
    benchmark::DoNotOptimize(sums);
  }
  per_element(state);
}

void kernel(benchmark::State& state, const std::string& name, bool with_sums) {
  force_counting_kernel(name);
  cell_counter counter{with_sums ? cell_counter::with::sums : cell_counter::with::nothing};
  for (auto _ : state) {
    counter.add(gradients());
    benchmark::DoNotOptimize(counter.take());
  }
  force_counting_kernel(counting_kernels().back());
  per_element(state);
}

void chunks(benchmark::State& state) {
  const auto threads = static_cast<std::size_t>(state.range(0));
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
  tbb::task_arena arena(static_cast<int>(threads));
  tensor_counter counter;
  const auto& values = gradients();
  for (auto _ : state) {
    std::size_t at = 0;
    arena.execute([&] {
      benchmark::DoNotOptimize(counter.count(1, {}, [&](value_chunk& chunk) {
        const std::size_t size = std::min(values.size() - at, tensor_counter::chunk_bytes / sizeof(float));
        chunk.bytes.resize(size * sizeof(float));
        std::memcpy(chunk.bytes.data(), values.data() + at, chunk.bytes.size());
        at += size;
        return size > 0;
      }));
    });
  }
  per_element(state);
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::RegisterBenchmark("plain_sum", plain_sum)->UseRealTime();
  for (const std::string_view name : counting_kernels())
    for (const bool with_sums : {false, true})
      benchmark::RegisterBenchmark(("kernel/" + std::string(name) + (with_sums ? "/sums" : "")).c_str(), kernel,
                                   std::string(name), with_sums)
          ->UseRealTime();
  benchmark::RegisterBenchmark("chunks", chunks)->Arg(1)->Arg(2)->UseRealTime();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
