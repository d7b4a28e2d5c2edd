// Pins the optimizers to runs that the libraries' own code recorded (tests/data/golden_optim: some elements and steps of
// all that shared_optimizer_test.cpp has; in torch113 AMSGrad and, in float32, a small beta1, by the operations of 2.6 in
// torch 1.13, in 16 bits as float32 operations that are rounded), and what holds whatever the numbers are: pieces, copies,
// what is refused.
#include "support/catch.hpp"

#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <ulp/formats/blocks.hpp>
#include <ulp/formats/codebooks.hpp>
#include <ulp/formats/convert.hpp>
#include <ulp/formats/random_bits.hpp>
#include <ulp/model/optimizers/ao_stochastic.hpp>
#include <ulp/model/optimizers/optimizer.hpp>

#include "recorded_run.hpp"
#include "support/files.hpp"

namespace ulp::test {
namespace {

namespace fs = std::filesystem;

std::vector<float> made(std::size_t n, std::uint64_t seed, float scale) {
  std::vector<float> x(n);
  for (std::size_t i = 0; i < n; ++i)
    x[i] = scale * (static_cast<float>(random_bits(seed, 1, i, 16)) / 32768.0F - 1.0F);
  return x;
}

std::vector<std::uint32_t> bits_of(const std::vector<float>& x) {
  std::vector<std::uint32_t> bits;
  for (const float f : x) bits.push_back(std::bit_cast<std::uint32_t>(f));
  return bits;
}

std::vector<std::string> names_of(const optimizer& o) {
  std::vector<std::string> names;
  for (const optimizer_state& s : o.state()) names.push_back(s.name);
  return names;
}

TEST_CASE("recorded runs come out bit by bit") {
  const fs::path folder = source_dir() / "tests" / "data" / "golden_optim";
  int runs = 0;
  int compared = 0;
  for (const fs::path& part : {folder, folder / "ao", folder / "torch113"}) {
    const arrays inputs = read_npz(part / "inputs.npz");
    for (const auto& file : fs::directory_iterator(part)) {
      if (file.path().extension() != ".npz" || file.path().stem() == "inputs") continue;
      INFO(file.path().stem().string());
      CHECK(differences_of(file.path(), inputs, compared) == "");
      ++runs;
    }
  }
  CHECK(runs == 48);
  CHECK(compared == 174);
}

TEST_CASE("every dialect steps in every format of weights, alone and in company") {
  for (const optimizer_entry& entry : optimizer_catalog())
    for (const format& weights : {float32, bfloat16, float16, cbfloat16, float8_e5m2}) {
      INFO(entry.name << " " << weights.exponent_bits << " " << weights.fraction_bits);
      for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{257}, std::size_t{2048}}) {
        optimizer o = make_optimizer(entry, {.size = n, .weights = weights});
        std::vector<float> w = made(n, 7, 1);
        round_array(weights, w);
        const std::vector<float> g = made(n * o.micro_batches(), 8, 0.1F);
        o.step(g, w);
        o.step(g, w);
        CHECK(o.steps() == 2);
        std::vector<float> rounded = w;
        round_array(weights, rounded);
        CHECK(bits_of(rounded) == bits_of(w));  // weights are numbers of their format
        if (n > 0) CHECK(!o.state().empty() == (names_of(o) != std::vector<std::string>{}));
      }
    }
}

// While one lives, numbers are rounded up, and on x86 subnormal ones flushed to zero.
class other_processor_state {
 public:
  other_processor_state() {
    std::fegetenv(&before_);
    std::fesetround(FE_UPWARD);
#ifdef __x86_64__
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040U);
#endif
  }
  ~other_processor_state() { std::fesetenv(&before_); }
  other_processor_state(const other_processor_state&) = delete;
  other_processor_state& operator=(const other_processor_state&) = delete;

 private:
  std::fenv_t before_{};
};

TEST_CASE("the processor's rounding and flushing change nothing") {
  constexpr std::size_t n = 300;
  for (const optimizer_entry& entry : optimizer_catalog()) {
    INFO(entry.name);
    std::vector<float> start = made(n, 1, 1);
    round_array(bfloat16, start);
    std::vector<float> g = made(n * make_optimizer(entry, {.size = n}).micro_batches(), 2, 0.01F);
    for (std::size_t i = 0; i < g.size(); i += 3) g[i] *= 1e-36F;
    const auto run = [&] {
      optimizer o = make_optimizer(entry, {.size = n, .weights = bfloat16});
      std::vector<float> w = start;
      for (int t = 0; t < 3; ++t) o.step(g, w);
      std::string bytes(reinterpret_cast<const char*>(w.data()), w.size() * sizeof(float));
      for (const optimizer_state& s : o.state())
        std::visit([&](auto v) { bytes.append(reinterpret_cast<const char*>(v.data()), v.size_bytes()); }, s.values);
      return bytes;
    };
    const std::string usual = run();
    std::string other;
    {
      const other_processor_state state;
      other = run();
    }
    CHECK((usual == other));
  }
}

