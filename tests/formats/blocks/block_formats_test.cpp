// Pins rows of blocks to what the originals' own code made (tests/data/golden_blocks), the places where dialects differ to the
// published numbers of each, one conversion to its parts and threads, and what is refused.
#include <ulp/formats/block_formats.hpp>
#include <ulp/formats/catalog.hpp>
#include <ulp/formats/codec.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "block_golden.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"

namespace ulp {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

const block_format& row_of(std::string_view name) {
  const block_format* const row = find_block_format(name);
  REQUIRE(row != nullptr);
  return *row;
}

float next(float x) { return std::nextafter(x, infinity); }
float before(float x) { return std::nextafter(x, 0.0F); }

struct block {
  std::vector<std::uint8_t> codes;
  std::vector<float> numbers;
  int scale_code = 0;
  float scale = 0;
};

block quantized(const std::string& name, const std::vector<float>& x) {
  const block_format& row = row_of(name);
  const matrix_extent of{1, x.size()};
  block b{std::vector<std::uint8_t>(x.size()), std::vector<float>(x.size())};
  REQUIRE(grid_of(row, of).scales() == 1);
  if (row.scale == scale_type::float32) {
    quantize_blocks(row, x, of, b.codes, std::span{&b.scale, 1}, {}, b.numbers);
  } else {
    std::uint8_t code = 0;
    quantize_blocks(row, x, of, b.codes, std::span{&code, 1}, {}, b.numbers);
    b.scale_code = code;
  }
  return b;
}

// Numbers with exponents that are spread, always the same.
std::vector<float> spread(std::size_t size, std::uint32_t seed = 1) {
  std::vector<float> x(size);
  for (float& f : x) {
    seed = seed * 1664525 + 1013904223;
    const auto significand = static_cast<float>(seed >> 8U) * 0x1p-24F - 0.5F;
    seed = seed * 1664525 + 1013904223;
    f = std::ldexp(significand, static_cast<int>(seed >> 27U) - 16);
  }
  return x;
}

TEST_CASE("blocks of each kind of row are the originals', bit by bit") {
  for (const std::string_view target : targets()) {
    force_target(target);
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(test::source_dir() / "tests/data/golden_blocks")) {
      if (entry.path().extension() != ".npz") continue;
      INFO(target << ", " << entry.path().filename().string());
      const test::block_differences found = test::compare_block_file(entry.path());
      CHECK(found == test::block_differences{.compared = found.compared});
      CHECK(found.compared > 0);
      ++files;
    }
    CHECK(files == 18);
  }
  force_target(targets().back());
}

TEST_CASE("scale codes where the rules of MX part") {
  struct of_amax {
    float amax;
    int floor, ceil, even, round_up;
  };
  const auto expect = [](const std::string& element, const of_amax& a) {
    INFO(element << " " << a.amax);
    CHECK(quantized("torchao_mx" + element + "_floor", {a.amax}).scale_code == a.floor);
    CHECK(quantized("torchao_mx" + element + "_ceil", {a.amax}).scale_code == a.ceil);
    CHECK(quantized("torchao_mx" + element + "_even", {a.amax}).scale_code == a.even);
    CHECK(quantized("torchao_mx" + element + "_rceil", {a.amax}).scale_code == a.round_up);
  };
  for (const of_amax& a : {of_amax{448, 127, 128, 127, 127},
                           {next(448), 127, 128, 127, 128},
                           {before(496), 127, 128, 127, 128},
                           {496, 127, 128, 128, 128},
                           {512, 128, 128, 128, 128}})
    expect("e4m3", a);
  for (const of_amax& a : {of_amax{6, 127, 128, 127, 127},
                           {next(6), 127, 128, 127, 128},
                           {before(7), 127, 128, 127, 128},
                           {7, 127, 128, 128, 128},
                           {8, 128, 128, 128, 128}})
    expect("e2m1", a);
  // A finite block becomes NaN under one of them.
  expect("e4m3", {std::numeric_limits<float>::max(), 246, 247, 255, 247});
  // The least scale, 2^-127, and what is just above it.
  CHECK(quantized("torchao_mxe2m1_rceil", {6 * 0x1p-127F}).scale_code == 0);
  CHECK(quantized("torchao_mxe2m1_rceil", {7 * 0x1p-127F}).scale_code == 1);
  // 2^128, which a log2 in float32 takes the largest number for, is no scale.
  CHECK(quantized("microxcaling_int8_nearest", {std::numeric_limits<float>::max()}).scale_code == 255);
  CHECK(quantized("microxcaling_int8_nearest", {0x1.FFFFp127F}).scale_code == 254);
}

