// Pins what is found between pairs of trainings that differ by one planted fault, and that nothing is where they differ
// by the order of sums alone. All of one pair are trained with different orders of sums.
#include <ulp/model/comparison/run_comparison.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <ulp/formats/catalog.hpp>
#include <ulp/train/training.hpp>

#include "support/catch.hpp"

using namespace ulp;

namespace {

// True: the values are what is kept of them.
using fault = std::function<bool(const site& at, std::span<float> values)>;

class faulty_rounding final : public rounding_hook {
 public:
  faulty_rounding(fault with, const std::optional<format>& low) : fault_(std::move(with)) {
    if (low) low_.emplace(treatment{*low}, 1);
  }
  void round(const site& at, std::span<float> values) override {
    if (fault_ && fault_(at, values)) return;
    if (low_) low_->round(at, values);
  }
  [[nodiscard]] std::string through() const override { return low_ ? low_->through() : ""; }

 private:
  fault fault_;
  std::optional<low_rounding> low_;
};

struct run {
  training_options options;
  std::optional<format> low;
  fault with;
  std::string scaler = "pytorch_gradscaler";
  std::vector<std::pair<std::string, parameter_value>> parameters = {{"init_scale", 65536.0},
                                                                     {"growth_interval", 25.0}};
  std::int64_t steps = 60;
};

// One layer's tensors, from a step on, rounded to a format.
fault layer_in(const format& f, const std::string& layer, std::int64_t from = 0) {
  return [=, rounding = std::make_shared<low_rounding>(treatment{f}, 1)](const site& at, std::span<float> values) {
    const bool is_there = at.role == tensor_role::low && at.tensor.starts_with(layer) && at.step >= from;
    if (is_there) rounding->round(at, values);
    return is_there;
  };
}

// Of two micro-batches, which stand for ranks, the first alone makes the mean of a gradient; of all tensors where none
// is named.
fault lost_reduction(const std::string& tensor, std::int64_t from) {
  return [=, kept = std::make_shared<std::map<std::string, std::vector<float>, std::less<>>>()](
             const site& at, std::span<float> values) {
    if (at.kind != site_kind::accumulator || at.step < from || (!tensor.empty() && at.tensor != tensor)) return false;
    std::vector<float>& first = (*kept)[std::string{at.tensor}];
    if (at.microbatch == 0)
      first.assign(values.begin(), values.end());
    else
      std::ranges::transform(first, values.begin(), [](float x) { return 2 * x; });
    return false;
  };
}

// Adam's update of the layers whose names begin so, from a step on, with another epsilon than 1e-8.
fault epsilon_of(const std::string& layer, double epsilon, std::int64_t from = 0) {
  struct moments {
    std::vector<float> first;
    std::vector<float> second;
  };
  return [=, kept = std::make_shared<std::map<std::string, moments, std::less<>>>()](const site& at,
                                                                                     std::span<float> values) {
    const std::string name{at.tensor};
    if (at.kind == site_kind::optimizer_state) {
      const std::size_t slash = name.rfind('/');
      moments& m = (*kept)[name.substr(0, slash)];
      (name.substr(slash) == "/exp_avg" ? m.first : m.second).assign(values.begin(), values.end());
    }
    if (at.kind != site_kind::update || !name.starts_with(layer) || at.step < from) return false;
    const moments& m = (*kept)[name];
    const auto t = static_cast<double>(at.step + 1);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double deviation = std::sqrt(static_cast<double>(m.second[i]) / (1 - std::pow(0.999, t)));
      values[i] =
          static_cast<float>(-0.003 / (1 - std::pow(0.9, t)) * static_cast<double>(m.first[i]) / (deviation + epsilon));
    }
    return false;
  };
}

struct trained {
  std::vector<step> steps;
  std::vector<tensor_info> tensors;
};

trained train(const run& r) {
  faulty_rounding hook(r.with, r.low);
  const bool is_scaled = r.low == float16;
  training t(r.options, hook,
             is_scaled ? std::optional{make_scaler(*find_scaler(r.scaler), r.parameters)} : std::nullopt);
  trained all;
  for (std::int64_t i = 0; i < r.steps; ++i) all.steps.push_back(t.advance().recorded);
  all.tensors = t.tensors();
  return all;
}

run_differences compare(const trained& a, const trained& b, const std::vector<trained>& repeats = {}) {
  run_comparison comparison(repeats.size());
  for (std::size_t i = 0; i < a.tensors.size(); ++i) comparison.add_tensor(a.tensors[i], b.tensors[i]);
  for (std::size_t s = 0; s < a.steps.size(); ++s) {
    paired_step now{.key = a.steps[s].key, .a = &a.steps[s].scalars, .b = &b.steps[s].scalars};
    for (const trained& r : repeats) now.repeats.push_back(&r.steps[s].scalars);
    for (std::size_t t = 0; t < a.steps[s].tensors.size(); ++t) {
      paired_row row{.tensor = t, .a = &a.steps[s].tensors[t], .b = &b.steps[s].tensors[t]};
      for (const trained& r : repeats) row.repeats.push_back(&r.steps[s].tensors[t]);
      now.rows.push_back(std::move(row));
    }
    comparison.see(now);
  }
  return comparison.found();
}