TEST_CASE("a copy goes on as its original does") {
  for (const optimizer_entry& entry : optimizer_catalog()) {
    INFO(entry.name);
    constexpr std::size_t n = 300;
    optimizer o = make_optimizer(entry, {.size = n, .weights = bfloat16});
    std::vector<float> w = made(n, 1, 1);
    round_array(bfloat16, w);
    const std::vector<float> g = made(n * o.micro_batches(), 2, 0.01F);
    o.step(g, w);
    optimizer copy = o;
    std::vector<float> other = w;
    o.step(g, w);
    copy.step(g, other);
    CHECK(bits_of(w) == bits_of(other));
    CHECK(bits_of(w) != bits_of(made(n, 1, 1)));
  }
}

TEST_CASE("elements do not see one another, but in a block and by their place") {
  for (const char* const name : {"torch_adam", "torch_fused_adam.avx2", "optimi_adam", "anyprecision_adamw_kahan",
                                 "nxd_adamw_fp32optim_downcast1", "bnb_cpu_default_adam32bit", "ao_adamw"}) {
    INFO(name);
    constexpr std::size_t n = 3000;
    std::vector<float> w = made(n, 1, 1);
    round_array(bfloat16, w);
    const std::vector<float> g = made(n, 2, 0.01F);
    std::vector<float> last(w.end() - 700, w.end());
    optimizer all = make_optimizer(name, {.size = n, .weights = bfloat16});
    optimizer part = make_optimizer(name, {.size = 700, .weights = bfloat16});
    for (int t = 0; t < 3; ++t) {
      all.step(g, w);
      part.step(std::span{g}.last(700), last);
    }
    CHECK(bits_of({w.end() - 700, w.end()}) == bits_of(last));
  }
}

TEST_CASE("bfloat16 sums of PyTorch on AVX2 depend on an element's place") {
  constexpr std::size_t n = 64;
  const auto run = [](std::size_t size) {
    std::vector<float> w(size, 1.0F);
    const std::vector<float> g(size, 0.30078125F);
    optimizer sgd =
        make_optimizer("torch_sgd.avx2", {.size = size, .weights = bfloat16, .parameters = {{"lr", 0.013}}});
    sgd.step(g, w);
    return w;
  };
  // w + alpha g with alpha = bfloat16(-0.013): once with one rounding, once with two.
  const float alpha = -std::bit_cast<float>(0x3C550000U);
  std::vector<float> once{std::fma(alpha, 0.30078125F, 1.0F)};
  round_array(bfloat16, once);
  CHECK(run(n)[63] == once[0]);
  CHECK(run(n - 1)[0] == once[0]);
  std::vector<float> twice{alpha * 0.30078125F};
  round_array(bfloat16, twice);
  twice[0] += 1.0F;
  round_array(bfloat16, twice);
  CHECK(run(n - 1)[62] == twice[0]);
}

// As torch.optim.SGD documents it: b = g in the first step, then b = momentum b + (1 - dampening) g, and w = w - lr b.
TEST_CASE("SGD's first buffer is the gradient, and dampening takes from those after it") {
  for (const char* const name : {"torch_sgd", "torch_sgd.avx2"}) {
    INFO(name);
    optimizer sgd =
        make_optimizer(name, {.size = 1, .parameters = {{"lr", 1.0}, {"momentum", 0.5}, {"dampening", 0.25}}});
    std::vector<float> w{0};
    std::vector<float> buf{0};
    float at = 0;
    for (const float expected : {1.0F, 1.25F, 1.375F}) {
      sgd.step(std::vector<float>{1}, w);
      at -= expected;
      REQUIRE(read_state(sgd, "buf", buf));
      CHECK(buf[0] == expected);
      CHECK(w[0] == at);
    }
  }
}

TEST_CASE("float16 Adam with the default eps gives NaN where nothing moved") {
  optimizer adam = make_optimizer("torch_adam", {.size = 1, .weights = float16});
  std::vector<float> w{1};
  adam.step(std::vector<float>{0}, w);
  CHECK(std::isnan(w[0]));
  optimizer wide = make_optimizer("torch_adam", {.size = 1, .weights = bfloat16});
  w = {1};
  wide.step(std::vector<float>{0}, w);
  CHECK(w[0] == 1);
}

