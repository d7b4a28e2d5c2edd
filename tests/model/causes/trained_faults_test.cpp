// Pins the cause that is named first, and its steps, on trainings that a fault was built into: small networks, every tensor
// rounded to float16, GradScaler's rule in the loop. What is found off the diagonal is pinned to nothing.
#include <ulp/model/causes/diagnosis.hpp>

#include <cmath>
#include <functional>
#include <ulp/formats/catalog.hpp>
#include <ulp/train/training.hpp>

#include "support/catch.hpp"

using namespace ulp;

namespace {

using fault = std::function<void(const site& at, std::span<float> values)>;

class faulty_rounding final : public rounding_hook {
 public:
  explicit faulty_rounding(fault with) : fault_(std::move(with)) {}
  void round(const site& at, std::span<float> values) override {
    if (fault_) fault_(at, values);
    if (rounds_) low_.round(at, values);
  }
  [[nodiscard]] std::string through() const override { return rounds_ ? low_.through() : ""; }
  void leave_float32() { rounds_ = false; }

 private:
  low_rounding low_{{float16}, 1};
  bool rounds_ = true;
  fault fault_;
};

struct run {
  fault with;
  double init_scale = 65536;
  double growth_interval = 25;
  std::int64_t steps = 250;
  std::function<double(std::int64_t)> learning_rate;  // as it is logged
  bool is_float32 = false;
  std::uint64_t seed = 1;
};

struct trained {
  survey seen{{}, {}};
  std::vector<tensor_info> tensors;
  diagnosis found;

  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const cause& c : found.causes)
      if (!std::holds_alternative<gradient_overflow>(c)) all.push_back(name_of(c));
    return all;
  }
  template <typename Cause>
  [[nodiscard]] const Cause& first() const {
    REQUIRE(!found.causes.empty());
    REQUIRE(std::holds_alternative<Cause>(found.causes.front()));
    return std::get<Cause>(found.causes.front());
  }
};

trained train(const run& r) {
  faulty_rounding hook(r.with);
  if (r.is_float32) hook.leave_float32();
  const scaler policy = make_scaler(*find_scaler("pytorch_gradscaler"),
                                    {{"init_scale", r.init_scale}, {"growth_interval", r.growth_interval}});
  training t({.network = network_kind::mlp, .width = 8, .optimizer = optimizer_kind::sgd, .seed = r.seed}, hook,
             r.is_float32 ? std::nullopt : std::optional{policy});
  trained all;
  for (std::int64_t i = 0; i < r.steps; ++i) {
    step now = t.advance().recorded;
    if (r.learning_rate) now.scalars.learning_rate = r.learning_rate(i);
    all.seen.add(now, t.tensors());
  }
  all.tensors = t.tensors();
  all.found = diagnosis_of(all.seen, all.tensors);
  return all;
}

void multiply(std::span<float> values, float by) {
  for (float& x : values) x *= by;
}

using names = std::vector<std::string>;

}  // namespace

TEST_CASE("healthy trainings have no cause") {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    CAPTURE(seed);
    const trained t = train({.seed = seed});
    CHECK(t.names().empty());
    CHECK_FALSE(t.found.died_at);
    CHECK(train({.is_float32 = true, .seed = seed}).names().empty());
    // As long as it takes for the gradients to become small.
    CHECK(train({.steps = 1500, .seed = seed}).names() == names{});
  }
}

TEST_CASE("a learning rate that jumps is a divergence from that step on") {
  constexpr float jump = 100;
  const auto rate = [](std::int64_t i) { return i < 100 ? 0.1 : 0.1 * jump; };
  const fault with = [&](const site& at, std::span<float> values) {
    if (at.kind == site_kind::update && at.step >= 100) multiply(values, jump);
  };
  for (const bool is_float32 : {false, true})
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      CAPTURE(is_float32, seed);
      const trained t = train({.with = with, .learning_rate = rate, .is_float32 = is_float32, .seed = seed});
      const auto& d = t.first<divergence>();
      REQUIRE(d.jump);
      CHECK(d.jump->step == 100);
      CHECK(d.jump->after == Approx(10));
      CHECK(d.growing.first == 100);
      CHECK(t.found.died_at == 100);
      CHECK(t.names().size() == 1);
      // Where nobody logged it the growth alone speaks.
      const trained unlogged = train({.with = with, .is_float32 = is_float32, .seed = seed});
      CHECK(unlogged.names() == names{"divergence"});
      CHECK(unlogged.first<divergence>().growing.first >= 100);
      CHECK(unlogged.first<divergence>().growing.first <= 103);
    }
}

