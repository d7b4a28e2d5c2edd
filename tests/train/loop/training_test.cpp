// Pins that a training is the same everywhere, that every tensor passes the hook, and what a step is recorded as.
#include <ulp/train/training.hpp>

#include <bit>
#include <cfenv>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <ulp/formats/catalog.hpp>

#include "support/catch.hpp"

using namespace ulp;

namespace {

scaler policy(double growth_interval) {
  return make_scaler(*find_scaler("pytorch_gradscaler"), {{"growth_interval", growth_interval}});
}

// FNV-1a over the bits of losses, scales and every cell of every gradient.
class digest {
 public:
  void add(const step& s) {
    add(s.scalars.loss);
    add(s.scalars.loss_scale);
    for (const tensor_row& t : s.tensors) {
      add(t.table.max_abs);
      add(t.table.min_abs);
      take(t.table.nonfinite());
      for (const cell& c : t.table.cells) take(static_cast<std::uint64_t>(c.key()) * 65536 + c.count);
    }
  }
  [[nodiscard]] std::uint64_t value() const { return hash_; }

 private:
  void add(double x) { take(std::isnan(x) ? 0 : std::bit_cast<std::uint64_t>(x)); }
  void take(std::uint64_t word) {
    for (int i = 0; i < 8; ++i) hash_ = (hash_ ^ ((word >> (8 * i)) & 0xFF)) * 0x100000001B3;
  }
  std::uint64_t hash_ = 0xCBF29CE484222325;
};

std::uint64_t digest_of(const training_options& options, bool low, int steps) {
  low_rounding in_float16({float16}, options.seed);
  no_rounding in_float32;
  rounding_hook& hook = low ? static_cast<rounding_hook&>(in_float16) : in_float32;
  training t(options, hook, low ? std::optional{policy(5)} : std::nullopt);
  digest d;
  for (int i = 0; i < steps; ++i) d.add(t.advance().recorded);
  return d.value();
}

// The tensors that pass, by kind; and how often.
class listening_hook final : public rounding_hook {
 public:
  void round(const site& at, std::span<float> values) override {
    CHECK(values.size() == at.rows * at.columns);
    ++seen[at.kind][std::string{at.tensor}];
    role[at.kind].insert(at.role);
  }
  std::map<site_kind, std::map<std::string, int>> seen;
  std::map<site_kind, std::set<tensor_role>> role;
};

// Operands stay multiplied by powers of two, another one for each kind; rounds nothing.
class exact_scaling final : public rounding_hook {
 public:
  void round(const site& /*at*/, std::span<float> /*values*/) override {}
  float round_operand(const site& at, std::span<float> values) override {
    const float scale = at.kind == site_kind::weight ? 0x1p5F : at.kind == site_kind::activation ? 0x1p-3F : 0x1p9F;
    for (float& x : values) x *= scale;
    return 1 / scale;
  }
};

}  // namespace

TEST_CASE("layers take scaled operands for what they are worth") {
  for (const network_kind kind : {network_kind::mlp, network_kind::transformer}) {
    CAPTURE(kind);
    const training_options o{.network = kind, .optimizer = optimizer_kind::sgd};
    exact_scaling hook;
    training t(o, hook, std::nullopt);
    digest d;
    for (int i = 0; i < 5; ++i) d.add(t.advance().recorded);
    CHECK(d.value() == digest_of(o, false, 5));
  }
}

TEST_CASE("a training is the same on every machine") {
  CHECK(digest_of({.network = network_kind::mlp}, true, 50) == 0x8E032C297802DB7);
  CHECK(digest_of({.network = network_kind::mlp, .optimizer = optimizer_kind::sgd}, false, 50) == 0x70EB3D9A5940FC5B);
  CHECK(digest_of({.network = network_kind::transformer}, true, 50) == 0x73515953C4F0FE2F);
  CHECK(digest_of({.network = network_kind::transformer, .tied = true, .microbatches = 2}, true, 25) ==
        0xAAA54CEAD899FDBF);
}

TEST_CASE("the processor's rounding and flush modes change nothing, and come back") {
  const std::uint64_t usual = digest_of({.network = network_kind::mlp}, true, 5);
  std::fesetround(FE_UPWARD);
#ifdef __x86_64__
  const unsigned before = __builtin_ia32_stmxcsr();
  __builtin_ia32_ldmxcsr(before | 0x8040);  // FTZ, DAZ
#endif
  const std::uint64_t upward = digest_of({.network = network_kind::mlp}, true, 5);
  const int direction = std::fegetround();
#ifdef __x86_64__
  CHECK((__builtin_ia32_stmxcsr() & 0x8040) == 0x8040);
  __builtin_ia32_ldmxcsr(before);
#endif
  std::fesetround(FE_TONEAREST);
  CHECK(direction == FE_UPWARD);
  CHECK(upward == usual);
}

