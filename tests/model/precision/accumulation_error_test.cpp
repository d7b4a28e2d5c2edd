// Pins what accumulating micro-batches loses: sums equal those of dot.hpp, which are numpy's and torch's; errors are those of
// their sums; what is published about the size of errors comes out, measured and modelled.
#include <ulp/model/precision/accumulation_error.hpp>

#include <cmath>
#include <limits>
#include <stdexcept>

#include <ulp/formats/catalog.hpp>
#include <ulp/model/precision/dot_error.hpp>

#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/npz.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

using matrix = std::vector<std::vector<double>>;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

accumulation in(const format& f, sum_order order = {}) {
  accumulation how;
  how.accumulator = f;
  how.order = order;
  return how;
}

// So many micro-batches of normal numbers.
matrix normal_addends(std::size_t count, std::size_t numel, double mean, double deviation) {
  matrix all;
  for (std::size_t k = 0; k < count; ++k) {
    all.push_back(generated_numbers(distribution::normal, 3, k, numel));
    for (double& x : all.back()) x = static_cast<float>(mean + deviation * x);
  }
  return all;
}

double relative_error(const std::vector<double>& sums, const std::vector<double>& exact) {
  double errors = 0;
  double squares = 0;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    errors += (sums[i] - exact[i]) * (sums[i] - exact[i]);
    squares += exact[i] * exact[i];
  }
  return std::sqrt(errors / squares);
}

TEST_CASE("errors are those of the sums that numpy and torch made") {
  const auto golden = read_npz(source_dir() / "tests/data/sums/microbatches32.npz");
  const std::vector<float> columns = golden.at("addends").as<float>();
  const std::size_t numel = golden.at("addends").shape.at(0);
  const std::size_t count = golden.at("addends").shape.at(1);
  REQUIRE(count == 32);
  matrix addends(count, std::vector<double>(numel));
  for (std::size_t i = 0; i < numel; ++i)
    for (std::size_t k = 0; k < count; ++k) addends[k][i] = columns[i * count + k];
  const std::vector<double> exact = golden.at("exact_as_double").as<double>();
  const auto check = [&](const std::string& name, const accumulation& how) {
    INFO(name);
    std::vector<double> sums;
    if (golden.at(name).type == "<u2")
      for (const std::uint16_t c : golden.at(name).as<std::uint16_t>()) sums.push_back(to_double(how.result(), c));
    else
      for (const std::uint32_t c : golden.at(name).as<std::uint32_t>()) sums.push_back(to_double(how.result(), c));
    const accumulation_errors errors = accumulation_error(addends, how);
    CHECK(errors.relative() == relative_error(sums, exact));
    CHECK(errors.numel == numel);
    CHECK(errors.addends <= numel * count);
  };
  for (const auto& [name, f] : {std::pair{"fp16", float16}, {"bf16", bfloat16}, {"fp32", float32}}) {
    const std::string start = std::string(name) + "_";
    check(start + "nearest", in(f));
    check(start + "kahan", in(f, {sum_order::compensated}));
    check(start + "chunk8", in(f, {sum_order::chunks, 8}));
    check(start + "chunk64", in(f, {sum_order::chunks, 64}));
    if (f == float32) continue;
    accumulation outside = in(f, {sum_order::chunks, 8});
    outside.outer = float32;
    check(start + "chunk8_outer_f32", outside);
  }
}

// Both are one definition, as long as nothing is drawn.
TEST_CASE("sums equal those of dot.hpp in every order and direction") {
  const matrix addends = normal_addends(19, 50, 0.25, 1);
  for (const format& f : {float16, bfloat16, cbfloat16, float8_e5m2, float8_e4m3fn})
    for (const direction way : {direction::nearest_even, direction::nearest_away, direction::toward_zero,
                                direction::toward_positive, direction::toward_negative, direction::to_odd})
      for (const sum_order order : {sum_order{}, sum_order{sum_order::chunks, 5}, sum_order{sum_order::compensated}}) {
        accumulation how = in(f, order);
        how.rounding.direction = way;
        double errors = 0;
        double largest = 0;
        for (std::size_t i = 0; i < addends.front().size(); ++i) {
          std::vector<std::uint32_t> codes;
          std::vector<double> column;
          for (const std::vector<double>& k : addends) {
            column.push_back(k[i]);
            codes.push_back(static_cast<std::uint32_t>(encode(f, k[i], how.rounding).code));
          }
          const double error =
              to_double(f, sum({f, codes}, how).code) - to_double(float64, exact_sum(float64, column).code);
          errors += error * error;
          largest = std::max(largest, std::fabs(error));
        }
        const accumulation_errors all = accumulation_error(addends, how);
        CHECK(all.squared_error.value() == errors);
        CHECK((all.largest_ulps > 0) == (largest > 0));
      }
}

