// Pins what a run is told that comes back, or does not learn on: a peak of the loss, zeros that come to many gradients together,
// norms that were clipped before they were recorded, and excerpts too short to judge.
#include <cmath>
#include <functional>
#include <random>

#include "made_run.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

// Losses of a log of norms, one step each.
made_run log_of(const std::vector<double>& losses, const std::vector<double>& norms = {}) {
  made_run log;
  for (std::size_t i = 0; i < losses.size(); ++i) {
    log.scalars.loss = losses[i];
    log.scalars.grad_norm = norms.empty() ? 1 : norms[i];
    log.add(std::vector<std::vector<float>>{});
  }
  return log;
}

// 40 steps that fall, 12 at a level, and 60 that fall again.
std::vector<double> with_peak(double level) {
  std::vector<double> losses;
  for (int i = 0; i < 40; ++i) losses.push_back(6 - 0.05 * i);
  for (int i = 0; i < 12; ++i) losses.push_back(level + (i == 5 ? 1 : 0));
  for (int i = 0; i < 60; ++i) losses.push_back(4 - 0.02 * i);
  return losses;
}

std::vector<float> values_with_zeros(int zeros) {
  std::vector<float> values(100, 0.5F);
  std::fill(values.begin(), values.begin() + zeros, 0.0F);
  return values;
}

}  // namespace

TEST_CASE("a loss that more than doubles and comes back is a peak, with its steps") {
  const loss_peak peak = first_of<loss_peak>(log_of(with_peak(12)));
  CHECK(peak.high.first == 40);
  CHECK(peak.high.last == 51);
  CHECK(peak.highest == 13);
  CHECK(peak.highest_at == 45);
  CHECK(peak.before < 4.5);
  CHECK_FALSE(peak.dying);
  // Less than doubled, and where all losses are as noisy as that.
  CHECK(log_of(with_peak(7)).names().empty());
  std::vector<double> noisy;
  for (int i = 0; i < 200; ++i) noisy.push_back(i % 3 == 0 ? 0.5 : i % 3 == 1 ? 2.0 : 3.0);
  CHECK(log_of(noisy).names().empty());
  // Losses of single batches, as far apart as noise to the square is: no trend.
  std::vector<double> far_apart;
  std::uint32_t random = 7;
  for (int i = 0; i < 2000; ++i) {
    random = random * 1664525U + 1013904223U;
    const double u = (random >> 8U) / 0x1p24;
    far_apart.push_back(0.01 + u * u * u);
  }
  far_apart[0] = far_apart[1] = far_apart[2] = 0.0175;
  CHECK(log_of(far_apart).names().empty());
  // Near zero it means nothing.
  std::vector<double> small = with_peak(12);
  for (std::size_t i = 3; i < small.size(); ++i) small[i] /= 200;
  CHECK(log_of(small).names().empty());
}

TEST_CASE("zeros that come to many gradients together are told where the loss falls no more") {
  const auto run = [](double last_loss, int dead_modules, int zeros) {
    made_run made({"a.weight", "a.bias", "b.weight", "c.weight"});
    for (int i = 0; i < 100; ++i) {
      made.scalars.loss = i < 10 ? 4 - 0.1 * i : 3 + (last_loss - 3) * (i - 10) / 90;
      const int now = i < 10 ? 0 : zeros;
      const auto of = [&](int module) { return values_with_zeros(module < dead_modules ? now : 0); };
      made.add({of(0), of(0), of(1), of(2)});
    }
    return made;
  };
  const dying_units dying = first_of<dying_units>(run(3, 2, 40));
  CHECK(dying.tensors == std::vector<std::uint32_t>{0, 1, 2});
  CHECK(dying.zeros_before == 0);
  CHECK(dying.zeros_low == Approx(0.4));
  CHECK(dying.zeros_high == Approx(0.4));
  CHECK(dying.from >= 8);
  CHECK(dying.to <= 12);
  CHECK(run(1, 2, 40).names().empty());  // it learns on
  CHECK(run(3, 1, 40).names().empty());  // of one module
  CHECK(run(3, 2, 10).names().empty());  // few
}