TEST_CASE("every tensor that is kept passes the hook") {
  listening_hook hook;
  training t({.network = network_kind::transformer, .microbatches = 2}, hook, policy(2000));
  REQUIRE(t.advance().row.error.empty());
  std::set<std::string> weights;
  std::set<std::string> low_weights;
  for (const tensor_info& info : t.tensors()) {
    weights.insert(info.name);
    if (info.role == tensor_role::low) low_weights.insert(info.name);
  }
  CHECK(weights.size() == 16);
  const auto times = [&](site_kind kind, const std::string& tensor) { return hook.seen[kind][tensor]; };
  for (const std::string& w : weights) {
    CAPTURE(w);
    CHECK(times(site_kind::weight, w) == (low_weights.contains(w) ? 2 : 0));
    CHECK(times(site_kind::weight_grad, w) == 2);
    CHECK(times(site_kind::accumulator, w) == 2);
    CHECK(times(site_kind::optimizer_state, w + "/exp_avg") == 1);
    CHECK(times(site_kind::optimizer_state, w + "/exp_avg_sq") == 1);
    CHECK(times(site_kind::update, w) == 1);
    CHECK(times(site_kind::master_weight, w) == 1);
  }
  for (const std::string layer : {"layers.0", "layers.1"}) {
    for (const std::string part : {".qkv", ".out", ".up", ".down"})
      for (const std::string end : {".input", ".output"})
        for (const site_kind kind : {site_kind::activation, site_kind::activation_grad}) {
          CAPTURE(layer, part, end);
          CHECK(times(kind, layer + part + end) == 2);
        }
    CHECK(times(site_kind::activation, layer + ".attention.scores") == 2);
    CHECK(times(site_kind::activation, layer + ".attention.softmax") == 2);
    CHECK(times(site_kind::activation, layer + ".attention.probabilities") == 2);
    CHECK(times(site_kind::activation_grad, layer + ".attention.scores") == 2);
    CHECK(times(site_kind::activation_grad, layer + ".attention.probabilities") == 2);
    CHECK(times(site_kind::activation, layer + ".mlp_norm.output") == 2);
    CHECK(times(site_kind::activation_grad, layer + ".attention_norm.input") == 2);
  }
  CHECK(times(site_kind::activation, "head.output") == 2);
  using roles = std::set<tensor_role>;
  CHECK(hook.role[site_kind::weight] == roles{tensor_role::low});
  CHECK(hook.role[site_kind::activation] == roles{tensor_role::low, tensor_role::float32});
  CHECK(hook.role[site_kind::weight_grad] == roles{tensor_role::low, tensor_role::float32});
  CHECK(hook.role[site_kind::master_weight] == roles{tensor_role::float32});
}

TEST_CASE("a step is recorded as a recorder would see it") {
  low_rounding hook({float16}, 1);
  training t({}, hook, policy(2000));
  const trained_step now = t.advance();
  CHECK(now.recorded.key == step_key{});
  CHECK(now.recorded.scalars.loss_scale == 65536);
  CHECK(now.recorded.scalars.found_inf == false);
  CHECK(now.recorded.scalars.applied == true);
  CHECK(now.row.scale_used == 65536);
  CHECK(now.nonzero > 0);
  REQUIRE(now.recorded.tensors.size() == t.tensors().size());
  for (const tensor_row& row : now.recorded.tensors) {
    const tensor_info& info = t.tensors()[row.tensor];
    CAPTURE(info.name);
    CHECK(info.kind == tensor_kind::weight_grad);
    CHECK(info.through == (info.role == tensor_role::low ? "float16" : ""));
    CHECK(row.factor == 65536);
    CHECK(row.table.numel == info.numel);
    if (info.role == tensor_role::low) CHECK(row.table.min_abs >= 0x1p-24);
  }

  no_rounding nothing;
  training twin({}, nothing, std::nullopt);
  const trained_step other = twin.advance();
  CHECK(std::isnan(other.recorded.scalars.loss_scale));
  CHECK(other.recorded.scalars.found_inf == std::nullopt);
  CHECK(other.recorded.scalars.applied == true);
  CHECK(other.recorded.tensors.front().factor == 1);
  CHECK(twin.tensors()[3].through.empty());
  CHECK(other.underflow == 0);
}

