// Pins that each product of a linear layer takes its operands in blocks along what it sums over, and what is counted as lost.
#include "arithmetic/block_casting.hpp"

#include <cmath>
#include <random>

#include "networks/layers.hpp"
#include "support/catch.hpp"

using namespace ulp;
using namespace ulp::train;

namespace {

// Magnitudes that differ by row and by column, so that blocks along one are not those along the other.
matrix<float> random_matrix(std::size_t rows, std::size_t columns, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  matrix<float> made(rows, columns);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j)
      made(i, j) = std::ldexp(normal(random), static_cast<int>((5 * i + 3 * j) % 11) - 5);
  return made;
}

// Of a row whose scales are codes.
matrix<float> along_rows(const block_format& row, matrix<float> m) {
  std::vector<std::uint8_t> codes(m.values().size());
  std::vector<std::uint8_t> scales(grid_of(row, {m.rows(), m.columns()}).scales());
  const matrix<float> x = m;
  quantize_blocks(row, x.values(), {m.rows(), m.columns()}, codes, scales, {}, m.values());
  return m;
}

matrix<float> along_columns(const block_format& row, const matrix<float>& m) {
  return transposed(along_rows(row, transposed(m)));
}

bool equal(const matrix<float>& a, const matrix<float>& b) { return std::ranges::equal(a.values(), b.values()); }

}  // namespace

TEST_CASE("a linear layer quantizes each operand along the sum of each product") {
  for (const char* const name : {"mxfp8", "mxfp4", "nvfp4", "te_mxfp8_e4m3_32x32_pytest"}) {
    CAPTURE(name);
    const block_format& row = *find_block_format(name);
    block_casting hook(row, true);
    const pass<float> in{.hook = &hook};
    parameter<float> weight{.name = "w", .value = random_matrix(50, 70, 1), .of_pass = matrix<float>(50, 70)};
    linear<float> layer("up", weight, nullptr);
    const matrix<float> x = random_matrix(40, 70, 2);
    const matrix<float> g = random_matrix(40, 50, 3);
    const matrix<float> y = layer.forward(x, in);
    const matrix<float> of_input = layer.backward(g, in);
    CHECK(equal(y, product(along_rows(row, x), transposed(along_rows(row, weight.value)))));
    CHECK(equal(of_input, product(along_rows(row, g), along_columns(row, weight.value))));
    CHECK(equal(weight.of_pass, product(transposed(along_columns(row, g)), along_columns(row, x))));
    CHECK(equal(along_rows(row, g), along_columns(row, g)) == (row.block.rows > 1));
  }
}

TEST_CASE("what is lost is counted along rows, of finite values, whether or not it is lost") {
  const block_format& row = *find_block_format("mxfp4");
  matrix<float> x = random_matrix(8, 64, 4);
  const matrix<float> y = along_rows(row, x);
  double lost = 0;
  double energy = 0;
  for (std::size_t i = 0; i < x.values().size(); ++i) {
    const double before = x.values()[i];
    lost += std::pow(before - static_cast<double>(y.values()[i]), 2);
    energy += before * before;
  }
  const site at{.kind = site_kind::activation_grad, .tensor = "up", .rows = 8, .columns = 64};
  block_casting watching(row, false);
  matrix<float> same = x;
  CHECK(watching.round_operand(at, same.values()) == 1);
  CHECK_FALSE(watching.round_across(at, same.values()));
  CHECK(equal(same, x));
  CHECK(watching.tensors().at(0).share() == Approx(lost / energy).epsilon(1e-12));
  CHECK(watching.tensors()[0].kind == tensor_kind::activation_grad);

  block_casting casting(row, true);
  matrix<float> zeros(8, 64);
  (void)casting.round_operand(at, x.values());
  (void)casting.round_operand(at, zeros.values());
  CHECK(equal(x, y));
  REQUIRE(casting.tensors().size() == 1);
  CHECK(casting.tensors()[0].steps == 2);
  CHECK(casting.tensors()[0].share() == Approx(lost / energy / 2).epsilon(1e-12));
}

TEST_CASE("a block that becomes NaN loses all") {
  block_casting hook(*find_block_format("mxfp8"), false);
  std::vector<float> values(32, 1);
  values[3] = std::numeric_limits<float>::infinity();
  (void)hook.round_operand({.tensor = "up", .rows = 1, .columns = 32}, values);
  CHECK(std::isinf(hook.tensors()[0].share()));
}