TEST_CASE("a log2 in float32 takes what is just below a power of two for it") {
  const float x = 0x1p100F * (1 - 0x1p-24F);
  CHECK(quantized("torchao_mxe4m3_floor", {x}).scale_code == 99 - 8 + 127);
  CHECK(quantized("microxcaling_fp8_e4m3_nearest", {x}).scale_code == 100 - 8 + 127);
  CHECK(quantized("microxcaling_cpp_fp8_e4m3_nearest", {x}).scale_code == 99 - 8 + 127);
  CHECK(quantized("gfloat_mxe4m3_even", {x}).scale_code == 99 - 8 + 127);
  CHECK(quantized("gfloat_mxe4m3_even_f32in", {x}).scale_code == 100 - 8 + 127);
}

TEST_CASE("infinity, NaN and zeros are each program's own") {
  for (const char* const whole_block : {"torchao_mxe4m3_floor", "microxcaling_fp8_e4m3_nearest"}) {
    CHECK(quantized(whole_block, {1, infinity}).scale_code == 255);
    CHECK(std::isnan(quantized(whole_block, {1, infinity}).numbers[0]));
    CHECK(quantized(whole_block, {1, not_a_number}).scale_code == 255);
  }
  for (const char* const saturates : {"gfloat_mxe4m3_even", "te_mxfp8_e4m3_cppref"}) {
    const block b = quantized(saturates, {1, infinity});
    CHECK(b.scale_code == 254);
    CHECK(b.codes[0] == 0);
    CHECK(b.codes[1] == 0x7E);
  }
  const block one = quantized("te_mxfp8_e4m3_cppref", {1, not_a_number});
  CHECK(one.numbers[0] == 1);
  CHECK(std::isnan(one.numbers[1]));

  const std::vector<float> zeros{-0.0F, -0x1p-60F, 448};
  CHECK(quantized("torchao_mxe4m3_floor", zeros).codes == std::vector<std::uint8_t>{0x80, 0x80, 0x7E});
  CHECK(quantized("microxcaling_fp8_e4m3_even", zeros).codes == std::vector<std::uint8_t>{0, 0x80, 0x7E});
  CHECK(quantized("microxcaling_cpp_fp8_e4m3_even", zeros).codes == std::vector<std::uint8_t>{0, 0, 0x7E});
  CHECK(quantized("te_nvfp4_1x16", {-0.0F, -1e-9F, not_a_number, 0}).codes[2] == 0);
}

TEST_CASE("ties, and what a floor makes of the last number below a power of two") {
  const std::vector<float> tie{17, 448};
  CHECK(quantized("torchao_mxe4m3_floor", tie).numbers[0] == 16);
  CHECK(quantized("microxcaling_fp8_e4m3_nearest", tie).numbers[0] == 18);
  CHECK(quantized("microxcaling_fp8_e4m3_floor", tie).numbers[0] == 16);
  CHECK(quantized("microxcaling_fp8_e4m3_floor", {before(128), 448}).numbers[0] == 112);
  CHECK(quantized("gfloat_mxe4m3_zero", {before(128), 448}).numbers[0] == 120);
}

TEST_CASE(
    "half a unit is added in float32 by microxcaling's PyTorch path alone, which takes the number before a half for one") {
  const std::vector<float> of_fp4{before(0.25F), -before(0.25F), 6};
  const std::vector<float> of_int8{before(0x1p-7F), -before(0x1p-7F), 1};
  for (const char* const sums : {"microxcaling_fp4_e2m1_nearest", "microxcaling_fp4_e2m1_even"})
    CHECK(quantized(sums, of_fp4).codes == std::vector<std::uint8_t>{1, 9, 7});
  for (const char* const exact : {"microxcaling_cpp_fp4_e2m1_even", "microxcaling_cpp_fp4_e2m1_nearest"})
    CHECK(quantized(exact, of_fp4).codes == std::vector<std::uint8_t>{0, 0, 7});
  for (const char* const sums : {"microxcaling_int8_nearest", "microxcaling_int8_even"})
    CHECK(quantized(sums, of_int8).codes == std::vector<std::uint8_t>{1, 0xFF, 64});
  for (const char* const exact : {"microxcaling_cpp_int8_nearest", "microxcaling_cpp_int8_even", "gfloat_mxint8_away",
                                  "gfloat_mxint8_even", "microxcaling_int8_floor"})
    CHECK(quantized(exact, of_int8).codes == std::vector<std::uint8_t>{0, 0, 64});
  CHECK(quantized("gfloat_mxint8_away", {0x1p-7F, 1}).codes == std::vector<std::uint8_t>{1, 64});
}