TEST_CASE("swamped addends are counted") {
  // 256 is where ones no longer change a sum in bfloat16.
  const matrix ones(300, std::vector<double>{1, -1, 0});
  const accumulation_errors errors = accumulation_error(ones, in(bfloat16));
  CHECK(errors.addends == 600);
  CHECK(errors.swamped == 2 * 44);
  CHECK(errors.bias() == (256.0 - 300) / 300);
  CHECK(accumulation_error(ones, in(bfloat16, {sum_order::chunks, 64})).swamped == 0);
  CHECK(accumulation_error(ones, in(bfloat16, {sum_order::compensated})).squared_error.is_zero());
  CHECK(accumulation_error(ones, in(float32)).squared_error.is_zero());
  CHECK(std::isnan(accumulation_error(ones, in(float32)).bits_lost()));
}

TEST_CASE("what cannot be added is told apart") {
  const matrix addends{{nan, infinity, 60000, 1e-9, 0, 1}, {1, 1, 60000, 1e-9, -0.0, 1}};
  const accumulation_errors errors = accumulation_error(addends, in(float16));
  CHECK(errors.numel == 6);
  CHECK(errors.nonfinite == 2);
  CHECK(errors.overflowed == 1);
  CHECK(errors.underflowed == 2);
  CHECK(errors.addends == 6);
  CHECK(errors.squared_exact.value() == 4e-18 + 4);
  CHECK(accumulation_error(matrix{{}, {}}, in(float16)).numel == 0);
  CHECK(std::isnan(accumulation_error(matrix{{}}, in(float16)).relative()));
  CHECK_THROWS_AS(accumulation_error(matrix{}, in(float16)), std::invalid_argument);
  CHECK_THROWS_AS(accumulation_error(matrix{{1}, {1, 2}}, in(float16)), std::invalid_argument);
  CHECK_THROWS_AS(accumulation_error(addends, in(float64)), std::invalid_argument);
  CHECK_THROWS_AS(accumulation_error(addends, in(float16, {sum_order::pairwise})), std::invalid_argument);
  CHECK_THROWS_AS(accumulation_error(addends, in(float16, {sum_order::chunks, 0})), std::invalid_argument);
}

// Against long doubles, whose exponents reach further, and by hand.
TEST_CASE("sums of squares neither overflow nor underflow") {
  for (const double unit : {1e-300, 1e-160, 1.0, 1e200}) {
    CAPTURE(unit);
    square_sum one;
    square_sum other;
    square_sum parts;
    long double exact = 0;
    for (int i = 1; i <= 50; ++i) {
      const double x = unit * i * (i % 7 == 0 ? -1 : 1);
      one.add(x);
      exact += static_cast<long double>(x) * x;
      square_sum part;
      part.add(x);
      parts += part;
    }
    other.add(unit);
    const auto times = static_cast<double>(std::sqrt(exact) / unit);
    CHECK(one.root_over(other) == Approx(times).epsilon(1e-14));
    CHECK(parts.root_over(other) == Approx(times).epsilon(1e-14));
    CHECK(one.log2_over(other) == Approx(2 * std::log2(times)).epsilon(1e-14));
    CHECK(std::isnan(one.root_over({})));
    CHECK(square_sum{}.root_over(one) == 0);
  }
  // The scale follows numbers that grow.
  square_sum grown;
  square_sum large;
  grown.add(1e-200);
  grown.add(1e200);
  large.add(1e200);
  CHECK(grown.root_over(large) == 1);
}

TEST_CASE("gradients that all underflow are lost altogether, however small they are") {
  const accumulation_errors lost = accumulation_error(matrix{{1e-300, -2e-300}, {1e-300, 1e-300}}, in(float16));
  CHECK(lost.relative() == 1);
  CHECK(lost.underflowed == 4);
}

TEST_CASE("where no sum counts there is no error, nor relative to zero") {
  const accumulation_errors over = accumulation_error(matrix{{6e4}, {6e4}}, in(float16));
  CHECK(over.overflowed == 1);
  CHECK(std::isnan(over.relative()));
  CHECK(std::isnan(over.bias()));
  CHECK(std::isnan(over.largest_ulps));
  // 2^-8 is swamped by 1 in bfloat16, and the exact sum is zero.
  const accumulation_errors zero =
      accumulation_error(matrix{{1 + 0x1p-8}, {-1 - 0x1p-8 - 0x1p-20}, {0x1p-20}}, in(bfloat16));
  CHECK(!zero.squared_error.is_zero());
  CHECK(std::isnan(zero.relative()));
  CHECK(std::isnan(zero.bias()));
  CHECK(std::isnan(zero.largest_ulps));
  accumulation_errors all = zero;
  all += accumulation_error(matrix{{3}, {4}}, in(bfloat16));
  CHECK(all.largest_ulps == 0);
}

TEST_CASE("one addend is its own sum in every order, and the model says so") {
  for (const sum_order order : {sum_order{}, sum_order{sum_order::chunks, 4}, sum_order{sum_order::compensated}})
    CHECK(modelled_accumulation_error(in(bfloat16, order), 1) == modelled_accumulation_error(in(bfloat16), 1));
}

