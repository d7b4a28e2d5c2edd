#include <algorithm>
#include <array>
#include <limits>

#include <ulp/formats/blocks.hpp>

namespace ulp {
namespace {

// By quantizer.
constexpr std::array quantizer_rows{
    block_row{
        .quantizer = block_quantizer::bnb_default,
        .name = "bnb_default",
        .summary = "bitsandbytes, pure torch kernels of backend \"default\"",
        .elements = codebook_rule{.search = code_search::midpoints_below, .may_have_16 = true},
        .scale = {.least = 1e-38F, .by_reciprocal = true, .short_by_quotient = true},
        .normalize = "x * fl(1 / max(absmax, 1e-38)); a short last block x / max(absmax, 1e-38); clamped to -1..1",
        .nearest = "number of float32 midpoints below x: a tie takes the lower entry",
        .specials =
            "zero block: code of 0, absmax 0 (short block 1e-38); NaN makes absmax NaN and all codes 255; infinity: "
            "absmax infinite, finite elements 0, infinite ones 255",
        .source = "bitsandbytes 95f9af30 backends/default/ops.py",
    },
    block_row{
        .quantizer = block_quantizer::bnb_triton_pytorch_ref,
        .name = "bnb_triton_pytorch_ref",
        .summary = "bitsandbytes, torch functions beside triton",
        .elements = codebook_rule{.search = code_search::first_least_distance, .may_have_16 = true},
        .scale = {.keeps_divisor = true, .instead_of_zero = 1},
        .normalize = "x / absmax, absmax 0 taken as 1",
        .nearest = "first of the smallest float32 distances",
        .specials = "zero block: code of 0, absmax 1; NaN: absmax NaN, codes 0",
        .source = "bitsandbytes 95f9af30 backends/triton/kernels_optim.py",
    },
    block_row{
        .quantizer = block_quantizer::bnb_triton_kernel,
        .name = "bnb_triton_kernel",
        .summary = "bitsandbytes, triton kernel (read, not run)",
        .elements = codebook_rule{.search = code_search::halved_bracket},
        .scale = {.skips_nan = true},
        .normalize = "x / absmax, clamped to -1..1",
        .nearest = "bracket of two entries halved 8 times; the lower one unless it is farther",
        .specials = "zero block and NaN: code 0; not verified",
        .source = "bitsandbytes 95f9af30 backends/triton/kernels_8bit_quant.py",
    },
    block_row{
        .quantizer = block_quantizer::bnb_cpu_native,
        .name = "bnb_cpu_native",
        .summary = "bitsandbytes, native CPU library since 0.50",
        .elements = codebook_rule{.search = code_search::uniform_steps},
        .scale = {.by_reciprocal = true, .skips_nan = true},
        .normalize = "x * fl(1 / absmax), clamped to -1..1",
        .nearest = "a table of 65536 equal steps: index trunc(fma((x + 1) * 0.5, 65535, 0.5)), its entry the number of "
                   "midpoints below -1 + 2 index / 65535",
        .specials = "zero block: codes 0; NaN ignored, its code 0; exact 0 becomes 1.6e-5..2.1e-5 of absmax",
        .source = "bitsandbytes 95f9af30 csrc/cpu_ops.cpp",
    },
    block_row{
        .quantizer = block_quantizer::bnb_cpu_0492,
        .name = "bnb_cpu_0492",
        .summary = "bitsandbytes, native CPU library of 0.49.2",
        .elements = codebook_rule{.search = code_search::right_if_nearer, .begins_at_minus_one = true},
        .scale = {.by_reciprocal = true, .skips_nan = true},
        .normalize = "x * fl(1 / absmax), clamped to -1..1",
        .nearest = "by float32 distances, the upper entry only where it is nearer",
        .specials = "zero block: codes 0; NaN ignored, its code 0; the first entry of the map becomes -1, unsigned too",
        .source = "bitsandbytes 0.49.2 f0e6ca31 csrc/cpu_ops.cpp",
    },
    block_row{
        .quantizer = block_quantizer::bnb_cuda_text,
        .name = "bnb_cuda_text",
        .summary = "bitsandbytes, CUDA kQuantizeBlockwise as written",
        .elements = codebook_rule{.search = code_search::halvings_and_midpoint},
        .scale = {.by_reciprocal = true, .skips_nan = true, .start = std::numeric_limits<float>::lowest()},
        .normalize = "x * fl(1 / absmax)",
        .nearest = "seven halvings, then one midpoint: a tie takes the even code",
        .specials = "zero block: code 0, absmax 0; NaN ignored, its code 0; all NaN: absmax -3.4e38",
        .source = "bitsandbytes 95f9af30 csrc/kernels.cu kQuantizeBlockwise",
    },
    block_row{
        .quantizer = block_quantizer::ao,
        .name = "ao",
        .summary = "torchao, 8 and 4 bits",
        .elements = codebook_rule{.search = code_search::last_not_above, .may_have_16 = true},
        .scale = {.least = 1e-12F, .keeps_divisor = true},
        .whole_blocks_only = true,
        .normalize = "x / max(absmax, 1e-12); the clipped value is stored",
        .nearest = "last entry not above x, the next one where x - low >= (high - low) * 0.5 in float32",
        .specials = "zero block: code of 0, absmax 1e-12; NaN: absmax NaN, codes 0; infinity: finite elements 0, "
                    "infinite ones code 0",
        .source = "pytorch/ao 36027d82 subclass_8bit.py, subclass_4bit.py",
    },
    block_row{
        .quantizer = block_quantizer::ao_fp8,
        .name = "ao_fp8",
        .summary = "torchao, float8_e4m3fn",
        .elements = &float8_e4m3fn,
        .scale = {.least = 1e-12F, .of_largest = 448, .keeps_divisor = true},
        .whole_blocks_only = true,
        .normalize = "x / scale, scale = max(absmax, 1e-12) / 448 is stored",
        .nearest = "nearest, ties to even",
        .specials = "NaN and infinity: NaN",
        .source = "pytorch/ao 36027d82 subclass_fp8.py",
    },
};

static_assert(std::ranges::all_of(quantizer_rows, [](const block_row& row) {
  return &row == &quantizer_rows[static_cast<std::size_t>(row.quantizer)];
}));

}  // namespace

std::span<const block_row> block_rows() noexcept { return quantizer_rows; }

const block_row* find_block_row(std::string_view name) noexcept {
  for (const block_row& row : quantizer_rows)
    if (row.name == name) return &row;
  return nullptr;
}

}  // namespace ulp