TEST_CASE("negatives that round to zero keep their sign where they are not zero once they are scaled") {
  // -2^-100 is -2^-226 under the scale of 2^126.
  CHECK_FALSE(std::signbit(quantized("microxcaling_int8_even", {-0x1p-100F, 0x1p126F}).numbers[0]));
  CHECK(std::signbit(quantized("microxcaling_int8_even", {-0x1p-10F, 1}).numbers[0]));
  // Under its own block's scale.
  std::vector<float> x(34, -0x1p-110F);
  x[0] = 0x1p126F;
  x[32] = 0x1p-100F;
  std::vector<std::uint8_t> codes(34);
  std::vector<std::uint8_t> scales(2);
  std::vector<float> numbers(34);
  quantize_blocks(row_of("microxcaling_int8_nearest"), x, {1, 34}, codes, scales, {}, numbers);
  CHECK_FALSE(std::signbit(numbers[1]));
  CHECK(numbers[33] == 0);
  CHECK(std::signbit(numbers[33]));
}

TEST_CASE("scales in float32, of no amax, an infinite one and one too small") {
  const auto scale = [](const char* name, float amax) { return quantized(name, {amax}).scale; };
  CHECK(scale("torchao_fp8e4m3_tensorwise", 0) == 4.48e14F);  // 448 / 1e-12
  CHECK(scale("torchao_fp8e4m3_tensorwise", infinity) == 0);
  CHECK(scale("torchao_fp8e4m3_tensorwise", 5e-12F) == static_cast<float>(1 / static_cast<double>(5e-12F) * 448));
  CHECK(scale("te_blockfp8_e4m3_1x128_pow2_eps1e-6", 1e-7F) == 0x1p-28F);
  CHECK(scale("te_blockfp8_e4m3_1x128_pow2_eps1e-6", 9e-7F) == 0x1p-28F);
  CHECK(scale("te_mxfp4_ceil_log2", infinity) == 0x1p127F);
  CHECK(scale("te_current_e4m3_f32", 0) == 1);
  CHECK(scale("te_current_e4m3_f32", 1e-40F) == 1 / std::numeric_limits<float>::max());
  CHECK(scale("te_current_e4m3_pow2", 1e-40F) == 0x1p-127F);
  CHECK(scale("te_current_e4m3_pow2", not_a_number) == 2);
  CHECK(scale("torchao_fp8e4m3_tensorwise_pow2", 448 * 0x1p-20F * (1 + 0x1p-23F)) == 0x1p20F);
  CHECK(scale("te_current_e4m3_pow2", 448 * 0x1p-20F * (1 + 0x1p-23F)) == 0x1p-19F);
}

TEST_CASE("a small block beside a large one in NVFP4") {
  std::vector<float> x(32, 1e-7F);
  x[16] = 1;
  std::vector<std::uint8_t> codes(32);
  std::vector<std::uint8_t> scales(2);
  quantize_blocks(row_of("torchao_nvfp4_twolevel"), x, {1, 32}, codes, scales);
  CHECK(scales[0] == 0x08);  // 2^-6
  CHECK(codes[0] == 0);
  quantize_blocks(row_of("te_nvfp4_1x16"), x, {1, 32}, codes, scales);
  CHECK(scales[0] == 0);
  CHECK(codes[0] == 7);
  quantize_blocks(row_of("torchao_nvfp4_onelevel"), x, {1, 32}, codes, scales);
  CHECK(scales[0] == 0x08);
}

TEST_CASE("what is infinite or NaN in one block, on every target") {
  for (const std::string_view target : targets()) {
    INFO(target);
    force_target(target);
    std::vector<float> x(16, 1.0F);
    x[3] = infinity;
    CHECK(quantized("te_nvfp4_1x16", x).codes[3] == 7);
    x[3] = not_a_number;  // which is 0 in this row
    CHECK(quantized("te_nvfp4_1x16", x).codes[3] == 0);
    // Integers have one code for it.
    CHECK(quantized("microxcaling_int8_nearest", {1, not_a_number}).codes[1] == 0x80);
    CHECK(quantized("microxcaling_int8_even", {1, -not_a_number}).codes[1] == 0x80);
  }
  force_target(targets().back());
}