// Simulated independently with numpy to 2^18 addends of 2 to 10 fraction bits: within 20 % where it is said to hold.
TEST_CASE("the model says up to how many addends it holds") {
  const accumulation kahan = in(bfloat16, {sum_order::compensated});
  CHECK(accumulation_model_holds(in(bfloat16), 65536));
  CHECK(!accumulation_model_holds(in(bfloat16), 65537));
  CHECK(accumulation_model_holds(kahan, 1 << 22));
  CHECK(!accumulation_model_holds(kahan, (1 << 22) + 1));
  CHECK(!accumulation_model_holds(in(float16), 999'999'999'999));
  CHECK(accumulation_model_holds(in(float32), 999'999'999'999));
  accumulation chunked = in(bfloat16, {sum_order::chunks, 64});
  CHECK(accumulation_model_holds(chunked, 64 * 65536));
  CHECK(!accumulation_model_holds(chunked, 64 * 65536 + 1));
  chunked.outer = float32;
  CHECK(accumulation_model_holds(chunked, 999'999'999'999));
  const matrix many = normal_addends(1 << 14, 200, 0, 1);
  CHECK(modelled_accumulation_error(in(bfloat16), 1 << 14) ==
        Approx(accumulation_error(many, in(bfloat16)).relative()).epsilon(0.2));
}

// Parts of an array give what it gives at once, so blocks do not show.
TEST_CASE("stochastic rounding draws by element") {
  const matrix addends = normal_addends(16, 64, 0, 1);
  accumulation how = in(bfloat16);
  how.rounding.direction = direction::stochastic;
  how.random = {.seed = 5, .stream = 9};
  const accumulation_errors whole = accumulation_error(addends, how);
  accumulation_errors parts;
  for (std::size_t first = 0; first < 64; first += 16) {
    matrix part;
    for (const std::vector<double>& k : addends)
      part.emplace_back(k.begin() + static_cast<std::ptrdiff_t>(first),
                        k.begin() + static_cast<std::ptrdiff_t>(first + 16));
    how.random.first = first;
    parts += accumulation_error(part, how);
  }
  CHECK(parts.swamped == whole.swamped);
  CHECK(parts.relative() == Approx(whole.relative()).epsilon(1e-12));
  how.random = {.seed = 6, .stream = 9};
  CHECK(accumulation_error(addends, how).relative() != whole.relative());
}

// Simulated independently, in percent: normal addends of mean zero, N micro-batches.
TEST_CASE("the error of zero-mean micro-batches grows as the root of their number") {
  struct published {
    format f;
    std::size_t count;
    double percent;
  };
  for (const published& p : {published{bfloat16, 8, 0.37},
                             {bfloat16, 64, 0.96},
                             {bfloat16, 512, 2.7},
                             {cbfloat16, 8, 0.09},
                             {cbfloat16, 64, 0.24},
                             {cbfloat16, 512, 0.66},
                             {float16, 8, 0.045},
                             {float16, 64, 0.12},
                             {float16, 512, 0.33}}) {
    INFO(p.count << " in " << p.f.fraction_bits << " bits");
    const double measured = accumulation_error(normal_addends(p.count, 4000, 0, 1), in(p.f)).relative();
    CHECK(100 * measured == Approx(p.percent).epsilon(0.15));
    CHECK(modelled_accumulation_error(in(p.f), p.count) == Approx(measured).epsilon(0.08));
  }
}

TEST_CASE("the model tells chunks, compensation and stochastic rounding apart") {
  const matrix addends = normal_addends(64, 4000, 0, 1);
  const auto agree = [&](const accumulation& how) {
    CHECK(modelled_accumulation_error(how, 64) == Approx(accumulation_error(addends, how).relative()).epsilon(0.08));
  };
  for (const std::uint32_t n : {4u, 8u, 24u, 64u, 100u}) {
    accumulation how = in(bfloat16, {sum_order::chunks, n});
    agree(how);
    how.outer = float32;
    agree(how);
  }
  agree(in(float16, {sum_order::compensated}));
  accumulation drawn = in(bfloat16);
  drawn.rounding.direction = direction::stochastic;
  agree(drawn);
  drawn.rounding.direction = direction::toward_zero;
  CHECK_THROWS_AS(modelled_accumulation_error(drawn, 64), std::invalid_argument);
}

// The same source: with a mean of twice the deviation bfloat16 swamps, cbfloat16 does not.
TEST_CASE("a common mean biases sums in bfloat16") {
  const matrix addends = normal_addends(512, 2000, 1, 0.5);
  const accumulation_errors low = accumulation_error(addends, in(bfloat16));
  CHECK(100 * low.relative() == Approx(2.2).epsilon(0.15));
  CHECK(100 * low.bias() == Approx(-1.4).epsilon(0.25));
  CHECK(low.swamped > 0);
  const accumulation_errors more = accumulation_error(addends, in(cbfloat16));
  CHECK(100 * more.relative() == Approx(0.5).epsilon(0.15));
  CHECK(std::fabs(100 * more.bias()) < 0.1);
}

}  // namespace