TEST_CASE("NaN and infinity stay in their element or block") {
  for (const optimizer_entry& entry : optimizer_catalog()) {
    if (entry.name.find("clip") != std::string_view::npos) continue;  // a norm is of all elements
    INFO(entry.name);
    constexpr std::size_t n = 1024;
    optimizer o = make_optimizer(entry, {.size = n, .weights = bfloat16});
    std::vector<float> w = made(n, 1, 1);
    round_array(bfloat16, w);
    std::vector<float> g = made(n * o.micro_batches(), 2, 0.01F);
    g[3] = std::numeric_limits<float>::quiet_NaN();
    g[5] = std::numeric_limits<float>::infinity();
    o.step(g, w);
    o.step(g, w);
    for (std::size_t i = 256; i < n; ++i) CHECK(std::isfinite(w[i]));
  }
}

TEST_CASE("stochastic weights take the given bits, or those of seed, tensor and step") {
  constexpr std::size_t n = 1500;  // more than a tile
  std::vector<float> w = made(n, 1, 1);
  round_array(bfloat16, w);
  const std::vector<float> start = w;
  const std::vector<float> g = made(n, 2, 0.01F);
  for (const optimizer_setup& setup :
       {optimizer_setup{
            .size = n, .weights = bfloat16, .rounding = weight_rounding::stochastic, .seed = 5, .tensor = "t"},
        optimizer_setup{
            .size = n, .weights = bfloat16, .seed = 5, .tensor = "t", .parameters = {{"stochastic_rounding", true}}}}) {
    std::vector<std::uint16_t> bits;
    for (std::size_t i = 0; i < n; ++i)
      bits.push_back(static_cast<std::uint16_t>(random_bits(5, stream_of("t", 1), i, 16)));
    std::vector<float> counted = start;
    std::vector<float> given = start;
    make_optimizer("ao_adamw", setup).step(g, counted);
    make_optimizer("ao_adamw", setup).step(g, given, bits);
    CHECK(bits_of(counted) == bits_of(given));
    for (std::uint16_t& b : bits) b = static_cast<std::uint16_t>(b ^ 0x8000);
    given = start;
    make_optimizer("ao_adamw", setup).step(g, given, bits);
    CHECK(bits_of(counted) != bits_of(given));
  }
  // Zeros for random bits: definition A cuts, torchao's rule goes up wherever anything is lost.
  std::vector<float> down = start;
  make_optimizer("bnb_cpu_default_adam32bit", {.size = n, .weights = bfloat16, .rounding = weight_rounding::stochastic})
      .step(g, down, std::vector<std::uint16_t>(n));
  std::vector<float> exact = start;
  make_optimizer("bnb_cpu_default_adam32bit", {.size = n}).step(g, exact);
  std::vector<float> cut = exact;
  round_array(bfloat16, cut, {.rounding = {.direction = direction::toward_zero}});
  // The gradient is rounded first in one of them, which the update of a first step hardly sees.
  std::size_t same = 0;
  for (std::size_t i = 0; i < n; ++i) same += down[i] == cut[i] ? 1U : 0U;
  CHECK(same > n * 9 / 10);
}

TEST_CASE("torchao's stochastic rounding goes up where the random bits are below what is cut") {
  CHECK(ao_stochastic_bfloat16(0x3F800000, 0) == 0x3F80);
  CHECK(ao_stochastic_bfloat16(0x3F808000, 0x7FFF) == 0x3F81);
  CHECK(ao_stochastic_bfloat16(0x3F808000, 0x8000) == 0x3F80);
}

TEST_CASE("Kahan summation follows float32 where nearest stands still") {
  constexpr std::size_t n = 16;
  std::vector<float> nearest(n, 1.0F), kahan(n, 1.0F), exact(n, 1.0F);
  const std::vector<float> g(n, 0.5F);
  const optimizer_settings small{{"lr", 1e-4}};
  optimizer a = make_optimizer("ao_adamw", {.size = n, .weights = bfloat16, .parameters = small});
  optimizer b = make_optimizer(
      "ao_adamw", {.size = n, .weights = bfloat16, .rounding = weight_rounding::kahan, .parameters = small});
  optimizer c = make_optimizer("ao_adamw", {.size = n, .parameters = small});
  for (int t = 0; t < 400; ++t) {
    a.step(g, nearest);
    b.step(g, kahan);
    c.step(g, exact);
  }
  CHECK(nearest[0] == 1.0F);
  CHECK(std::fabs(exact[0] - 0.96F) < 0.001F);
  CHECK(std::fabs(kahan[0] - exact[0]) < 0.004F);
  CHECK(names_of(b).back() == "kahan");
}

