// Pins what zeros tell: of all gradients, of those that rounding cut off, and of modules that die.
#include <algorithm>

#include "made_run.hpp"

using namespace ulp;
using namespace ulp::test;

TEST_CASE("gradients that are zero to the end") {
  made_run zeros({"a.weight", "b.weight"});
  for (int i = 0; i < 50; ++i) zeros.add({{0.0F}, {0.0F}});
  CHECK(zeros.names() == names{"zero_gradients"});
  CHECK(first_of<zero_gradients>(zeros).starts_the_run);
  CHECK_FALSE(first_of<zero_gradients>(zeros).overflowed);

  made_run late({"a.weight"});
  for (int i = 0; i < 50; ++i) late.add({{i < 40 ? 1.0F : 0.0F}});
  CHECK(first_of<zero_gradients>(late).zero.first == 40);

  made_run overflowing({"a.weight"});
  for (int i = 0; i < 50; ++i) {
    overflowing.scalars.found_inf = i == 30;
    overflowing.scalars.loss_scale = i <= 30 ? 65536 : 32768;
    overflowing.add({{0.0F}});
  }
  CHECK(first_of<zero_gradients>(overflowing).overflowed == 30);

  made_run log;
  for (int i = 0; i < 30; ++i) {
    log.scalars.grad_norm = i < 12 ? 1 : 0;
    log.scalars.loss = i < 12 ? 2 : 0;
    log.add(std::vector<std::vector<float>>{});
  }
  CHECK(log.names() == names{"zero_gradients"});
  CHECK(first_of<zero_gradients>(log).loss_is_zero);
  CHECK(first_of<zero_gradients>(log).zero.first == 12);
}

TEST_CASE("zeros up to the end count from five steps on") {
  const auto with = [](int zeros) {
    made_run log;
    for (int i = 0; i < 30; ++i) {
      log.scalars.grad_norm = i < 30 - zeros ? 1 : 0;
      log.add(std::vector<std::vector<float>>{});
    }
    return log.names();
  };
  CHECK(with(5) == names{"zero_gradients"});
  CHECK(with(4).empty());
}

TEST_CASE("sums of micro-batches that are not zero are not taken for zeros") {
  made_run run({"a.weight"});
  for (int i = 0; i < 50; ++i) run.add({{1.0F}}, {.rounded = 4, .kept = 0});
  CHECK(run.names().empty());
}

TEST_CASE("values near the least number of their format had been cut off") {
  const auto least = 0x1p-24F;
  const auto with = [&](float unit, const std::string& through) {
    made_run run({"a.weight", "b.weight"}, through);
    for (int i = 0; i < 50; ++i) run.add({{0.0F, 0.0F, 0.0F, 0.0F}, {0.0F, unit, 2 * unit, 5 * unit}});
    return run;
  };
  const made_run cut = with(least, "float16");
  CHECK(cut.names() == names{"underflow"});
  const auto u = first_of<underflow>(cut);
  CHECK(u.tensors == 1);
  CHECK(u.of == 1);
  CHECK(u.all_zero == 1);
  CHECK(u.worst == 1);
  CHECK(u.zeros == 0.25);
  CHECK(u.mean_units == Approx(8.0 / 3));
  CHECK(with(1, "float16").names() == names{"dead_layer"});
  CHECK(with(least, "").names() == names{"dead_layer"});
}

TEST_CASE("values near the least number of which fewer than a tenth are zero were not cut off") {
  const auto with_zeros = [](std::size_t zeros) {
    std::vector<float> values(20, 0x1p-24F);
    std::fill_n(values.begin(), zeros, 0.0F);
    made_run run({"a.weight"}, "float16");
    for (int i = 0; i < 50; ++i) run.add({values});
    return run.names();
  };
  CHECK(with_zeros(1).empty());
  CHECK(with_zeros(2) == names{"underflow"});
}

TEST_CASE("what was zero all along is no part of what vanishes, and nothing that lives") {
  made_run run({"a.weight", "b.weight", "c.weight"});
  for (int i = 0; i < 200; ++i) {
    run.scalars.loss = 2.3;
    run.add({{i < 81 ? 1.0F : 0.0F}, {0.0F}, {i == 80 ? 20.0F : 1.0F}});
  }
  CHECK(run.names() == names{"vanished", "dead_layer"});
  const auto v = first_of<vanished>(run);
  CHECK(v.living == 2U);
  CHECK(v.peak == Approx(14).epsilon(0.1));  // of the norm
  CHECK(v.peak_step == 80);
}

TEST_CASE("the module where all gradients vanish is named, with the next that lives") {
  made_run run({"a.weight", "a.bias", "b.weight", "b.bias", "c.weight", "c.bias"});
  for (int i = 0; i < 200; ++i) {
    run.scalars.loss = 2.3;
    const float dying = i < 80 ? 1.0F : 0.0F;
    // The input of c died: so did the gradients of its weight, not of its bias.
    run.add({{dying}, {dying}, {dying}, {dying}, {dying}, {1.0F}});
  }
  CHECK(run.names() == names{"vanished"});
  const auto v = first_of<vanished>(run);
  CHECK(v.tensor == 3);
  CHECK(v.living == 5U);
  CHECK(v.tensors == 5);
}
