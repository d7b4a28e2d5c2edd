// Pins what the largest values of tensors tell of the format they were computed in, on values that were rounded here.
#include "support/catch.hpp"

#include <ulp/formats/catalog.hpp>
#include <ulp/formats/codec.hpp>
#include <ulp/model/cells/value_classes.hpp>

#include <cmath>
#include <random>

using namespace ulp;

namespace {

double rounded(const format& f, double x) { return to_double(f, encode(f, x).code); }

// What values of that kind are taken for after some steps. They are recorded times the loss scale, and unscaled.
template <typename Draw>
value_class class_of(Draw draw, std::int64_t steps = 200, double factor = 0) {
  std::mt19937 random(3);
  value_classes classes;
  for (std::int64_t i = 0; i < steps; ++i) {
    step now;
    now.key.step = i;
    now.scalars.loss_scale = 1024;
    tensor_row row{.tensor = 2, .type = dtype::float32, .factor = factor == 0 ? 1024 : factor};
    row.table.max_abs = draw(random) * (row.factor_known() ? row.factor / 1024 : 1);
    now.tensors.push_back(row);
    classes.see(now);
  }
  return classes[2];
}

double any(std::mt19937& random) {
  return static_cast<float>(std::exp2(std::uniform_real_distribution{-10.0, 14.0}(random)));
}

}  // namespace

TEST_CASE("values tell the format they were rounded to") {
  const auto half = [](auto& r) { return rounded(float16, any(r)); };
  const auto brain = [](auto& r) { return rounded(bfloat16, any(r)); };
  CHECK(class_of(half) == value_class::float16);
  CHECK(class_of(half, 200, 1) == value_class::float16);  // unscaled
  CHECK(class_of(half, 200, not_known) == value_class::float16);
  CHECK(class_of(brain) == value_class::bfloat16);
  CHECK(class_of([](auto& r) { return any(r); }) == value_class::float32);
  // Two parts of float16: their sum is a number of it where their last bits happen to be.
  const auto accumulated = [](auto& r) {
    const double a = rounded(float16, any(r));
    return a + rounded(float16, a * std::uniform_real_distribution{0.1, 1.0}(r));
  };
  CHECK(class_of(accumulated) == value_class::sum);
  // One part of float16, one of float32, as of tied weights.
  CHECK(class_of([&](auto& r) { return static_cast<double>(static_cast<float>(half(r) + any(r))); }) ==
        value_class::float32);
}

TEST_CASE("a few units of the least float16 number are bfloat16 numbers too, and tell by their least") {
  std::mt19937 random(5);
  const auto class_with_least = [&](double least) {
    value_classes classes;
    for (std::int64_t i = 0; i < 40; ++i) {
      step now;
      now.key.step = i;
      now.scalars.loss_scale = 8;
      tensor_row row{.tensor = 0, .type = dtype::float32, .factor = 1};
      row.table.max_abs = std::ldexp(static_cast<double>(1 + random() % 200), -24) / 8;
      row.table.min_abs = least / 8;
      now.tensors.push_back(row);
      classes.see(now);
    }
    return classes[0];
  };
  CHECK(class_with_least(0x1p-24) == value_class::float16);
  CHECK(class_with_least(0x3p-24) == value_class::float16);
  CHECK(class_with_least(0x1.8p-24) == value_class::bfloat16);
  CHECK(class_with_least(0x1p-30) == value_class::bfloat16);
  CHECK(class_with_least(not_known) == value_class::bfloat16);
}

TEST_CASE("half of the steps are enough to tell by their least") {
  const auto class_with = [](int near_least) {
    value_classes classes;
    for (int i = 0; i < 40; ++i) {
      step now;
      now.key.step = i;
      now.scalars.loss_scale = 8;
      tensor_row row{.tensor = 0, .type = dtype::float32, .factor = 1};
      row.table.max_abs = 100 * 0x1p-24 / 8;
      row.table.min_abs = (i < near_least ? 0x1p-24 : 0x1p-30) / 8;
      now.tensors.push_back(row);
      classes.see(now);
    }
    return classes[0];
  };
  CHECK(class_with(19) == value_class::bfloat16);
  CHECK(class_with(20) == value_class::float16);
}

TEST_CASE("few steps, zeros and micro-batches tell nothing") {
  const auto half = [](auto& r) { return rounded(float16, any(r)); };
  CHECK(class_of(half, 29) == value_class::unknown);
  CHECK(class_of(half, 30) == value_class::float16);
  CHECK(class_of([](auto&) { return 0.0; }) == value_class::unknown);
  value_classes classes;
  step now;
  now.key.microbatch = 0;
  now.tensors.push_back({});
  now.tensors.back().table.max_abs = 1;
  for (int i = 0; i < 100; ++i) classes.see(now);
  CHECK(classes[0] == value_class::unknown);
}

TEST_CASE("a number beyond the range of float16 is none") {
  CHECK(class_of([](auto& r) { return rounded(float16, any(r)) * 0x1p40; }) == value_class::float32);
  // Of values that may have been unscaled the significands alone tell.
  CHECK(class_of([](auto& r) { return rounded(float16, any(r)) * 0x1p40; }, 200, not_known) == value_class::float16);
  CHECK(class_of([](auto& r) { return rounded(float16, any(r)) * 0x1p-40; }, 200, not_known) == value_class::float16);
}
