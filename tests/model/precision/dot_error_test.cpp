// Pins the errors of dot products: each named order has those of the results that numpy, torch and exact rationals made;
// the units of processors are there; generated numbers are what they are called.
#include <ulp/model/precision/dot_error.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>

#include <ulp/formats/catalog.hpp>
#include <ulp/formats/tensor_cores.hpp>

#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/npz.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

const dot_order& order_called(const std::vector<dot_order>& all, std::string_view name) {
  const auto found = std::ranges::find(all, name, &dot_order::name);
  INFO(name);
  REQUIRE(found != all.end());
  return *found;
}

std::vector<double> values_of(const npz_array& array, const format& f) {
  std::vector<double> all;
  if (array.type == "<u2")
    for (const std::uint16_t c : array.as<std::uint16_t>()) all.push_back(to_double(f, c));
  else
    for (const std::uint32_t c : array.as<std::uint32_t>()) all.push_back(to_double(f, c));
  return all;
}

// Our errors of each order, and those of the recorded results.
void check_file(const std::string& name, const format& f, const std::string& low) {
  const auto golden = read_npz(source_dir() / "tests/data/sums" / (name + ".npz"));
  const auto codes = [&](const char* of) {
    const auto narrow = golden.at(of).as<std::uint16_t>();
    return std::vector<std::uint32_t>(narrow.begin(), narrow.end());
  };
  const std::vector<double> exact = golden.at("exact_as_double").as<double>();
  const std::vector<double> sizes = golden.at("sum_abs_as_double").as<double>();
  std::map<std::string, std::string> recorded{{"float32", "f32_sequential"},
                                              {"float32, pairwise", "f32_pairwise"},
                                              {"float32, 8 lanes", "f32_lanes8"},
                                              {low, "low_sequential_mul_add"},
                                              {low + ", fused products", "low_sequential_fused"},
                                              {"torch.dot, CPU", "torch_dot"}};
  if (f == float16) recorded["numpy.dot, CPU"] = "numpy_dot";
  const auto orders = dot_orders(f, low, 64);
  for (const auto& [order, array] : recorded) {
    INFO(name << ": " << order);
    const dot_order& by = order_called(orders, order);
    const dot_errors ours = dot_error(by, f, codes("a"), codes("b"), golden.at("a").shape.at(1));
    const std::vector<double> results = values_of(golden.at(array), by.result());
    double largest = 0;
    double squares = 0;
    for (std::size_t i = 0; i < results.size(); ++i) {
      const double relative = (results[i] - exact[i]) / sizes[i];
      largest = std::max(largest, std::fabs(relative));
      squares += relative * relative;
    }
    CHECK(ours.products == results.size());
    CHECK(ours.largest_relative == largest);
    CHECK(ours.squared_relative == squares);
  }
}

TEST_CASE("errors are those of recorded dot products") {
  check_file("normal_bf16", bfloat16, "bfloat16");
  check_file("uniform01_bf16", bfloat16, "bfloat16");
  check_file("cancelling_fp16", float16, "float16");
  check_file("real_agrad_times_weight_fp16", float16, "float16");
}

// Of 1024 products of numbers in (0, 1): float16 as accumulator loses about one percent, bfloat16 a quarter, chunks of 64 in
// them with float32 outside almost nothing of that.
TEST_CASE("the size of errors by accumulator") {
  const auto largest = [](const format& f, const std::string& order) {
    const auto numbers = [&](std::uint64_t stream) {
      std::vector<std::uint32_t> codes;
      for (const double x : generated_numbers(distribution::uniform, 0, stream, 8 * 1024))
        codes.push_back(static_cast<std::uint32_t>(encode(f, x).code));
      return codes;
    };
    return dot_error(order_called(dot_orders(f, "low", 64), order), f, numbers(0), numbers(1), 1024).largest_relative;
  };
  CHECK(100 * largest(float16, "low") == Approx(1.1).epsilon(0.5));
  CHECK(100 * largest(bfloat16, "low") == Approx(25).epsilon(0.2));
  CHECK(100 * largest(float16, "low, chunks of 64, float32 outside") == Approx(0.05).epsilon(0.5));
  CHECK(100 * largest(bfloat16, "low, chunks of 64, float32 outside") == Approx(0.5).epsilon(0.4));
  CHECK(largest(float16, "float32, fused products") < 1e-5);
  // What is assumed of Cerebras' levels: 0 is float32, 2 is the chunks.
  CHECK(largest(bfloat16, "precision_opt_level 0") == largest(bfloat16, "float32, fused products"));
  CHECK(largest(bfloat16, "precision_opt_level 2") == largest(bfloat16, "low, chunks of 64, float32 outside"));
}