// pytorch/ao nvfp4_quantize with per_tensor_amax_to_scale and f32_to_f4_unpacked, its steps in PyTorch on x86: the factor
// (1 / scale of the tensor) / scale of the block is infinite, 0 times that is NaN, and its bits, cut to a code, are -1.5.
TEST_CASE("in torchao's NVFP4 of two levels zeros of a tensor of tiny numbers become -1.5") {
  struct example {
    float amax;
    std::vector<std::uint8_t> scales;
    std::vector<std::uint8_t> codes;  // of amax, -amax / 2, -0, 0; amax / 1000, 0; 0
  };
  const std::vector<example> all{
      {6e-34F, {126, 46, 8}, {7, 13, 8, 0, 7, 0, 0}},       {4e-34F, {126, 46, 8}, {7, 13, 8, 0, 7, 0, 11}},
      {2e-35F, {126, 46, 8}, {7, 13, 8, 0, 7, 0, 11}},      {1e-36F, {126, 46, 8}, {7, 15, 11, 11, 7, 11, 11}},
      {7.8e-36F, {126, 46, 8}, {7, 15, 11, 11, 7, 11, 11}}, {7.9e-36F, {126, 46, 8}, {7, 13, 8, 0, 7, 11, 11}},
      {1e-40F, {126, 46, 8}, {7, 15, 11, 11, 7, 11, 11}},   {1e-42F, {126, 127, 127}, {7, 15, 11, 11}}};
  for (const example& e : all) {
    INFO(e.amax);
    std::vector<float> x(48);
    x[0] = e.amax;
    x[1] = -e.amax / 2;
    x[2] = -0.0F;
    x[16] = e.amax / 1000;
    for (const matrix_extent of : {matrix_extent{1, 48}, matrix_extent{3, 16}}) {
      std::vector<std::uint8_t> codes(48);
      std::vector<std::uint8_t> scales(3);
      quantize_blocks(row_of("torchao_nvfp4_twolevel"), x, of, codes, scales);
      for (std::uint8_t& scale : scales) scale &= 0x7F;  // of NaN too
      CHECK(scales == e.scales);
      std::vector<std::uint8_t> expected(16, e.codes[3]);
      std::copy_n(e.codes.begin(), 3, expected.begin());
      CHECK(std::vector<std::uint8_t>(codes.begin(), codes.begin() + 16) == expected);
      if (e.codes.size() == 4) continue;  // the other scales are NaN
      expected.assign(16, e.codes[5]);
      expected[0] = e.codes[4];
      CHECK(std::vector<std::uint8_t>(codes.begin() + 16, codes.begin() + 32) == expected);
      CHECK(std::vector<std::uint8_t>(codes.begin() + 32, codes.end()) == std::vector<std::uint8_t>(16, e.codes[6]));
    }
  }
}

TEST_CASE("parts and threads make no difference, short blocks are as if filled with zeros") {
  for (const block_format& row : block_formats()) {
    INFO(row.name);
    const matrix_extent of{40, 130};
    const std::vector<float> x = spread(of.rows * of.columns);
    const block_grid grid = grid_of(row, of);
    std::vector<std::uint8_t> codes(x.size());
    std::vector<float> numbers(x.size());
    std::vector<std::uint8_t> scale_codes(grid.scales());
    std::vector<float> scale_numbers(grid.scales());
    const bool is_number = row.scale == scale_type::float32;
    const auto scales = [&] { return is_number ? scale_span{scale_numbers} : scale_span{scale_codes}; };
    quantize_blocks(row, x, of, codes, scales(), {.threads = 1}, numbers);

    std::vector<std::uint8_t> again(x.size());
    const auto codes_before = scale_codes;
    const auto numbers_before = scale_numbers;
    quantize_blocks(row, x, of, again, scales(), {.threads = 7});
    CHECK(again == codes);
    CHECK(scale_codes == codes_before);
    CHECK(scale_numbers == numbers_before);

    const auto amax = tensor_amax(row, x, of);
    std::vector<float> decoded(x.size());
    dequantize_blocks(row, codes, scales(), of, decoded, {.tensor_amax = amax});
    CHECK(decoded == numbers);

    const std::size_t width = (of.columns + grid.block.columns - 1) / grid.block.columns * grid.block.columns;
    const std::size_t height = (of.rows + grid.block.rows - 1) / grid.block.rows * grid.block.rows;
    std::vector<float> filled(width * height);
    for (std::size_t i = 0; i < x.size(); ++i) filled[i / of.columns * width + i % of.columns] = x[i];
    std::vector<std::uint8_t> filled_codes(filled.size());
    std::vector<float> filled_amax = amax;
    if (row.scales_rows) filled_amax.resize(height);
    quantize_blocks(row, filled, {height, width}, filled_codes, scales(),
                    {.tensor_amax = filled_amax, .block = grid.block});
    std::size_t differ = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
      differ += filled_codes[i / of.columns * width + i % of.columns] == codes[i] ? 0 : 1;
    CHECK(differ == 0);
    CHECK(scale_codes == codes_before);
    CHECK(scale_numbers == numbers_before);
  }
}

