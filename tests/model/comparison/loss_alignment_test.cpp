// Pins which steps of two runs have the same loss, against pairs found by hand, and what is told of runs that advance at
// different speeds: nothing where they are trained alike, and a gradient that is not what it was.
#include <ulp/model/comparison/loss_alignment.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <ulp/formats/catalog.hpp>
#include <ulp/model/comparison/run_comparison.hpp>
#include <ulp/train/training.hpp>

#include "support/catch.hpp"

using namespace ulp;

namespace {

std::vector<step_loss> losses_from(std::int64_t step, std::vector<double> losses) {
  std::vector<step_loss> all;
  for (const double loss : losses) all.push_back({step++, loss});
  return all;
}

struct trained {
  std::vector<step> steps;
  std::vector<tensor_info> tensors;
};

using fault = std::function<void(const site& at, std::span<float> values)>;

class faulty final : public rounding_hook {
 public:
  explicit faulty(fault with) : fault_(std::move(with)) {}
  void round(const site& at, std::span<float> values) override {
    if (fault_) fault_(at, values);
  }

 private:
  fault fault_;
};

trained train(network_kind network, std::uint64_t seed, double rate_times, std::int64_t steps, fault with = {}) {
  training_options options{.network = network, .seed = seed};
  options.learning_rate = options.rate() * rate_times;
  faulty hook(std::move(with));
  training t(options, hook, std::nullopt);
  trained all;
  for (std::int64_t i = 0; i < steps; ++i) all.steps.push_back(t.advance().recorded);
  all.tensors = t.tensors();
  return all;
}

std::vector<step_loss> losses_of(const trained& run) {
  std::vector<step_loss> losses;
  for (const step& s : run.steps) losses.push_back({s.key.step, s.scalars.loss});
  return losses;
}

struct compared {
  std::vector<loss_pair> pairs;
  run_differences found;
};

compared compare(const trained& a, const trained& b) {
  compared all{
      pair_by_loss(loss_records(losses_of(a), usual_loss_window), loss_records(losses_of(b), usual_loss_window)), {}};
  run_comparison comparison(0, true, run_alignment::loss);
  for (std::size_t i = 0; i < a.tensors.size(); ++i) comparison.add_tensor(a.tensors[i], b.tensors[i]);
  for (const loss_pair& pair : all.pairs) {
    const step& of_a = a.steps[static_cast<std::size_t>(pair.a)];
    const step& of_b = b.steps[static_cast<std::size_t>(pair.b)];
    paired_step now{.key = of_a.key, .a = &of_a.scalars, .b = &of_b.scalars};
    for (std::size_t t = 0; t < of_a.tensors.size(); ++t)
      now.rows.push_back({.tensor = t, .a = &of_a.tensors[t], .b = &of_b.tensors[t]});
    comparison.see(now);
  }
  all.found = comparison.found();
  return all;
}

std::string text_of(const run_differences& d) {
  if (!d.first) return "nothing";
  const part_change& p = d.first->parts.front();
  return "step " + std::to_string(d.first->step) + ", " + (p.tensor ? d.tensors[*p.tensor].name : "no tensor") +
         ", change over bound " + std::to_string(p.excess());
}

}  // namespace

TEST_CASE("records are the least medians so far") {
  using all = std::vector<step_loss>;
  // Without smoothing: 5, 4, 3 and 2.5; what is above the least so far is none.
  CHECK(loss_records(losses_from(10, {5, 4, 4.5, 3, 3, 9, 2.5}), 1) == all{{10, 5}, {11, 4}, {13, 3}, {16, 2.5}});
  // Medians of three: 5 (alone), 4.5, 4, 3, 3, 3 (of 3, 9, 2.5), 2.5 (alone).
  CHECK(loss_records(losses_from(10, {5, 4, 4.5, 3, 3, 9, 2.5}), 3) ==
        all{{10, 5}, {11, 4.5}, {12, 4}, {13, 3}, {16, 2.5}});
  // A lucky batch is no record, and what was lost or not logged is no loss.
  CHECK(loss_records(losses_from(0, {5, 5, 1, 5, 5}), 3) == all{{0, 5}});
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(loss_records(losses_from(0, {nan, 4, nan, 3, std::numeric_limits<double>::infinity()}), 1) ==
        all{{1, 4}, {3, 3}});
  CHECK(loss_records({}, 9).empty());
}

