// The figures of low-precision-states.md, section 6, beside the recorded runs in ../shared/golden/optim: how far weights are
// from float32's after 200 steps, which run away and where, and second moments that do not fall.
#include <ulp/model/optimizers/optimizer_drift.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <ulp/formats/catalog.hpp>

#include "recorded_run.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"

namespace ulp::test {
namespace {

// fc2.bias, bn1.weight, bn3.bias, conv1.weight, fc2.weight; of torchao the first 512 elements.
drifting_tensor run(const char* dialect, std::size_t elements = 600, const format& weights = float32,
                    weight_rounding rounding = weight_rounding::own, optimizer_settings parameters = {}) {
  const arrays inputs = read_npz(shared_dir() / "golden" / "optim" / "optim" / "inputs.npz");
  const std::vector<float> g = inputs.at("grads").as<float>();
  const std::vector<std::uint16_t> bits = inputs.at("sr_bits").as<std::uint16_t>();
  std::vector<float> w0 = inputs.at("w0").as<float>();
  const std::size_t width = w0.size();
  w0.resize(elements);
  const optimizer_recipe recipe{.dialect = find_optimizer(dialect),
                                .parameters = std::move(parameters),
                                .weights = weights,
                                .rounding = rounding};
  drifting_tensor t(recipe, "grads", w0, 1, {10, 16, 64, 144, elements - 234});
  for (std::size_t step = 0; step < 200; ++step) {
    t.step(std::span{g}.subspan(step * width, elements), std::span{bits}.subspan(step * width, elements));
    if (step + 1 == 50) t.mark();
  }
  return t;
}

bool about(double x, double is) { return std::fabs(x - is) <= 0.006 * is; }

}  // namespace

TEST_CASE("8-bit states send weights of fc2.weight away, 4 bits and the native table do not") {
  if (shared_dir().empty()) return;
  constexpr std::size_t fc2_weight = 4;
  for (const char* dialect : {"bnb_cpu_default_adam8bit", "bnb_cuda_text_adam8bit"}) {
    CAPTURE(dialect);
    const drifting_tensor t = run(dialect);
    const weight_drift d = t.drift();
    CHECK(about(d.relative(), 83.8));
    CHECK(d.runaway == 12);
    CHECK(t.drift(fc2_weight).runaway == 12);
    CHECK(about(d.largest_move, 12.786));
    CHECK(about(d.largest_twin_move, 0.032));
    CHECK(t.drift(fc2_weight).zeroed >= 12);
  }
  const weight_drift ao = run("ao_adam8bit", 512).drift();
  CHECK(about(ao.relative(), 70.0));
  CHECK(ao.runaway == 10);
  const weight_drift fp8 = run("ao_adamfp8", 512).drift();
  CHECK(about(fp8.relative(), 794.7));
  CHECK(fp8.runaway == 29);
  CHECK(about(fp8.largest_move, 127.4));
  const weight_drift native = run("bnb_cpu_native_adam8bit").drift();
  CHECK(about(native.relative(), 0.171));
  CHECK(native.zeroed == 0);
  CHECK(native.runaway == 0);
  const weight_drift four_bits = run("ao_adam4bit", 512).drift();
  CHECK(about(four_bits.relative(), 0.618));
  CHECK(four_bits.zeroed == 0);
}

TEST_CASE("bfloat16 weights, with what is kept beside them") {
  if (shared_dir().empty()) return;
  CHECK(about(run("bnb_cpu_default_adam32bit", 600, bfloat16).drift().relative(), 0.299));
  CHECK(about(run("torch_adam", 600, bfloat16).drift().relative(), 0.301));
  const optimizer_settings ao{{"weight_decay", 0.0}};
  CHECK(std::fabs(run("ao_adamw_bf16states", 512, bfloat16, weight_rounding::own, ao).drift().relative() - 0.32) <
        0.006);
  const optimizer_settings stochastic{{"weight_decay", 0.0}, {"stochastic_rounding", true}};
  CHECK(about(run("ao_adamw_bf16states", 512, bfloat16, weight_rounding::own, stochastic).drift().relative(), 0.30));
  const weight_drift kahan = run("optimi_adam", 600, bfloat16, weight_rounding::own, {{"beta2", 0.999}}).drift();
  CHECK(std::fabs(kahan.relative() - 0.037) < 0.001);
}

TEST_CASE("no bfloat16 second moment falls at beta2 = 0.999 between steps 50 and 200") {
  if (shared_dir().empty()) return;
  const weight_drift d = run("torch_adam", 600, bfloat16).drift();
  CHECK(d.fell == 0);
  CHECK(std::fabs(static_cast<double>(d.twin_fell) / 600 - 0.75) < 0.005);
  CHECK(std::fabs(d.median_ratio - 1.17) < 0.005);
  CHECK(d.stuck == d.falling);
  const weight_drift faster = run("torch_adam", 600, bfloat16, weight_rounding::own, {{"beta2", 0.995}}).drift();
  CHECK(std::fabs(faster.median_ratio - 0.92) < 0.005);
  CHECK(faster.fell > 500);
}

}  // namespace ulp::test