TEST_CASE("a large matrix by many threads is its blocks one by one") {
  const matrix_extent of{259, 1070};
  std::vector<float> x = spread(of.rows * of.columns, 7);
  x[5000] = not_a_number;
  x[60000] = infinity;
  for (const char* const name : {"mxfp8", "torchao_mxe2m1_rceil", "te_mxfp8_e4m3_cppref", "microxcaling_int8_nearest",
                                 "nvfp4", "te_nvfp4_16x16", "te_nvfp4_16x16_4over6_mse256", "te_nvfp4_4over6_mse256",
                                 "torchao_nvfp4_twolevel", "fp8_1x128", "fp8_128x128", "fp8_row", "fp8_tensor"}) {
    const block_format& row = row_of(name);
    INFO(name);
    const block_grid grid = grid_of(row, of);
    const auto amax = tensor_amax(row, x, of);
    const bool is_number = row.scale == scale_type::float32;
    std::vector<std::uint8_t> codes(x.size());
    std::vector<std::uint8_t> scale_codes(is_number ? 0 : grid.scales());
    std::vector<float> scale_numbers(is_number ? grid.scales() : 0);
    conversion_counts counts;
    quantize_blocks(row, x, of, codes, is_number ? scale_span{scale_numbers} : scale_span{scale_codes},
                    {.tensor_amax = amax, .threads = 7}, {}, &counts);
    conversion_counts sum;
    std::size_t differ = 0;
    for (std::size_t at = 0; at < grid.scales(); ++at) {
      const std::size_t top = at / grid.across * grid.block.rows;
      const std::size_t left = at % grid.across * grid.block.columns;
      const matrix_extent size{std::min(grid.block.rows, of.rows - top),
                               std::min(grid.block.columns, of.columns - left)};
      std::vector<float> alone;
      for (std::size_t r = 0; r < size.rows; ++r)
        for (std::size_t c = 0; c < size.columns; ++c) alone.push_back(x[(top + r) * of.columns + left + c]);
      std::vector<std::uint8_t> of_block(alone.size());
      std::uint8_t code = 0;
      float number = 0;
      quantize_blocks(row, alone, size, of_block,
                      is_number ? scale_span{std::span{&number, 1}} : scale_span{std::span{&code, 1}},
                      {.tensor_amax = amax, .block = grid.block}, {}, &sum);
      for (std::size_t i = 0; i < alone.size(); ++i)
        differ += of_block[i] == codes[(top + i / size.columns) * of.columns + left + i % size.columns] ? 0 : 1;
      differ += is_number ? std::bit_cast<std::uint32_t>(number) != std::bit_cast<std::uint32_t>(scale_numbers[at])
                          : code != scale_codes[at];
    }
    CHECK(differ == 0);
    CHECK(counts == sum);
  }
}

// Blocks in which elements lie on, beside and between the numbers of the row's elements, are NaN, infinite, zero, tiny or huge.
std::vector<float> hard(std::size_t size, std::uint32_t seed) {
  std::vector<float> x = spread(size, seed);
  for (std::size_t i = 0; i < size; ++i) {
    seed = seed * 1664525 + 1013904223;
    const auto grid = static_cast<float>(static_cast<int>(seed >> 20U) - 2048) / 16;
    const std::size_t kind = i / 96 % 24;  // of neighbouring blocks
    if (kind < 8)
      x[i] = std::ldexp(grid, static_cast<int>(kind) * 2 - 10);
    else if (kind < 12)
      x[i] = std::ldexp(kind % 2 == 0 ? next(grid) : before(grid), -6);
    else if (kind < 14)
      x[i] *= kind == 12 ? 0x1p-130F : 0x1p120F;
    else if (kind == 14)
      x[i] = i % 2 == 0 ? 0.0F : -0.0F;
    else if (kind == 15)
      x[i] = before(std::ldexp(1.0F, static_cast<int>(seed >> 28U) - 8));
    else if (kind == 16 && seed >> 27U == 0)
      x[i] = seed >> 26U & 1U ? infinity : -infinity;
    else if (kind == 17 && seed >> 27U == 0)
      x[i] = seed >> 26U & 1U ? not_a_number : -not_a_number;
  }
  return x;
}

struct made {
  std::vector<std::uint8_t> codes;
  std::vector<std::uint8_t> scale_codes;
  std::vector<float> scale_numbers;
  std::vector<float> numbers;
  conversion_counts counts;
};

made made_on(std::string_view target, const block_format& row, const std::vector<float>& x, matrix_extent of) {
  force_target(target);
  const bool is_number = row.scale == scale_type::float32;
  const std::size_t scales = grid_of(row, of).scales();
  made m{std::vector<std::uint8_t>(x.size()),
         std::vector<std::uint8_t>(is_number ? 0 : scales),
         std::vector<float>(is_number ? scales : 0),
         std::vector<float>(x.size()),
         {}};
  const scale_span scale = is_number ? scale_span{m.scale_numbers} : scale_span{m.scale_codes};
  quantize_blocks(row, x, of, m.codes, scale, {}, m.numbers, &m.counts);
  std::vector<std::uint8_t> uncounted(x.size());
  quantize_blocks(row, x, of, uncounted, scale);
  CHECK((uncounted == m.codes));
  return m;
}