// What is right to say: the step, and of its first part or tensor what belongs to it.
struct planted {
  std::string name;
  run healthy;
  std::function<void(run&)> change;
  std::int64_t step = 0;
  std::string tensor;             // begins so; empty: see `part`
  std::optional<step_part> part;  // the first
  bool is_everywhere = false;     // nearly all tensors
};

// Of the first step in which anything differs.
std::string first_tensor(const run_differences& d) {
  if (!d.first) return "";
  for (const part_change& p : d.first->parts)
    if (p.tensor) return d.tensors[*p.tensor].name;
  return "";
}

bool is_right(const planted& p, const run_differences& d) {
  if (!d.first || d.first->step != p.step) return false;
  if (!p.tensor.empty() && !first_tensor(d).starts_with(p.tensor)) return false;
  if (p.part && d.first->parts.front().part != *p.part) return false;
  return !p.is_everywhere || d.first->is_everywhere();
}

std::string text_of(const run_differences& d) {
  if (!d.first) return d.end ? "nothing up to step " + std::to_string(d.end->step) : "nothing";
  const part_change& p = d.first->parts.front();
  return "step " + std::to_string(d.first->step) + ", change over bound " + std::to_string(p.excess()) + ", part " +
         std::to_string(static_cast<int>(p.part)) + ", " + first_tensor(d) + ", " + std::to_string(d.first->over) +
         " of " + std::to_string(d.first->compared);
}

run small(network_kind network, optimizer_kind optimizer, const std::optional<format>& low, std::uint64_t seed,
          bool with_weights = false, int microbatches = 1) {
  return {.options = {.network = network,
                      .microbatches = microbatches,
                      .optimizer = optimizer,
                      .seed = seed,
                      .joint = with_weights},
          .low = low};
}

constexpr auto mlp = network_kind::mlp;
constexpr auto transformer = network_kind::transformer;
constexpr auto adam = optimizer_kind::adam;
constexpr auto sgd = optimizer_kind::sgd;
constexpr std::nullopt_t float32_run = std::nullopt;

std::vector<planted> faults() {
  const auto with = [](fault f) { return [f = std::move(f)](run& r) { r.with = f; }; };
  const auto set = [](const std::string& name, double value) {
    return [=](run& r) {
      for (auto& [key, old] : r.parameters)
        if (key == name) old = value;
    };
  };
  const auto seed = [](run& r) { r.options.seed += 100; };
  return {
      // A wrong epsilon shows in the weights where they are recorded, else in all gradients of the next step.
      {"epsilon, gradients alone", small(mlp, adam, float32_run, 11), with(epsilon_of("", 1e-6)), 1, "", {}, true},
      {"epsilon, transformer", small(transformer, adam, float32_run, 12), with(epsilon_of("", 1e-5)), 1, "", {}, true},
      {"epsilon, weights", small(mlp, adam, float32_run, 13, true), with(epsilon_of("", 1e-6)), 1, "weight/",
       step_part::weight},
      {"epsilon of a layer", small(transformer, adam, float32_run, 14, true), with(epsilon_of("layers.1.up", 1e-5)), 1,
       "weight/layers.1.up"},
      {"epsilon of a layer, later", small(mlp, adam, float32_run, 15, true), with(epsilon_of("narrow", 1e-5, 20)), 21,
       "weight/narrow"},
      {"epsilon in float16", small(transformer, adam, float16, 16, true), with(epsilon_of("", 1e-4)), 1, "weight/",
       step_part::weight},
      {"layer in float16", small(transformer, adam, float32_run, 17), with(layer_in(float16, "layers.1.up")), 0,
       "layers.1.up"},
      {"layer in float16, perceptron", small(mlp, sgd, float32_run, 18), with(layer_in(float16, "narrow")), 0,
       "narrow"},
      {"layer in float16, later", small(transformer, sgd, float32_run, 19), with(layer_in(float16, "layers.0.qkv", 7)),
       7, "layers.0.qkv"},
      {"layer in float16 of a bfloat16 run", small(transformer, adam, bfloat16, 20),
       with(layer_in(float16, "layers.0.down")), 0, "layers.0.down"},
      {"layer in bfloat16 of a float16 run", small(mlp, adam, float16, 21), with(layer_in(bfloat16, "hidden")), 0,
       "hidden"},
      {"lost all-reduce", small(transformer, adam, float32_run, 22, false, 2),
       with(lost_reduction("layers.0.out.weight", 0)), 0, "layers.0.out.weight"},
      {"lost all-reduce, later", small(mlp, sgd, float32_run, 23, false, 2), with(lost_reduction("hidden.weight", 5)),
       5, "hidden.weight"},
      {"lost all-reduce in float16", small(transformer, sgd, float16, 24, false, 2),
       with(lost_reduction("head.weight", 20)), 20, "head.weight"},
      {"lost all-reduce in bfloat16", small(mlp, adam, bfloat16, 25, false, 2),
       with(lost_reduction("narrow.weight", 10)), 10, "narrow.weight"},
      {"lost all-reduce of all",
       small(transformer, adam, float32_run, 26, false, 2),
       with(lost_reduction("", 5)),
       5,
       "",
       {},
       true},
      {"seed", small(transformer, adam, float32_run, 27), seed, 0, "", {}, true},
      {"seed in float16", small(mlp, sgd, float16, 28), seed, 0, "", {}, true},
      {"seed in bfloat16", small(transformer, sgd, bfloat16, 29), seed, 0, "", {}, true},
      {"initial scale", small(mlp, adam, float16, 30), set("init_scale", 8192), 0, "", step_part::loss_scale},
      {"growth interval", small(transformer, adam, float16, 31), set("growth_interval", 10), 10, "",
       step_part::loss_scale},
      {"another scaler", small(mlp, sgd, float16, 32),
       [](run& r) {
         r.scaler = "megatron_dynamic";
         r.parameters = {{"initial_scale", 65536.0}, {"growth_interval", 40.0}};
       },
       25, "", step_part::loss_scale},
  };
}

}  // namespace