TEST_CASE("a peak of the loss names the zeros that came with it") {
  made_run made({"a.weight", "b.weight", "c.weight"});
  int step = 0;
  for (const double loss : with_peak(12)) {
    made.scalars.loss = loss;
    const std::vector<float> values = values_with_zeros(step++ < 45 ? 0 : 60);
    made.add({values, values, values});
  }
  const loss_peak peak = first_of<loss_peak>(made);
  REQUIRE(peak.dying);
  CHECK(peak.dying->tensors.size() == 3);
}

TEST_CASE("norms that pile up at their largest were clipped before they were recorded") {
  const auto run = [](auto norm_of) {
    made_run made({"a.weight"});
    for (int i = 0; i < 60; ++i) made.add({{static_cast<float>(norm_of(i))}});
    return made;
  };
  const auto grown = [](int i) { return 0.2 * std::pow(1.08, i); };
  const recorded_clipped clipped =
      first_of<recorded_clipped>(run([&](int i) { return std::min(grown(i), 1.0 + 1e-6 * i); }));
  CHECK(clipped.limit == Approx(1).epsilon(0.05));
  CHECK(clipped.at_limit >= 35);
  CHECK(clipped.of == 60);
  CHECK(run(grown).names().empty());
  CHECK(run([](int i) { return 1 + 0.2 * std::sin(i); }).names().empty());
  CHECK(run([](int i) { return i < 20 ? 0.1 : 1.0; }).names().empty());   // it stands still
  CHECK(run([](int i) { return std::pow(0.9995, i); }).names().empty());  // hardly differs
}

TEST_CASE("an excerpt says what rises in it, and that it is short") {
  const diagnosis rising =
      log_of({1.49, 1.45, 1.47, 1.44, 1.43, 1.52, 1.61, 1.85}, {988, 1015, 589, 402, 389, 911, 1323, 2211}).found();
  REQUIRE(rising.excerpt);
  CHECK(rising.excerpt->steps == 8);
  REQUIRE(rising.excerpt->loss);
  CHECK(rising.excerpt->loss->least == 1.43);
  CHECK(rising.excerpt->loss->least_at == 4);
  CHECK(rising.excerpt->loss->last == 1.85);
  REQUIRE(rising.excerpt->norm);
  CHECK(rising.excerpt->norm->last == 2211);
  const diagnosis falling = log_of({3, 2.9, 2.7, 2.6}).found();
  REQUIRE(falling.excerpt);
  CHECK_FALSE(falling.excerpt->loss);
  CHECK_FALSE(falling.excerpt->norm);
  // 20 steps are enough.
  CHECK_FALSE(log_of(std::vector<double>(20, 1.0)).found().excerpt);
  CHECK(log_of(std::vector<double>(19, 1.0)).found().excerpt);
}

TEST_CASE("one step of large gradients from which on a higher loss falls as before is no divergence") {
  const auto with = [](double growth, const std::function<double(int)>& loss_after, double norm_after = 1) {
    std::mt19937 random(5);
    std::normal_distribution<double> noise;
    made_run run;
    for (int i = 0; i < 300; ++i) {
      run.scalars.loss = (i < 150 ? 3 - 0.005 * i : loss_after(i - 150)) + 0.03 * noise(random);
      run.scalars.grad_norm = i == 150 ? growth : (i < 150 ? 1 : norm_after) * (1 + 0.02 * (i % 7));
      run.add(std::vector<std::vector<float>>{});
    }
    return run;
  };
  const auto as_before = [](int i) { return 4.6 - 0.005 * i; };
  const auto rise = with(45, as_before).found();
  CHECK(rise.causes.empty());
  REQUIRE(rise.rise);
  CHECK(rise.rise->step == 150);
  CHECK(rise.rise->outlier == Approx(45 / 1.06).epsilon(0.03));
  CHECK(with(45, as_before, 5).names() == names{"divergence"});  // the gradients do not come down
  CHECK(with(45, [](int) { return 4.6; }).names() == names{"divergence"});
  CHECK(with(45, [](int i) { return 4.6 - 0.0005 * i; }).names() == names{"divergence"});  // far slower
  CHECK(with(45, [](int i) { return i < 45 ? 5.5 - 0.02 * i : 4.6; }).names() ==
        names{"divergence"});                                                          // comes back at once
  CHECK(with(45, [](int i) { return 9 - 0.01 * i; }).names() == names{"divergence"});  // far above where it began
}