TEST_CASE("pairs are each other's nearest, and ascend in both runs") {
  using all = std::vector<loss_pair>;
  // B takes more steps. 4 lies between 4.02 and 3.99, which is nearer; 4.5 and 3.52 of B have no equal in A.
  const auto a = loss_records(losses_from(0, {5, 4, 3, 2}), 1);
  const auto b = loss_records(losses_from(100, {5.01, 4.5, 4.02, 3.99, 3.52, 3, 2.4}), 1);
  const all pairs{{0, 100, 5, 5.01}, {1, 103, 4, 3.99}, {2, 105, 3, 3}};
  CHECK(pair_by_loss(a, b) == pairs);
  // The runs may change places.
  all swapped;
  for (const loss_pair& p : pairs) swapped.push_back({p.b, p.a, p.level_b, p.level_a});
  CHECK(pair_by_loss(b, a) == swapped);
  // 2 of A and 2.4 of B are each other's nearest, but no equal losses; nor are there any where the runs never meet.
  CHECK(pair_by_loss(loss_records(losses_from(0, {2, 1}), 1), loss_records(losses_from(0, {4, 3}), 1)).empty());
  CHECK(pair_by_loss({}, a).empty());
  CHECK(pair_by_loss(a, {}).empty());
}

TEST_CASE("a loss that falls twice as fast is paired at half the steps") {
  std::vector<step_loss> slow;
  std::vector<step_loss> fast;
  for (std::int64_t i = 0; i < 400; ++i) slow.push_back({i, 3 * std::exp(-static_cast<double>(i) / 200)});
  for (std::int64_t i = 0; i < 200; ++i) fast.push_back({i, 3 * std::exp(-static_cast<double>(i) / 100)});
  const auto pairs = pair_by_loss(loss_records(slow, usual_loss_window), loss_records(fast, usual_loss_window));
  REQUIRE(pairs.size() == 200);
  for (const loss_pair& p : pairs) CHECK(p.a == 2 * p.b);
}

TEST_CASE("runs at another learning rate and with other data differ in nothing at the same loss") {
  for (const network_kind network : {network_kind::mlp, network_kind::transformer})
    for (std::uint64_t seed = 1; seed <= 4; ++seed)
      for (const double times : {0.5, 1.0, 2.0}) {
        const trained a = train(network, seed, 1, 300);
        const compared of = compare(a, train(network, seed + 100, times, 400));
        CAPTURE(seed, times, static_cast<int>(network), text_of(of.found), of.pairs.size());
        CHECK(of.pairs.size() > usual_ratio::enough);
        CHECK_FALSE(of.found.first);
      }
}

TEST_CASE("a gradient that is lost, and a layer in a narrower format, are found at the same loss") {
  const auto round_to = [](const format& f, const std::string& layer, std::int64_t from) {
    return [=, rounding = std::make_shared<low_rounding>(treatment{f}, 1)](const site& at, std::span<float> values) {
      if (at.tensor.starts_with(layer) && at.step >= from && at.role == tensor_role::low) rounding->round(at, values);
    };
  };
  std::size_t narrower = 0;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const trained a = train(network_kind::mlp, seed, 1, 300);
    const std::string name = std::ranges::find(a.tensors, tensor_role::low, &tensor_info::role)->name;
    const compared of = compare(
        a, train(network_kind::mlp, seed + 100, 0.5, 400, round_to(bfloat16, name.substr(0, name.rfind('.')), 0)));
    CAPTURE(seed, name, text_of(of.found));
    REQUIRE(of.found.first);
    const part_change& p = of.found.first->parts.front();
    narrower += p.is_narrower && p.tensor && of.found.tensors[*p.tensor].name == name ? 1 : 0;
  }
  CHECK(narrower == 4);

  std::size_t lost = 0;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const trained a = train(network_kind::mlp, seed, 1, 300);
    const std::string name = a.tensors[2].name;
    constexpr std::int64_t from = 120;
    const compared of =
        compare(a, train(network_kind::mlp, seed + 100, 0.5, 400, [&](const site& at, std::span<float> x) {
                  if (at.kind == site_kind::accumulator && at.tensor == name && at.step >= from)
                    for (float& v : x) v *= 0x1p-12F;
                }));
    CAPTURE(seed, name, text_of(of.found));
    REQUIRE(of.found.first);
    const auto first = std::ranges::find_if(of.pairs, [](const loss_pair& p) { return p.b >= from; });
    REQUIRE(first != of.pairs.end());
    const part_change& p = of.found.first->parts.front();
    lost += of.found.first->step == first->a && p.tensor && of.found.tensors[*p.tensor].name == name ? 1 : 0;
  }
  CHECK(lost == 4);
}