TEST_CASE("planted faults are found in their step and tensor, and nothing in equal pairs") {
  int right = 0;
  int planted_pairs = 0;
  for (const planted& p : faults()) {
    run b = p.healthy;
    b.options.sums = planted_pairs % 2 == 0 ? sum_order::descending : sum_order::split;
    p.change(b);
    const run_differences found = compare(train(p.healthy), train(b));
    ++planted_pairs;
    const bool is = is_right(p, found);
    right += is ? 1 : 0;
    if (!is) UNSCOPED_INFO("not right: " << p.name << ": " << text_of(found));
  }

  int equal_pairs = 0;
  int alarms = 0;
  for (const network_kind network : {mlp, transformer})
    for (const optimizer_kind optimizer : {adam, sgd})
      for (const std::optional<format>& low :
           {std::optional<format>{}, std::optional{float16}, std::optional{bfloat16}})
        for (const bool with_weights : {false, true}) {
          run a = small(network, optimizer, low, 40 + static_cast<std::uint64_t>(equal_pairs), with_weights);
          a.steps = 150;
          run b = a;
          b.options.sums = equal_pairs % 2 == 0 ? sum_order::split : sum_order::descending;
          const run_differences found = compare(train(a), train(b));
          ++equal_pairs;
          if (!found.first) continue;
          ++alarms;
          UNSCOPED_INFO("false alarm in pair " << equal_pairs << ": " << text_of(found));
        }

  WARN("right: " << right << " of " << planted_pairs << "; false alarms: " << alarms << " of " << equal_pairs);
  CHECK(right * 10 >= planted_pairs * 9);
  CHECK(alarms * 15 <= equal_pairs);
}

TEST_CASE("a float32 twin of a float16 run is told by its format, and drifts no further than that explains") {
  run low = small(transformer, adam, float16, 5);
  run twin = small(transformer, adam, float32_run, 5);
  const run_differences found = compare(train(twin), train(low));
  CHECK(found.is_narrower_b);
  CHECK(found.format == "float16");
  CHECK_FALSE(found.first);
}

TEST_CASE("what repeats with other seeds differ by is explained, and a layer that learns nothing is not") {
  const auto seeded = [](std::uint64_t seed) { return train(small(mlp, sgd, float32_run, seed)); };
  const std::vector<trained> repeats{seeded(2), seeded(3), seeded(4)};
  CHECK(compare(seeded(1), seeded(5)).first);
  CHECK_FALSE(compare(seeded(1), seeded(5), repeats).first);
  run faulty = small(mlp, sgd, float32_run, 5);
  faulty.with = [](const site& at, std::span<float> values) {
    if (at.kind == site_kind::accumulator && at.tensor == "narrow.weight" && at.step >= 30)
      for (float& x : values) x *= 0.05F;
    return false;
  };
  const run_differences found = compare(seeded(1), train(faulty), repeats);
  REQUIRE(found.first);
  CHECK(found.first->step == 30);
  CHECK(first_tensor(found) == "narrow.weight");
  CHECK(found.first->parts.front().bound.by == bound_source::repeats);
}
