// Element updates a second of the optimizers, one thread, on 10 million parameters: items_per_second.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include <ulp/formats/convert.hpp>
#include <ulp/formats/random_bits.hpp>
#include <ulp/model/optimizers/optimizer.hpp>

namespace {

void steps(benchmark::State& state, const std::string& dialect, const ulp::format& weights) {
  constexpr std::size_t n = 39063 * 256;  // 10 million, in whole blocks
  ulp::optimizer o = ulp::make_optimizer(dialect, {.size = n, .weights = weights});
  std::vector<float> w(n);
  std::vector<float> g(n * o.micro_batches());
  for (std::size_t i = 0; i < n; ++i) w[i] = static_cast<float>(ulp::random_bits(1, 1, i, 16)) / 65536.0F - 0.5F;
  for (std::size_t i = 0; i < g.size(); ++i)
    g[i] = (static_cast<float>(ulp::random_bits(1, 2, i, 16)) / 65536.0F - 0.5F) * 1e-3F;
  ulp::round_array(weights, w);
  for (auto _ : state) o.step(g, w);
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(n));
}

}  // namespace

int main(int argc, char** argv) {
  for (const char* const dialect : {"bnb_cpu_default_adam8bit", "bnb_cuda_text_adam8bit", "bnb_cpu_native_adam8bit",
                                    "ao_adam8bit", "torch_adamw", "torch_fused_adam", "torch_sgd_mom", "optimi_adam"}) {
    benchmark::RegisterBenchmark((std::string{dialect} + "/fp32").c_str(),
                                 [=](benchmark::State& state) { steps(state, dialect, ulp::float32); });
    benchmark::RegisterBenchmark((std::string{dialect} + "/bf16").c_str(),
                                 [=](benchmark::State& state) { steps(state, dialect, ulp::bfloat16); });
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
