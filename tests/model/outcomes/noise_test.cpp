// Pins the modelled error of rounding to published plateaus, and to rounding every value.
#include <ulp/model/outcomes/noise.hpp>

#include "support/catch.hpp"

#include <ulp/formats/catalog.hpp>
#include <ulp/formats/codec.hpp>
#include <ulp/formats/names.hpp>
#include <ulp/model/cells/cell_counter.hpp>

#include <cmath>
#include <numbers>
#include <random>
#include <vector>

#include "support/raw.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

std::vector<float> gaussian(std::size_t n, double deviation) {
  std::mt19937_64 random(5);
  const auto uniform = [&] { return (static_cast<double>(random() >> 11) + 0.5) * 0x1p-53; };
  std::vector<float> values(n);
  for (float& x : values)
    x = static_cast<float>(deviation * std::sqrt(-2 * std::log(uniform())) *
                           std::cos(2 * std::numbers::pi * uniform()));
  return values;
}

// The true sum of squared errors, in units of the values.
rounding_noise by_rounding(const std::vector<float>& values, const format& to, const rounding& mode, double scale) {
  rounding_noise truth;
  for (const float x : values) {
    const encoded e = encode(to, product(static_cast<double>(x), scale), mode);
    if (any(e.flags, status::overflow)) {
      ++truth.overflowing;
      continue;
    }
    const double error = to_double(to, e.code) / scale - static_cast<double>(x);
    truth.signal += static_cast<double>(x) * static_cast<double>(x);
    truth.squares += error * error;
    truth.products -= error * static_cast<double>(x);
    ++truth.values;
  }
  return truth;
}

}  // namespace