bool same(float a, float b) {
  return (a != a && b != b) || std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

TEST_CASE("elements just below a power of two, which a log2 in float32 takes for it or not") {
  // Blocks of elements some units in the last place below 2^k, and of 1.75 times that.
  std::vector<float> x;
  for (const int k : {-120, -70, -33, -5, 3, 40, 65, 100, 120})
    for (int units = 1; units < 96; ++units) {
      const float power = std::ldexp(1.0F, k);
      const float below = std::bit_cast<float>(std::bit_cast<std::uint32_t>(power) - static_cast<std::uint32_t>(units));
      for (int i = 0; i < 32; ++i) x.push_back(i == 0 ? power * 1.75F : i % 2 == 0 ? below : -below);
    }
  for (const char* const name : {"microxcaling_fp8_e4m3_floor", "microxcaling_fp8_e4m3_nearest",
                                 "microxcaling_fp6_e2m3_even", "microxcaling_fp4_e2m1_nearest"}) {
    const made expected = made_on("codec", row_of(name), x, {1, x.size()});
    for (const std::string_view target : targets()) {
      INFO(name << ' ' << target);
      CHECK((made_on(target, row_of(name), x, {1, x.size()}).codes == expected.codes));
    }
  }
  force_target(targets().back());
}

TEST_CASE("loops for arrays make of blocks what is made of one element after the other") {
  const matrix_extent of{37, 1061};
  const std::vector<float> all = hard(of.rows * of.columns, 5);
  std::vector<float> finite = all;
  for (float& f : finite)
    if (!std::isfinite(f) || std::fabs(f) > 0x1p20F) f = 1;
  for (const std::vector<float>& x : {all, finite})
    for (const block_format& row : block_formats()) {
      const made expected = made_on("codec", row, x, of);
      for (const std::string_view target : targets()) {
        INFO(row.name << " " << target);
        const made m = made_on(target, row, x, of);
        CHECK(m.counts == expected.counts);
        CHECK((m.scale_codes == expected.scale_codes));
        CHECK(std::equal(m.scale_numbers.begin(), m.scale_numbers.end(), expected.scale_numbers.begin(), same));
        CHECK(std::equal(m.numbers.begin(), m.numbers.end(), expected.numbers.begin(), same));
        // The code of an element whose number is NaN depends on the sign of a NaN, which processors choose.
        std::size_t differ = 0;
        for (std::size_t i = 0; i < x.size(); ++i)
          differ += m.codes[i] != expected.codes[i] && !std::isnan(expected.numbers[i]) ? 1 : 0;
        CHECK(differ == 0);
      }
    }
  force_target(targets().back());
}

// Of one block by the rules of its program, in one number after the other: what is stored of the scale, and the codes.
struct by_rule {
  double stored;
  std::vector<unsigned> codes;
};
by_rule of_block(const std::string& program, const format& element, const std::vector<float>& x, float of_tensor) {
  float amax = 0;
  for (const float f : x) amax = std::max(amax, std::fabs(f));
  const float largest = to_float(element, element.max_finite_code());
  double stored = 0;
  float factor = 1;
  if (program == "floor") {
    const int exponent = std::ilogb(amax) - std::ilogb(largest);
    stored = exponent + 127;
    factor = std::ldexp(1.0F, -exponent);
  } else if (program == "power") {
    factor = std::ldexp(1.0F, std::ilogb(largest / amax));
    stored = static_cast<double>(1 / factor);
  } else {
    const float encode_of_tensor = 2688 / of_tensor;
    const auto code = encode(float8_e4m3fn, std::min(amax * (encode_of_tensor * (1.0F / 6)), 448.0F)).code;
    stored = static_cast<double>(code);
    factor = 1 / (to_float(float8_e4m3fn, code) * (1 / encode_of_tensor));
  }
  by_rule made{stored, {}};
  for (const float f : x)
    made.codes.push_back(static_cast<unsigned>(encode(element, std::clamp(f * factor, -largest, largest)).code));
  return made;
}

TEST_CASE("blocks of a shape of one's own are those of the row's rule in that shape") {
  struct example {
    std::string name;
    std::string program;
    block_extent block;
  };
  const std::vector<example> all{{"mxfp8,block=64", "floor", {1, 64}},
                                 {"mxfp8_e5m2,block=3x7", "floor", {3, 7}},
                                 {"mxfp6,block=1", "floor", {1, 1}},
                                 {"MXFP4,BLOCK=4X16", "floor", {4, 16}},
                                 {"mxfp4,block=5000", "floor", {1, 5000}},
                                 {"fp8_1x128,block=1x64", "power", {1, 64}},
                                 {"fp8_128x128,block=20x33", "power", {20, 33}},
                                 {"nvfp4,block=1x32", "nvfp4", {1, 32}},
                                 {"nvfp4,block=4x16", "nvfp4", {4, 16}},
                                 {"te_nvfp4_16x16,block=1x16", "nvfp4", {1, 16}}};
  const matrix_extent of{50, 333};
  std::vector<float> x = spread(of.rows * of.columns, 11);
  for (float& f : x)
    if (f == 0) f = 1;
  float of_tensor = 0;
  for (const float f : x) of_tensor = std::max(of_tensor, std::fabs(f));
  for (const example& e : all) {
    INFO(e.name);
    const block_format& row = row_of(e.name);
    REQUIRE(row.block == e.block);
    const std::size_t across = (of.columns + e.block.columns - 1) / e.block.columns;
    const std::size_t down = (of.rows + e.block.rows - 1) / e.block.rows;
    REQUIRE(grid_of(row, of).scales() == across * down);
    const made m = made_on(targets().back(), row, x, of);
    std::size_t differ = 0;
    for (std::size_t b = 0; b < across * down; ++b) {
      std::vector<float> block;
      std::vector<unsigned> codes;
      for (std::size_t r = b / across * e.block.rows; r < std::min(of.rows, (b / across + 1) * e.block.rows); ++r)
        for (std::size_t c = b % across * e.block.columns; c < std::min(of.columns, (b % across + 1) * e.block.columns);
             ++c) {
          block.push_back(x[r * of.columns + c]);
          codes.push_back(m.codes[r * of.columns + c]);
        }
      const by_rule expected = of_block(e.program, *row.element.numbers, block, of_tensor);
      const double stored = row.scale == scale_type::float32 ? static_cast<double>(m.scale_numbers[b])
                                                             : static_cast<double>(m.scale_codes[b]);
      differ += expected.stored == stored && expected.codes == codes ? 0 : 1;
    }
    CHECK(differ == 0);
  }
}

TEST_CASE("the choice of 4 over 6 in blocks of any shape is that of one element after the other") {
  const matrix_extent of{70, 101};
  const std::vector<float> x = hard(of.rows * of.columns, 9);
  for (const char* const name : {"te_nvfp4_4over6_mse256,block=1x24", "te_nvfp4_16x16_4over6_mse256,block=32x16",
                                 "te_nvfp4_4over6_mae448,block=3x40"})
    for (const std::string_view target : targets()) {
      INFO(name << " " << target);
      const made expected = made_on("codec", row_of(name), x, of);
      const made m = made_on(target, row_of(name), x, of);
      CHECK((m.codes == expected.codes));
      CHECK((m.scale_codes == expected.scale_codes));
    }
  force_target(targets().back());
}

TEST_CASE("names of blocks of a shape of one's own") {
  const block_format& own = row_of("mxfp8,block=64");
  CHECK(own.name == "torchao_mxe4m3_floor,block=1x64");
  CHECK(&own == find_block_format("torchao_mxe4m3_floor,block=1x64"));
  CHECK(&listed_row(own) == find_block_format("mxfp8"));
  CHECK(with_block(own, {1, 32}) == find_block_format("mxfp8"));
  CHECK(find_block_format("mxfp8,block=32") == find_block_format("mxfp8"));
  CHECK(find_block_format("mxfp8,block=64", "te")->name == "te_mxfp8_e4m3_cppref,block=1x64");
  CHECK(find_block_format("mxfp8,block=64", "none") == nullptr);
  CHECK(row_of("nvfp4,block=4x16").scale_for_each_row);
  CHECK_FALSE(row_of("te_nvfp4_16x16,block=16").scale_for_each_row);
  CHECK_FALSE(row_of("torchao_nvfp4_onelevel,block=4x16").scale_for_each_row);
  const auto error_of = [](const char* name) {
    CHECK(find_block_format(name) == nullptr);
    return read_block_format(name).error;
  };
  for (const char* const option :
       {"block=0", "block=", "block=x", "block=4x", "block=x4", "block=-1", "block=1x2x3", "block=1048577",
        "block=99999999999999999999", "block= 4", "block", "", "size=64", "block=64,block=32"})
    CHECK(error_of(("mxfp8," + std::string{option}).c_str()) ==
          "'mxfp8," + std::string{option} +
              "': behind a format of blocks is block=COLUMNS or block=ROWSxCOLUMNS, from 1 to 1048576, not '" + option +
              "'");
  CHECK(error_of("fp8_tensor,block=4") ==
        "'fp8_tensor,block=4': torchao_fp8e4m3_tensorwise has one scale for a tensor, and no blocks of another shape");
  CHECK_THAT(error_of("te_nvfp4_rowscaled,block=2x16"), Contains("scales rows one by one"));
  CHECK(error_of("mxfp9,block=4") == "'mxfp9,block=4' is no format of blocks");
}

TEST_CASE("stochastic elements take the random bits of their place, and are right on average") {
  const block_format& row = row_of("mxfp8");
  const std::vector<float> x(32 * 4096, 300.5F);  // between 288 and 320
  std::vector<std::uint8_t> codes(x.size());
  std::vector<std::uint8_t> scales(x.size() / 32);
  std::vector<float> numbers(x.size());
  const block_conversion how{.rounding = rounding{.direction = direction::stochastic, .random_bits = 8},
                             .random = {.seed = 3, .stream = 5}};
  quantize_blocks(row, x, {1, x.size()}, codes, scales, how, numbers);
  double sum = 0;
  for (const float f : numbers) sum += static_cast<double>(f);
  CHECK(std::fabs(sum / static_cast<double>(x.size()) - 300.5) < 0.4);
  std::vector<std::uint8_t> alone(x.size());
  encode_array(float8_e4m3fn, x, std::span{alone}, {.rounding = *how.rounding, .random = how.random});
  CHECK(alone == codes);
  for (const std::string_view target : targets()) {
    INFO(target);
    force_target(target);
    quantize_blocks(row, x, {1, x.size()}, codes, scales, how);
    CHECK(alone == codes);
  }
  force_target(targets().back());
}

TEST_CASE("along another axis, and back") {
  const axis_extent of{2, 3, 4};
  std::vector<float> x(24);
  for (std::size_t i = 0; i < 24; ++i) x[i] = static_cast<float>(i);
  std::vector<float> rows(24);
  rows_along<float>(of, x, rows);
  CHECK(std::vector<float>(rows.begin(), rows.begin() + 6) == std::vector<float>{0, 4, 8, 1, 5, 9});
  std::vector<float> back(24);
  from_rows_along<float>(of, rows, back);
  CHECK(back == x);
}

TEST_CASE("the transform is orthogonal, and its own inverse but for the signs") {
  const std::vector<float> x = spread(64);
  std::vector<float> y(64);
  random_hadamard(x, y);
  double before_it = 0;
  double after_it = 0;
  for (std::size_t i = 0; i < 64; ++i) {
    before_it += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    after_it += static_cast<double>(y[i]) * static_cast<double>(y[i]);
  }
  CHECK(std::fabs(after_it / before_it - 1) < 1e-6);
  std::vector<float> unit(16);
  unit[3] = 4;
  std::vector<float> row(16);
  random_hadamard(unit, row);
  for (unsigned j = 0; j < 16; ++j) CHECK(row[j] == ((std::popcount(j & 3U) & 1) != 0 ? 1.0F : -1.0F));
}

TEST_CASE("names are found, each once, and aliases stand for rows") {
  std::set<std::string_view> seen;
  for (const block_format& row : block_formats()) {
    CHECK(seen.insert(row.name).second);
    CHECK(find_block_format(row.name) == &row);
    CHECK_FALSE(row.summary.empty());
    CHECK_FALSE(row.source.empty());
  }
  for (const block_alias& alias : block_aliases()) {
    CHECK(seen.insert(alias.name).second);
    REQUIRE(find_block_format(alias.name) != nullptr);
    CHECK(find_block_format(alias.name)->name == alias.stands_for);
  }
  CHECK(find_block_format("MXFP8") == find_block_format("mxfp8"));
  CHECK(find_block_format("mxfp9") == nullptr);
}

TEST_CASE("what does not fit is refused before anything is written") {
  const std::vector<float> x(64, 1);
  std::vector<std::uint8_t> codes(64, 77);
  std::vector<std::uint8_t> scales(2, 77);
  std::vector<float> numbers(2);
  const block_format& row = row_of("mxfp8");
  CHECK_THROWS_AS(quantize_blocks(row, x, {2, 31}, codes, scales), std::invalid_argument);
  CHECK_THROWS_AS(quantize_blocks(row, x, {1, 64}, codes, numbers), std::invalid_argument);
  CHECK_THROWS_AS(quantize_blocks(row, x, {1, 64}, codes, std::span{scales}.first(1)), std::invalid_argument);
  const block_conversion stochastic{.rounding = rounding{.direction = direction::stochastic}};
  CHECK_THROWS_AS(quantize_blocks(row_of("mxint8"), x, {1, 64}, codes, scales, stochastic), std::invalid_argument);
  std::vector<std::uint8_t> of_16(4, 77);
  CHECK_THROWS_AS(dequantize_blocks(row_of("nvfp4"), codes, of_16, {1, 64}, std::span<float>{}), std::invalid_argument);
  CHECK(codes == std::vector<std::uint8_t>(64, 77));
  CHECK(scales == std::vector<std::uint8_t>(2, 77));
  quantize_blocks(row, {}, {0, 32}, {}, std::span<std::uint8_t>{});
}

}  // namespace
}  // namespace ulp