TEST_CASE("tied and accumulated gradients are float32 sums of parts") {
  low_rounding hook({float16}, 1);
  training t({.tied = true, .microbatches = 3}, hook, policy(2000));
  CHECK(t.tensors().front().name == "embedding.weight");
  CHECK(t.tensors().front().role == tensor_role::low);
  const trained_step first = t.advance();
  for (const tensor_row& row : first.recorded.tensors) {
    const tensor_info& info = t.tensors()[row.tensor];
    const bool is_low = info.role == tensor_role::low;
    CHECK(info.through == (is_low ? "float16" : ""));
    const gradient_parts once = is_low ? gradient_parts{.rounded = 3} : gradient_parts{.kept = 3};
    CHECK(row.parts == (row.tensor == 0 ? gradient_parts{.rounded = 3, .kept = 3} : once));
  }
  no_rounding nothing;
  training twin({.tied = true, .microbatches = 3}, nothing, std::nullopt);
  CHECK(twin.advance().recorded.tensors.front().parts == gradient_parts{.kept = 6});
}

// Rounds nothing; the last updates by tensor.
class update_listener final : public rounding_hook {
 public:
  void round(const site& at, std::span<float> values) override {
    if (at.kind == site_kind::update) updates[std::string{at.tensor}].assign(values.begin(), values.end());
  }
  std::map<std::string, std::vector<double>> updates;
};

TEST_CASE("joint tables are of the weights before an update and of what it adds") {
  update_listener heard;
  const training_options o{.network = network_kind::mlp, .joint = true};
  training t(o, heard, std::nullopt);
  const std::size_t parameters = t.tensors().size() / 2;
  for (int step = 0; step < 3; ++step) {
    std::vector<std::vector<double>> before;
    for (std::size_t i = 0; i < parameters; ++i) before.emplace_back(t.weights(i).begin(), t.weights(i).end());
    const trained_step now = t.advance();
    REQUIRE(now.joints.size() == parameters);
    REQUIRE(now.recorded.tensors.size() == 2 * parameters);
    for (std::size_t i = 0; i < parameters; ++i) {
      const auto& [weight, table] = now.joints[i];
      CHECK(weight == parameters + i);
      CHECK(t.tensors()[weight].name == "weight/" + t.tensors()[i].name);
      CHECK(t.tensors()[weight].kind == tensor_kind::weight);
      joint_counter expected;
      expected.add(before[i], heard.updates.at(t.tensors()[i].name));
      CHECK(table == expected.take());
      CHECK(now.recorded.tensors[weight].table.numel == before[i].size());
    }
  }
  training_options narrow = o;
  narrow.recipe = optimizer_recipe{.dialect = find_optimizer("torch_adam"), .parameters = {}, .weights = bfloat16};
  CHECK_THROWS_AS(training(narrow, heard, std::nullopt), std::invalid_argument);
}

TEST_CASE("a loss that overflows is skipped, or poisons the weights where the scaler does not look") {
  low_rounding hook({float16}, 1);
  scaler huge = policy(2000);
  huge.set_state("scale", 0x1p60);
  training t({.network = network_kind::mlp}, hook, huge);
  const trained_step now = t.advance();
  CHECK(now.row.found_inf);
  CHECK(now.row.skipped);
  CHECK(now.recorded.scalars.applied == false);
  CHECK(std::isfinite(t.advance().recorded.scalars.loss));

  scaler fixed = make_scaler(*find_scaler("static"), {{"loss_scale", 0x1p60}, {"skip_on_overflow", false}});
  training poisoned({.network = network_kind::mlp}, hook, fixed);
  CHECK(poisoned.advance().row.poisoned);
  CHECK(std::isnan(poisoned.advance().recorded.scalars.loss));
}

TEST_CASE("what cannot be trained is refused") {
  no_rounding hook;
  CHECK_THROWS_AS(training({.microbatches = 0}, hook, std::nullopt), std::invalid_argument);
  CHECK_THROWS_AS(training({.width = 7}, hook, std::nullopt), std::invalid_argument);
  for (const scaler_entry& entry : scaler_catalog())
    if (entry.scope == machine_scope::tensor)
      CHECK_THROWS_AS(training({}, hook, make_scaler(entry)), std::invalid_argument);
}