TEST_CASE("states in any format, in blocks, or as the weights are") {
  constexpr std::size_t n = 512;
  const std::vector<float> g = made(n, 2, 0.01F);
  for (const char* const state : {"float32", "bfloat16", "e5m10", "float8_e5m2", "tf32", "ao", "ao_4bit", "ao_fp8",
                                  "bnb_default", "bnb_cpu_native", "bnb_cuda_text", "weights"}) {
    INFO(state);
    optimizer o = make_optimizer(
        "ao_adamw", {.size = n, .parameters = {{"m_state", std::string{state}}, {"v_state", std::string{state}}}});
    std::vector<float> w(n, 1.0F);
    for (int t = 0; t < 5; ++t) o.step(g, w);
    for (const float x : w) CHECK(std::isfinite(x));
  }
  // Without a whole number of blocks torchao keeps the state as the weights are.
  optimizer odd = make_optimizer("ao_adam8bit", {.size = 300, .weights = bfloat16});
  CHECK(names_of(odd) == std::vector<std::string>{"m", "v"});
  CHECK(names_of(make_optimizer("ao_adam8bit", {.size = 512})) ==
        std::vector<std::string>{"m_codes", "m_absmax", "v_codes", "v_absmax"});
}

TEST_CASE("a parameter can change between steps, but for those that decide how states are kept") {
  optimizer o = make_optimizer("torch_adam", {.size = 1});
  std::vector<float> w{1};
  o.set_parameter("lr", 0.5);
  o.step(std::vector<float>{1}, w);
  CHECK(w[0] < 0.51F);
  CHECK_THROWS_AS(o.set_parameter("amsgrad", true), parameter_error);
  CHECK_THROWS_AS(o.set_parameter("beta3", 0.5), parameter_error);
  CHECK_THROWS_AS(o.set_parameter("beta1", 1.0), parameter_error);
}

TEST_CASE("what no library takes is refused in words") {
  const auto why = [](std::string_view dialect, const std::string& name, const parameter_value& value) -> std::string {
    try {
      (void)make_optimizer(dialect, {.size = 4, .parameters = {{name, value}}});
    } catch (const std::invalid_argument& problem) {
      return problem.what();
    }
    return "";
  };
  CHECK(why("torch_adam", "lr", std::numeric_limits<double>::quiet_NaN()) == "parameter 'lr' must be a finite number");
  CHECK(why("torch_adam", "beta1", 1.0) == "parameter 'beta1' must be below 1");
  CHECK(why("torch_adam", "eps", -1.0) == "parameter 'eps' must not be negative");
  CHECK(why("torch_adam", "betas1", 0.9).find("near: beta1") != std::string::npos);
  CHECK(why("torch_adam", "amsgrad", 2.0).find("true or false") != std::string::npos);
  CHECK(why("torch_sgd", "nesterov", true).find("momentum") != std::string::npos);
  CHECK(why("bnb_cpu_default_adam8bit", "block_size", 0.0).find("from 1") != std::string::npos);
  CHECK(why("bnb_cpu_default_adam8bit", "map", std::string{"torch"}).find("torch26_nofma") != std::string::npos);
  CHECK(why("ao_adamw", "m_state", std::string{"float33"}).find("bnb_default") != std::string::npos);
  CHECK(why("ao_adamw", "m_state", std::string{"float64"}).find("at most 32 bits") != std::string::npos);
  CHECK(why("xla_zero1_master_fp32acc", "micro_batches", 0.0).find("from 1") != std::string::npos);
  CHECK(why("optimi_adam", "kahan_sum", false).empty());
  CHECK(why("optimi_adam", "kahan_sum", std::string{"no"}).find("auto, true or false") != std::string::npos);
  CHECK(why("torch_adm", "lr", 1.0).find("near: torch_adam") != std::string::npos);
  CHECK_THROWS_AS(make_optimizer("torch_adam", {.size = 1, .weights = float64}), std::invalid_argument);
  optimizer o = make_optimizer("torch_adam", {.size = 2});
  std::vector<float> two(2), three(3);
  CHECK_THROWS_AS(o.step(three, two), std::invalid_argument);
  CHECK_THROWS_AS(o.step(two, three), std::invalid_argument);
  CHECK_THROWS_AS(o.step(two, two, std::vector<std::uint16_t>(3)), std::invalid_argument);
}

}  // namespace
}  // namespace ulp::test