TEST_CASE("every matrix unit that takes the operands is an order") {
  for (const tensor_core& unit : tensor_cores()) {
    if (unit.scales) continue;
    const std::vector<dot_order> orders = dot_orders(unit.operands, "x", 64);
    const dot_order& order =
        order_called(orders, std::string(unit.name) + (unit.how.accumulator == float16 ? " into float16" : ""));
    CHECK(order.basis == dot_basis::measured);
    CHECK_FALSE(order.source.empty());
  }
  for (const dot_order& order : dot_orders(cbfloat16, "cb16", 64))
    CHECK((order.basis == dot_basis::assumed) == order.name.starts_with("precision_opt_level"));
}

TEST_CASE("dot products without a number or without errors") {
  const auto orders = dot_orders(float16, "fp16", 2);
  const std::vector<std::uint32_t> a{0x7e00, 0x3c00, 0x7bff, 0x7bff, 0, 0x8000};
  const std::vector<std::uint32_t> b{0x3c00, 0x3c00, 0x7bff, 0x7bff, 0x3c00, 0x3c00};
  const dot_errors errors = dot_error(order_called(orders, "fp16"), float16, a, b, 2);
  CHECK(errors.products == 3);
  CHECK(errors.nonfinite == 1);
  CHECK(errors.overflowed == 1);
  CHECK(errors.largest_relative == 0);
  CHECK(errors.rms_relative() == 0);
  const std::vector<std::uint32_t> short_one{0};
  CHECK_THROWS_AS(dot_error(orders.front(), float16, a, short_one, 1), std::invalid_argument);
  CHECK_THROWS_AS(dot_error(orders.front(), float16, a, b, 4), std::invalid_argument);
  CHECK_THROWS_AS(dot_error(orders.front(), float16, a, b, 0), std::invalid_argument);
  CHECK(std::isnan(dot_error(orders.front(), float16, {}, {}, 3).rms_relative()));
}

TEST_CASE("generated numbers have the moments of their distribution") {
  constexpr std::size_t count = 100'000;
  const auto moments = [](distribution of) {
    double sum = 0;
    double squares = 0;
    for (const double x : generated_numbers(of, 1, 2, count)) {
      sum += x;
      squares += x * x;
    }
    return std::pair{sum / count, std::sqrt(squares / count - sum / count * (sum / count))};
  };
  const auto check = [&](distribution of, double mean, double deviation) {
    const auto [m, d] = moments(of);
    CHECK(m == Approx(mean).margin(0.01));
    CHECK(d == Approx(deviation).margin(0.01));
  };
  check(distribution::uniform, 0.5, std::sqrt(1.0 / 12));
  check(distribution::symmetric, 0, std::sqrt(1.0 / 3));
  check(distribution::normal, 0, 1);
  check(distribution::around_one, 1, 1);
  check(distribution::constant, 1, 0);
  const auto whole = generated_numbers(distribution::normal, 1, 2, 10);
  CHECK(generated_numbers(distribution::normal, 1, 2, 5) == std::vector<double>(whole.begin(), whole.begin() + 5));
  CHECK(generated_numbers(distribution::normal, 2, 2, 10) != whole);
}

}  // namespace