TEST_CASE("a start that is too high costs the first steps") {
  const trained t = train({.init_scale = 0x1p40});
  CHECK(t.names() == names{"initial_scale"});
  const auto& h = t.first<initial_scale>();
  CHECK(h.skipped.first == 0);
  CHECK(h.skipped.steps == static_cast<std::uint64_t>(h.skipped.last) + 1);
  CHECK(h.first_scale == 0x1p40);
  CHECK(h.fitting_scale == std::ldexp(1.0, 40 - static_cast<int>(h.skipped.steps)));
  CHECK_FALSE(t.found.died_at);
}

TEST_CASE("one batch that the forward pass cannot hold") {
  const trained t = train({.with = [](const site& at, std::span<float> values) {
    if (at.kind == site_kind::activation && at.tensor == "hidden.input" && at.step == 120) multiply(values, 1e9F);
  }});
  CHECK(t.names() == names{"bad_batch"});
  const auto& b = t.first<bad_batch>();
  CHECK(b.steps == std::vector<std::int64_t>{120});
  CHECK_FALSE(b.is_finite);
  CHECK_FALSE(t.found.died_at);
}

TEST_CASE("one batch whose gradients stand out in float32") {
  const trained t = train({.with =
                               [](const site& at, std::span<float> values) {
                                 if (at.kind == site_kind::accumulator && at.step == 150) multiply(values, 1e5F);
                                 if (at.kind == site_kind::update && at.step >= 150) multiply(values, 0);
                               },
                           .is_float32 = true});
  CHECK(t.names() == names{"bad_batch"});
  CHECK(t.first<bad_batch>().steps == std::vector<std::int64_t>{150});
  CHECK(t.first<bad_batch>().is_finite);
}

TEST_CASE("a forward pass that overflows takes the loss with it, to the end") {
  const trained t = train({.with = [](const site& at, std::span<float> values) {
    if (at.kind == site_kind::activation && at.tensor == "head.output" && at.step >= 130) multiply(values, 1e9F);
  }});
  CHECK(t.names() == names{"forward_overflow"});
  const auto& f = t.first<forward_overflow>();
  CHECK(f.lost.first == 130);
  CHECK(f.losses_lost == 120);
  CHECK(f.ends_the_run);
  CHECK(f.in_all_tensors);
  CHECK(t.found.died_at == 130);
}

TEST_CASE("NaN that begins in one tensor is followed to its neighbour") {
  const trained t = train({.with = [](const site& at, std::span<float> values) {
    if (at.kind == site_kind::activation_grad && at.tensor == "hidden.output" && at.step >= 90)
      values.front() = std::numeric_limits<float>::quiet_NaN();
  }});
  CHECK(t.names() == names{"nan_source"});
  const auto& n = t.first<nan_source>();
  CHECK(n.lost.first == 90);
  CHECK(t.tensors[n.tensor].name == "hidden.bias");
  REQUIRE(n.neighbour);
  CHECK(t.tensors[*n.neighbour].name == "narrow.weight");
  CHECK(n.ends_the_run);
  CHECK(t.found.died_at == 90);
}

TEST_CASE("layers that no gradient reaches from the first step on") {
  const trained t = train({.with = [](const site& at, std::span<float> values) {
    if (at.kind == site_kind::activation_grad && at.tensor == "narrow.output") multiply(values, 0);
  }});
  CHECK(t.names() == names{"dead_layer"});
  const auto& d = t.first<dead_layer>();
  CHECK(t.tensors[d.tensors.front()].name == "embedding.weight");
  CHECK(t.tensors[d.tensors.back()].name == "narrow.bias");
  REQUIRE(d.living);
  CHECK(t.tensors[*d.living].name == "head.weight");
}

TEST_CASE("gradients that vanish while the loss stands still") {
  const trained t = train({.with =
                               [](const site& at, std::span<float> values) {
                                 if (at.kind == site_kind::update && at.step >= 20) multiply(values, 0);
                                 if (at.kind != site_kind::activation_grad || at.tensor != "hidden.output") return;
                                 const auto every = static_cast<std::size_t>(250 - at.step) / 10 + 1;
                                 if (at.step < 60) return;
                                 for (std::size_t i = 0; i < values.size(); ++i)
                                   if (i % 64 >= every) values[i] = 0;
                               },
                           .steps = 250});
  REQUIRE(t.names() == names{"vanished"});
  const auto& v = t.first<vanished>();
  CHECK(t.tensors[v.tensor].name.starts_with("hidden."));
  CHECK(v.zeros_after > 0.9);
  CHECK(v.zeros_before < 0.5);
}