// Of values that were rounded one by one, here and by a program of its own: each fraction bit more is 6.02 dB.
TEST_CASE("the plateau of a Gaussian is that of its values rounded one by one") {
  struct plateau {
    const char* format;
    double decibels;
  };
  const std::vector<float> values = gaussian(200'000, 0.01);
  const cell_table table = count_cells(std::span{values});
  for (const auto& [name, decibels] :
       {plateau{"float16", 73.65}, plateau{"cbfloat16", 67.64}, plateau{"bfloat16", 55.59},
        plateau{"float8_e4m3fn", 31.52}, plateau{"float8_e5m2", 25.54}}) {
    CAPTURE(name);
    const format to = *find_format(name);
    const double scale = std::string{name}.starts_with("float8") ? 0x1p10 : 0x1p13;
    CHECK(noise_of(table, {to}, {.scale = scale}).sqnr() == Approx(decibels).margin(0.05));
    CHECK(by_rounding(values, to, {}, scale).sqnr() == Approx(decibels).margin(0.05));
  }
}

TEST_CASE("the bounds hold in every rounding and at every scale, and the model is close where values are many") {
  const std::vector<float> values = gaussian(20'000, 1);
  const cell_table table = count_cells(std::span{values});
  for (const char* const name : {"float16", "cbfloat16", "bfloat16", "float8_e5m2"})
    for (const direction d : deterministic_directions)
      for (const double scale : {0x1p-30, 0x1p-22, 0x1p-16, 0x1p-12, 1.0, 0x1p10}) {
        CAPTURE(name, static_cast<int>(d), scale);
        const format to = *find_format(name);
        const rounding mode{.direction = d};
        const rounding_noise truth = by_rounding(values, to, mode, scale);
        const rounding_noise model = noise_of(table, {to, mode}, {.scale = scale});
        CHECK(model.least <= truth.squares * (1 + 1e-9));
        CHECK(model.most >= truth.squares * (1 - 1e-9));
        CHECK(model.overflowing == truth.overflowing);
        if (truth.squares > 0 && (d == direction::nearest_even || d == direction::toward_zero))
          CHECK(model.sqnr() == Approx(truth.sqnr()).margin(to.fraction_bits < 4 ? 0.8 : 0.3));
      }
}

// Values spread evenly over a binade, in units of their spacing: errors of one sign average a half, those of stochastic rounding
// f (1 - f), whose mean is a sixth.
TEST_CASE("the model of other roundings is that of values spread evenly") {
  std::vector<float> values;
  for (int i = 0; i < 1 << 17; ++i) values.push_back(1 + static_cast<float>(i) * 0x1p-17F);
  const cell_table table = count_cells(std::span{values});
  for (const format& to : {bfloat16, float8_e4m3fn}) {
    const double u = std::ldexp(1.0, -to.fraction_bits);
    const auto n = static_cast<double>(values.size());
    double sum = 0;
    for (const float x : values) sum += double{x};
    const rounding_noise down = noise_of(table, {to, {.direction = direction::toward_zero}}, {});
    CHECK(down.squares == Approx(n * u * u / 3).epsilon(0.02));
    CHECK(down.products == Approx(sum * u / 2).epsilon(0.02));
    const rounding_noise drawn = noise_of(table, {to, {.direction = direction::stochastic}}, {});
    CHECK(drawn.squares == Approx(n * u * u / 6).epsilon(0.02));
    CHECK(std::abs(drawn.products) < sum * u / 50);
  }
}

TEST_CASE("with the error ladder SQNR, MSE and cosine are those of rounding every value") {
  std::vector<float> values = gaussian(3000, 1);
  for (const float x : gaussian(3000, 0x1p-20)) values.push_back(x);
  for (int k = -149; k < 4; ++k)
    for (const float f : {1.0F, 1.5F, 1.0F + 0x1p-10F, 1.0F + 0x1.8p-9F, 2.0F - 0x1p-23F})
      values.push_back((k % 2 == 0 ? -f : f) * std::ldexp(1.0F, k));  // powers of two, ties, ends of binades
  cell_counter counter(cell_counter::with::sums_and_errors);
  counter.add(values);
  const cell_table table = counter.take();
  std::size_t exact = 0;
  for (const char* const name : {"float16", "cbfloat16", "bfloat16", "tf32", "float8_e5m2", "float8_e4m3fn", "e3m8",
                                 "float6_e3m2", "dlfloat16", "e4m3fnuz,max=224", "binary8p3se"})
    for (const direction d : {direction::nearest_even, direction::nearest_away})
      for (const flush how : {flush::never, flush::before_rounding, flush::after_rounding, flush::result})
        for (const double scale : {0x1p-30, 0x1p-22, 0x1p-14, 0x1p-3, 1.0, 0x1p9}) {
          CAPTURE(name, static_cast<int>(d), static_cast<int>(how), scale);
          const format to = *find_format(name);
          const rounding mode{.direction = d, .flush = how};
          const rounding_noise truth = by_rounding(values, to, mode, scale);
          const rounding_noise noise = noise_of(table, {to, mode}, {.scale = scale});
          CHECK(noise.least <= truth.squares * (1 + 1e-9));
          CHECK(noise.most >= truth.squares * (1 - 1e-9));
          if (noise.squares_exact) CHECK(noise.squares == Approx(truth.squares).epsilon(1e-12));
          const bool known_binades = how == flush::never || how == flush::before_rounding;
          if (d == direction::nearest_even && known_binades && to.has_subnormals() && truth.overflowing == 0)
            CHECK(noise.exact);
          if (!noise.exact) continue;
          ++exact;
          CHECK(noise.overflowing == truth.overflowing);
          CHECK(noise.signal == Approx(truth.signal).epsilon(1e-12));
          CHECK(noise.products == Approx(truth.products).epsilon(1e-12));
          if (truth.signal > truth.squares) CHECK(noise.cosine() == Approx(truth.cosine()).epsilon(1e-12));
        }
  CHECK(exact > 70);
}

TEST_CASE("bounds hold where an octave overflows in part, and without sums") {
  std::vector<float> nearly(1000, 510);
  nearly.push_back(272);
  const format e4m3 = *find_format("float8_e4m3fn");
  const rounding_noise truth = by_rounding(nearly, e4m3, {}, 1);
  CHECK(truth.sqnr() == Approx(24.608).margin(0.001));
  const rounding_noise noise = noise_of(count_cells(std::span{nearly}), {e4m3}, {});
  CHECK(noise.overflowing == 1000);
  CHECK(noise.least_sqnr() <= truth.sqnr());
  CHECK_FALSE(noise.squares_exact);

  const auto repeated = [](float many, float one) {
    std::vector<float> values(999, many);
    values.push_back(one);
    return values;
  };
  for (const auto& values :
       {repeated(0.501F * 0x1p-24F, 0.74F * 0x1p-24F), repeated(0.251F * 0x1p-24F, 0.74F * 0x1p-24F),
        repeated(1 + 0x1p-11F, 1.49F), repeated(0.9F * 0x1p-24F, 0x1p-25F)})
    for (const direction d : deterministic_directions) {
      cell_counter counter(cell_counter::with::nothing);
      counter.add(values);
      const rounding_noise exactly = by_rounding(values, float16, {.direction = d}, 1);
      const rounding_noise estimated = noise_of(counter.take(), {float16, {.direction = d}}, {});
      CAPTURE(values.front(), static_cast<int>(d));
      CHECK_FALSE(estimated.squares_exact);
      CHECK(estimated.least <= exactly.squares * (1 + 1e-12));
      CHECK(estimated.most >= exactly.squares * (1 - 1e-12));
      CHECK(estimated.least_sqnr() <= exactly.sqnr() + 1e-9);
    }
}

TEST_CASE("a cosine is at most one, and nothing where all is lost") {
  const std::vector<float> exactly{1, 0.5F, 3};
  cell_counter counter(cell_counter::with::sums_and_errors);
  counter.add(exactly);
  CHECK(noise_of(counter.take(), {float16}, {}).cosine() == 1);
  std::vector<float> lost;
  for (int i = 1; i < 300; ++i) lost.push_back(0x1p-25F * (1 - 0x1p-12F * static_cast<float>(i)));
  counter.add(lost);
  CHECK(std::isnan(noise_of(counter.take(), {float16}, {}).cosine()));
}

TEST_CASE("factors, scales of zero and values without error") {
  const std::vector<float> values{1, 0.5F, 2, 0};
  const cell_table table = count_cells(std::span{values});
  const rounding_noise halves = noise_of(table, {float16}, {.scale = 1, .factor = 2});
  CHECK(halves.signal == Approx((1 + 0.25 + 4) / 4));
  CHECK(halves.values == 4);
  CHECK(noise_of(table, {float16}, {.scale = 0}).sqnr() == 0);
  CHECK(noise_of(table, {float16}, {.scale = INFINITY}).overflowing == 3);
  CHECK(std::isnan(noise_of(count_cells(std::span<const float>{}), {float16}, {}).sqnr()));
  CHECK(noise_of(table, {*find_format("float8_e4m3fn")}, {.scale = 0x1p20}).overflowing == 3);
}

TEST_CASE("where the factor is so small that squares are 0 the counts are right, and the rest is not known") {
  const std::vector<double> values{1, 1.5, 0x1.ffp-3, 1 + 0x1p-11, -1 - 0x1.8p-10, 0x1p-26, 0};
  std::vector<double> small;
  for (const double x : values) small.push_back(x * 0x1p-1030);
  const auto table_of = [](const std::vector<double>& of) {
    cell_counter counter(cell_counter::with::sums_and_errors);
    counter.add(of);
    return counter.take();
  };
  for (const char* const name : {"float16", "bfloat16", "float8_e5m2"})
    for (const double more : {1.0, 1.25}) {  // a power of two, and not
      CAPTURE(name, more);
      const treatment how{*find_format(name)};
      const rounding_noise usual = noise_of(table_of(values), how, {.scale = 1, .factor = more});
      const rounding_noise found = noise_of(table_of(small), how, {.scale = 1, .factor = more * 0x1p-1030});
      CHECK(found.values == usual.values);
      CHECK(found.overflowing == usual.overflowing);
      CHECK(std::isnan(found.sqnr()));
    }
}

TEST_CASE("the model is as close at scales that are no powers of two") {
  const std::vector<float> values = gaussian(200'000, 1);
  const cell_table table = count_cells(std::span{values});
  for (const char* const name : {"float8_e4m3fn", "float8_e5m2", "float16"})
    for (const double scale : {1.0, 1.1, 1.25, 1.4331, 1.5, 1.75, 1.999, 3.3, 0.07}) {
      CAPTURE(name, scale);
      const format to = *find_format(name);
      const rounding_noise told = noise_of(table, {to, {}}, {.scale = scale});
      CHECK(std::fabs(told.sqnr() - by_rounding(values, to, {}, scale).sqnr()) < 0.35);
    }
}
