// The rows of block_formats.hpp. Commits: pytorch/ao 36027d82d1ad, NVIDIA/TransformerEngine d0067d0da6cb,
// microsoft/microxcaling 7bc41952de39, graphcore-research/gfloat b142762de8d0, google/flax 18f8f311c275.
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>

#include <ulp/formats/block_formats.hpp>
#include <ulp/formats/catalog.hpp>

namespace ulp {
namespace {

constexpr block_element e4m3{"float8_e4m3fn", &float8_e4m3fn, 8, 0, 448, -448};
constexpr block_element e5m2{"float8_e5m2", &float8_e5m2, 8, 0, 57344, -57344};
constexpr block_element e2m3{"float6_e2m3", &float6_e2m3, 6, 0, 7.5F, -7.5F};
constexpr block_element e3m2{"float6_e3m2", &float6_e3m2, 6, 0, 28, -28};
constexpr block_element e2m1{"float4_e2m1", &float4_e2m1, 4, 0, 6, -6};
constexpr block_element int8{"int8", nullptr, 8, 6, 127.0F / 64, -127.0F / 64};
constexpr block_element int4{"int4", nullptr, 4, 2, 7.0F / 4, -7.0F / 4};
// With -2 as well.
constexpr block_element int8_full{"int8", nullptr, 8, 6, 127.0F / 64, -2};

constexpr block_extent of_32{1, 32};
constexpr block_extent of_16{1, 16};
constexpr block_extent a_row{1, 0};
constexpr block_extent a_tensor{0, 0};

constexpr std::string_view ao_mx = "pytorch/ao prototype/mx_formats/mx_tensor.py to_mx";
constexpr std::string_view ao_nvfp4 = "pytorch/ao prototype/mx_formats/nvfp4_tensor.py nvfp4_quantize";
constexpr std::string_view ao_float8 = "pytorch/ao float8/float8_utils.py amax_to_scale";
constexpr std::string_view mx_torch = "microsoft/microxcaling mx/mx_ops.py _quantize_mx, elemwise_ops.py";
constexpr std::string_view mx_cpp = "microsoft/microxcaling mx/cpp/quantize.cuh, shared_exp.cuh, mx.cuh";
constexpr std::string_view gfloat_block = "graphcore-research/gfloat block.py quantize_block, formats.py";
constexpr std::string_view te_ptx =
    "NVIDIA/TransformerEngine common/util/ptx.cuh float_to_e8m0; tests/cpp/test_common.h";
constexpr std::string_view te_nvfp4_py = "NVIDIA/TransformerEngine pytorch/custom_recipes/reference_nvfp4.py";
constexpr std::string_view te_blocks =
    "NVIDIA/TransformerEngine tests/pytorch/references/blockwise_quantizer_reference.py";
constexpr std::string_view te_current = "NVIDIA/TransformerEngine pytorch/custom_recipes/reference_current_scaling.py";

constexpr block_format torchao_mx(std::string_view name, const block_element& e, amax_rule rule) {
  return {.name = name, .summary = "torchao, MX", .element = e, .block = of_32, .rule = rule, .source = ao_mx};
}

constexpr block_format torchao_fp8(std::string_view name, const block_element& e, block_extent block, bool power) {
  return {.name = name,
          .summary = "torchao, FP8 with dynamic scales",
          .element = e,
          .block = block,
          .scale = scale_type::float32,
          .rule = amax_rule::torchao_double,
          .power_of_two = power,
          .source = ao_float8};
}

constexpr block_format microxcaling(std::string_view name, const block_element& e, direction rounding) {
  return {.name = name,
          .summary = "microxcaling, its PyTorch path",
          .element = e,
          .block = of_32,
          .rule = amax_rule::floor_of_log2f,
          .rounding = rounding,
          .zeros = zero_signs::of_results,
          .rounds_by_log2f = true,
          .source = mx_torch};
}

constexpr block_format microxcaling_cpp(std::string_view name, const block_element& e, direction rounding) {
  return {.name = name,
          .summary = "microxcaling, its C++ and CUDA path",
          .element = e,
          .block = of_32,
          .rule = amax_rule::floor_of_field,
          .rounding = rounding,
          .zeros = zero_signs::lost,
          .source = mx_cpp};
}

constexpr block_format gfloat(std::string_view name, const block_element& e, direction rounding,
                              amax_rule rule = amax_rule::floor_clamped) {
  return {.name = name,
          .summary = rule == amax_rule::floor_clamped ? "gfloat" : "gfloat, of a float32 array",
          .element = e,
          .block = of_32,
          .rule = rule,
          .rounding = rounding,
          .source = gfloat_block};
}

constexpr block_format te_float32(std::string_view name, const block_element& e, block_extent block, bool power,
                                  float epsilon = 0) {
  return {.name = name,
          .summary = "TransformerEngine, FP8 in blocks",
          .element = e,
          .block = block,
          .scale = scale_type::float32,
          .rule = amax_rule::te_quotient,
          .power_of_two = power,
          .epsilon = epsilon,
          .source = te_blocks};
}

constexpr block_format te_tensorwise(std::string_view name, const block_element& e, bool power) {
  return {.name = name,
          .summary = "TransformerEngine, current scaling",
          .element = e,
          .block = a_tensor,
          .scale = scale_type::float32,
          .rule = amax_rule::te_quotient,
          .saturates = false,
          .power_of_two = power,
          .source = te_current};
}

constexpr block_format te_mxfp8(std::string_view name, const block_element& e) {
  return {.name = name,
          .summary = "TransformerEngine, MXFP8",
          .element = e,
          .block = of_32,
          .rule = amax_rule::round_up_of_numbers,
          .source = te_ptx};
}

constexpr block_format te_nvfp4(std::string_view name, block_extent block) {
  return {.name = name,
          .summary = "TransformerEngine, NVFP4",
          .element = e2m1,
          .block = block,
          .scale = scale_type::e4m3,
          .rule = amax_rule::te_nvfp4,
          .zeros = zero_signs::of_results,
          .nan_is_zero = true,
          .scale_for_each_row = block.rows > 1,
          .source = te_nvfp4_py};
}

constexpr block_format te_4over6(std::string_view name, block_extent block, four_over_six choice) {
  block_format row = te_nvfp4(name, block);
  row.summary = "TransformerEngine, NVFP4 by 4 over 6";
  row.rule = amax_rule::te_four_over_six;
  row.choice = choice;
  return row;
}

constexpr block_format with_rows_scaled(block_format row) {
  row.scales_rows = true;
  return row;
}

constexpr block_format of_transpose(block_format row) {
  row.transposed_hadamard = true;
  return row;
}

constexpr block_format torchao_nvfp4(std::string_view name, amax_rule rule) {
  return {.name = name,
          .summary = "torchao, NVFP4",
          .element = e2m1,
          .block = of_16,
          .scale = scale_type::e4m3,
          .rule = rule,
          .source = ao_nvfp4};
}

constexpr block_format flax(std::string_view name, const block_element& e) {
  return {.name = name,
          .summary = "flax and Keras, quantize and dequantize",
          .element = e,
          .block = a_tensor,
          .scale = scale_type::float32,
          .rule = amax_rule::flax_reciprocal,
          .source = "google/flax linen/fp8_ops.py qdq, compute_scale"};
}

constexpr auto even = direction::nearest_even;
constexpr auto away = direction::nearest_away;
constexpr auto zero = direction::toward_zero;

constexpr std::array rows{
    torchao_mx("torchao_mxe4m3_floor", e4m3, amax_rule::floor),
    torchao_mx("torchao_mxe4m3_ceil", e4m3, amax_rule::ceil),
    torchao_mx("torchao_mxe4m3_even", e4m3, amax_rule::even),
    torchao_mx("torchao_mxe4m3_rceil", e4m3, amax_rule::round_up),
    torchao_mx("torchao_mxe5m2_floor", e5m2, amax_rule::floor),
    torchao_mx("torchao_mxe5m2_ceil", e5m2, amax_rule::ceil),
    torchao_mx("torchao_mxe5m2_even", e5m2, amax_rule::even),
    torchao_mx("torchao_mxe5m2_rceil", e5m2, amax_rule::round_up),
    torchao_mx("torchao_mxe2m3_floor", e2m3, amax_rule::floor),
    torchao_mx("torchao_mxe2m3_ceil", e2m3, amax_rule::ceil),
    torchao_mx("torchao_mxe2m3_even", e2m3, amax_rule::even),
    torchao_mx("torchao_mxe2m3_rceil", e2m3, amax_rule::round_up),
    torchao_mx("torchao_mxe3m2_floor", e3m2, amax_rule::floor),
    torchao_mx("torchao_mxe3m2_ceil", e3m2, amax_rule::ceil),
    torchao_mx("torchao_mxe3m2_even", e3m2, amax_rule::even),
    torchao_mx("torchao_mxe3m2_rceil", e3m2, amax_rule::round_up),
    torchao_mx("torchao_mxe2m1_floor", e2m1, amax_rule::floor),
    torchao_mx("torchao_mxe2m1_ceil", e2m1, amax_rule::ceil),
    torchao_mx("torchao_mxe2m1_even", e2m1, amax_rule::even),
    torchao_mx("torchao_mxe2m1_rceil", e2m1, amax_rule::round_up),
    torchao_nvfp4("torchao_nvfp4_onelevel", amax_rule::nvfp4),
    torchao_nvfp4("torchao_nvfp4_twolevel", amax_rule::nvfp4_two_level),
    torchao_fp8("torchao_fp8e4m3_tensorwise", e4m3, a_tensor, false),
    torchao_fp8("torchao_fp8e4m3_tensorwise_pow2", e4m3, a_tensor, true),
    torchao_fp8("torchao_fp8e4m3_rowwise_pow2", e4m3, a_row, true),
    torchao_fp8("torchao_fp8e5m2_tensorwise", e5m2, a_tensor, false),
    torchao_fp8("torchao_fp8e5m2_tensorwise_pow2", e5m2, a_tensor, true),
    torchao_fp8("torchao_fp8e5m2_rowwise_pow2", e5m2, a_row, true),
    te_mxfp8("te_mxfp8_e4m3_cppref", e4m3),
    te_mxfp8("te_mxfp8_e5m2_cppref", e5m2),
    block_format{.name = "te_mxfp8_e4m3_32x32_pytest",
                 .summary = "TransformerEngine, MXFP8 in squares, the reference of its tests",
                 .element = e4m3,
                 .block = {32, 32},
                 .rule = amax_rule::round_up_of_quotient,
                 .source = "NVIDIA/TransformerEngine tests/pytorch/test_mxfp8_2d_quantize.py"},
    block_format{.name = "te_mxfp4_ceil_log2",
                 .summary = "TransformerEngine, MXFP4 with float32 scales, a reference",
                 .element = e2m1,
                 .block = of_32,
                 .scale = scale_type::float32,
                 .rule = amax_rule::ceil_of_log2f,
                 .zeros = zero_signs::of_results,
                 .nan_is_zero = true,
                 .source = te_nvfp4_py},
    te_nvfp4("te_nvfp4_1x16", of_16),
    te_nvfp4("te_nvfp4_16x16", {16, 16}),
    with_rows_scaled(te_nvfp4("te_nvfp4_rowscaled", of_16)),
    of_transpose(te_nvfp4("te_nvfp4_1x16_rht_columnwise", of_16)),
    te_4over6("te_nvfp4_4over6_mae256", of_16, {.base = 256}),
    te_4over6("te_nvfp4_4over6_mae448", of_16, {.base = 448}),
    te_4over6("te_nvfp4_4over6_mse256", of_16, {.base = 256, .squares = true}),
    te_4over6("te_nvfp4_4over6_mse448", of_16, {.base = 448, .squares = true}),
    te_4over6("te_nvfp4_4over6_mae256_fp16err", of_16, {.base = 256, .unscaled = true}),
    te_4over6("te_nvfp4_4over6_mse256_fp16err", of_16, {.base = 256, .squares = true, .unscaled = true}),
    te_4over6("te_nvfp4_16x16_4over6_mse256", {16, 16}, {.base = 256, .squares = true}),
    te_float32("te_blockfp8_e4m3_1x128_pow2", e4m3, {1, 128}, true),
    te_float32("te_blockfp8_e4m3_1x128_pow2_eps1e-6", e4m3, {1, 128}, true, 1e-6F),
    te_float32("te_blockfp8_e4m3_1x128_f32", e4m3, {1, 128}, false),
    te_float32("te_blockfp8_e4m3_128x128_pow2", e4m3, {128, 128}, true),
    te_float32("te_blockfp8_e4m3_128x128_f32", e4m3, {128, 128}, false),
    te_float32("te_blockfp8_e5m2_1x128_pow2", e5m2, {1, 128}, true),
    te_float32("te_blockfp8_e5m2_1x128_f32", e5m2, {1, 128}, false),
    te_float32("te_blockfp8_e5m2_128x128_pow2", e5m2, {128, 128}, true),
    te_tensorwise("te_current_e4m3_f32", e4m3, false),
    te_tensorwise("te_current_e4m3_pow2", e4m3, true),
    te_tensorwise("te_current_e5m2_f32", e5m2, false),
    te_tensorwise("te_current_e5m2_pow2", e5m2, true),
    microxcaling("microxcaling_fp8_e4m3_nearest", e4m3, away),
    microxcaling("microxcaling_fp8_e4m3_even", e4m3, even),
    microxcaling("microxcaling_fp8_e4m3_floor", e4m3, zero),
    microxcaling("microxcaling_fp8_e5m2_nearest", e5m2, away),
    microxcaling("microxcaling_fp8_e5m2_even", e5m2, even),
    microxcaling("microxcaling_fp6_e2m3_nearest", e2m3, away),
    microxcaling("microxcaling_fp6_e2m3_even", e2m3, even),
    microxcaling("microxcaling_fp6_e3m2_nearest", e3m2, away),
    microxcaling("microxcaling_fp6_e3m2_even", e3m2, even),
    microxcaling("microxcaling_fp4_e2m1_nearest", e2m1, away),
    microxcaling("microxcaling_fp4_e2m1_even", e2m1, even),
    microxcaling("microxcaling_int8_nearest", int8, away),
    microxcaling("microxcaling_int8_even", int8, even),
    microxcaling("microxcaling_int8_floor", int8, zero),
    microxcaling("microxcaling_int4_nearest", int4, away),
    microxcaling_cpp("microxcaling_cpp_fp8_e4m3_nearest", e4m3, away),
    microxcaling_cpp("microxcaling_cpp_fp8_e4m3_even", e4m3, even),
    microxcaling_cpp("microxcaling_cpp_fp8_e5m2_even", e5m2, even),
    microxcaling_cpp("microxcaling_cpp_fp6_e3m2_even", e3m2, even),
    microxcaling_cpp("microxcaling_cpp_fp4_e2m1_nearest", e2m1, away),
    microxcaling_cpp("microxcaling_cpp_fp4_e2m1_even", e2m1, even),
    microxcaling_cpp("microxcaling_cpp_int8_nearest", int8, away),
    microxcaling_cpp("microxcaling_cpp_int8_even", int8, even),
    gfloat("gfloat_mxe4m3_even", e4m3, even),
    gfloat("gfloat_mxe4m3_even_f32in", e4m3, even, amax_rule::floor_clamped_log2f),
    gfloat("gfloat_mxe4m3_away", e4m3, away),
    gfloat("gfloat_mxe4m3_zero", e4m3, zero),
    gfloat("gfloat_mxe5m2_even", e5m2, even),
    gfloat("gfloat_mxe2m3_even", e2m3, even),
    gfloat("gfloat_mxe3m2_even", e3m2, even),
    gfloat("gfloat_mxe2m1_even", e2m1, even),
    gfloat("gfloat_mxe2m1_even_f32in", e2m1, even, amax_rule::floor_clamped_log2f),
    gfloat("gfloat_mxe2m1_away", e2m1, away),
    gfloat("gfloat_mxint8_even", int8_full, even),
    gfloat("gfloat_mxint8_away", int8_full, away),
    flax("flax_qdq_e4m3", e4m3),
    flax("flax_qdq_e5m2", e5m2),
};

// The usual names: OCP MX with its own rule as torchao has it by default, NVFP4 as TransformerEngine has it.
constexpr std::array aliases{
    block_alias{"mxfp8", "torchao_mxe4m3_floor"},
    block_alias{"mxfp8_e4m3", "torchao_mxe4m3_floor"},
    block_alias{"mxfp8_e5m2", "torchao_mxe5m2_floor"},
    block_alias{"mxfp6", "torchao_mxe2m3_floor"},
    block_alias{"mxfp6_e2m3", "torchao_mxe2m3_floor"},
    block_alias{"mxfp6_e3m2", "torchao_mxe3m2_floor"},
    block_alias{"mxfp4", "torchao_mxe2m1_floor"},
    block_alias{"mxint8", "microxcaling_int8_even"},
    block_alias{"nvfp4", "te_nvfp4_1x16"},
    block_alias{"fp8_1x128", "te_blockfp8_e4m3_1x128_pow2"},
    block_alias{"fp8_128x128", "te_blockfp8_e4m3_128x128_pow2"},
    block_alias{"fp8_tensor", "torchao_fp8e4m3_tensorwise"},
    block_alias{"fp8_row", "torchao_fp8e4m3_rowwise_pow2"},
};

constexpr std::array dialects{
    block_dialect{"mxfp8", "torchao", "torchao_mxe4m3_floor"},
    block_dialect{"mxfp8", "torchao_rceil", "torchao_mxe4m3_rceil"},
    block_dialect{"mxfp8", "torchao_ceil", "torchao_mxe4m3_ceil"},
    block_dialect{"mxfp8", "torchao_even", "torchao_mxe4m3_even"},
    block_dialect{"mxfp8", "te", "te_mxfp8_e4m3_cppref"},
    block_dialect{"mxfp8", "microxcaling", "microxcaling_fp8_e4m3_nearest"},
    block_dialect{"mxfp8", "microxcaling_cuda", "microxcaling_cpp_fp8_e4m3_nearest"},
    block_dialect{"mxfp8", "gfloat", "gfloat_mxe4m3_even"},
    block_dialect{"mxfp8_e5m2", "torchao", "torchao_mxe5m2_floor"},
    block_dialect{"mxfp8_e5m2", "torchao_rceil", "torchao_mxe5m2_rceil"},
    block_dialect{"mxfp8_e5m2", "te", "te_mxfp8_e5m2_cppref"},
    block_dialect{"mxfp8_e5m2", "microxcaling", "microxcaling_fp8_e5m2_nearest"},
    block_dialect{"mxfp8_e5m2", "gfloat", "gfloat_mxe5m2_even"},
    block_dialect{"mxfp6_e2m3", "torchao", "torchao_mxe2m3_floor"},
    block_dialect{"mxfp6_e2m3", "microxcaling", "microxcaling_fp6_e2m3_nearest"},
    block_dialect{"mxfp6_e2m3", "gfloat", "gfloat_mxe2m3_even"},
    block_dialect{"mxfp6_e3m2", "torchao", "torchao_mxe3m2_floor"},
    block_dialect{"mxfp6_e3m2", "microxcaling", "microxcaling_fp6_e3m2_nearest"},
    block_dialect{"mxfp6_e3m2", "gfloat", "gfloat_mxe3m2_even"},
    block_dialect{"mxfp4", "torchao", "torchao_mxe2m1_floor"},
    block_dialect{"mxfp4", "torchao_rceil", "torchao_mxe2m1_rceil"},
    block_dialect{"mxfp4", "torchao_even", "torchao_mxe2m1_even"},
    block_dialect{"mxfp4", "te", "te_mxfp4_ceil_log2"},
    block_dialect{"mxfp4", "microxcaling", "microxcaling_fp4_e2m1_nearest"},
    block_dialect{"mxfp4", "microxcaling_cuda", "microxcaling_cpp_fp4_e2m1_nearest"},
    block_dialect{"mxfp4", "gfloat", "gfloat_mxe2m1_even"},
    block_dialect{"mxint8", "microxcaling", "microxcaling_int8_nearest"},
    block_dialect{"mxint8", "gfloat", "gfloat_mxint8_even"},
    block_dialect{"nvfp4", "torchao", "torchao_nvfp4_twolevel"},
    block_dialect{"nvfp4", "torchao_onelevel", "torchao_nvfp4_onelevel"},
    block_dialect{"nvfp4", "te", "te_nvfp4_1x16"},
    block_dialect{"nvfp4", "te_4over6", "te_nvfp4_4over6_mse256"},
    block_dialect{"fp8_tensor", "torchao", "torchao_fp8e4m3_tensorwise"},
    block_dialect{"fp8_tensor", "te", "te_current_e4m3_f32"},
    block_dialect{"fp8_tensor", "flax", "flax_qdq_e4m3"},
};

bool same(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

// By name or alias, as they are listed.
const block_format* find_listed(std::string_view name) noexcept {
  for (const block_alias& alias : aliases)
    if (same(alias.name, name)) name = alias.stands_for;
  for (const block_format& row : rows)
    if (same(row.name, name)) return &row;
  return nullptr;
}

constexpr std::size_t largest_extent = std::size_t{1} << 20;

// Why the row has no blocks of that shape; empty where it has.
std::string why_not(const block_format& row, block_extent block) {
  const auto fits = [](std::size_t extent) { return extent >= 1 && extent <= largest_extent; };
  if (!fits(block.rows) || !fits(block.columns)) return "extents of blocks are from 1 to 1048576";
  if (row.block.rows == 0 || row.block.columns == 0)
    return std::string{row.name} + " has one scale for a " + (row.block.rows == 0 ? "tensor" : "row") +
           ", and no blocks of another shape";
  if (row.scales_rows && block.rows > 1)
    return std::string{row.name} + " scales rows one by one, and has no blocks of several";
  return {};
}

// "64" or "4x16".
std::optional<block_extent> extent_of(std::string_view text) {
  const std::size_t by = std::min(text.find_first_of("xX"), text.size());
  const auto number = [](std::string_view digits) -> std::size_t {
    std::size_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return error == std::errc{} && end == digits.data() + digits.size() && value <= largest_extent ? value : 0;
  };
  const block_extent block = by == text.size() ? block_extent{1, number(text)}
                                               : block_extent{number(text.substr(0, by)), number(text.substr(by + 1))};
  return block.rows == 0 || block.columns == 0 ? std::nullopt : std::optional{block};
}

}  // namespace

std::span<const block_format> block_formats() noexcept { return rows; }
std::span<const block_alias> block_aliases() noexcept { return aliases; }

std::span<const block_dialect> block_dialects() noexcept { return dialects; }

const block_format& listed_row(const block_format& row) { return *find_listed(row.name.substr(0, row.name.find(','))); }

const block_format* with_block(const block_format& row, block_extent block) {
  const block_format& listed = listed_row(row);
  if (block == listed.block) return &listed;
  if (!why_not(listed, block).empty()) return nullptr;
  static std::mutex making;
  static std::map<std::string, block_format> made;  // whose nodes stay where they are
  std::string name =
      std::string{listed.name} + ",block=" + std::to_string(block.rows) + "x" + std::to_string(block.columns);
  const std::lock_guard lock{making};
  const auto [at, is_new] = made.try_emplace(std::move(name), listed);
  if (is_new) {
    at->second.name = at->first;
    at->second.block = block;
    at->second.scale_for_each_row =
        block.rows > 1 && (listed.rule == amax_rule::te_nvfp4 || listed.rule == amax_rule::te_four_over_six);
  }
  return &at->second;
}

parsed<const block_format*> read_block_format(std::string_view name) {
  const std::string quoted = "'" + std::string{name} + "'";
  const std::size_t comma = name.find(',');
  const block_format* const listed = find_listed(name.substr(0, comma));
  if (listed == nullptr) return {{}, quoted + " is no format of blocks"};
  if (comma == std::string_view::npos) return {listed, {}};
  const std::string_view option = name.substr(comma + 1);
  constexpr std::string_view key = "block=";
  const auto block = same(option.substr(0, key.size()), key) ? extent_of(option.substr(key.size())) : std::nullopt;
  if (!block)
    return {{},
            quoted + ": behind a format of blocks is block=COLUMNS or block=ROWSxCOLUMNS, from 1 to 1048576, not '" +
                std::string{option} + "'"};
  if (const block_format* const row = with_block(*listed, *block)) return {row, {}};
  return {{}, quoted + ": " + why_not(*listed, *block)};
}

const block_format* find_block_format(std::string_view name) { return read_block_format(name).value.value_or(nullptr); }

const block_format* find_block_format(std::string_view name, std::string_view dialect) {
  const block_format* const meant = find_block_format(name);
  if (dialect.empty() || meant == nullptr) return meant;
  const block_format& listed = listed_row(*meant);
  for (const block_dialect& d : dialects) {
    if (!same(d.dialect, dialect) || find_listed(d.format) != &listed) continue;
    const block_format* const row = find_listed(d.row);
    return meant == &listed ? row : with_block(*row, meant->block);
  }
  return nullptr;
}

}  // namespace ulp
