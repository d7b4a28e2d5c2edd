#include <ulp/formats/tensor_cores.hpp>

#include <algorithm>
#include <array>

#include <ulp/formats/catalog.hpp>

namespace ulp {
namespace {

// What float32 accumulators keep of products in 8-bit formats.
constexpr format e8m13 = ieee_format(8, 13);

// Groups of so many products, cut so many bits below the largest exponent, and to the format, toward zero. The least
// exponent that terms are aligned to shows in products of bfloat16 and tf32 only.
constexpr accumulation aligned(std::uint32_t group, int bits, int floor,
                               const format& accumulator = binary32) noexcept {
  return {.accumulator = accumulator,
          .order = {sum_order::blocks, group},
          .align_bits = bits,
          .align_floor = floor,
          .rounding = {.direction = direction::toward_zero},
          .infinite_overflow = true,
          .all_ones_nan = true};
}

// The same with a float16 accumulator.
constexpr accumulation into_float16(std::uint32_t group, int bits, int floor) noexcept {
  accumulation how = aligned(group, bits, floor, float16);
  how.rounding.direction = direction::nearest_even;
  return how;
}

// Exact sums of 16 products times their scales, joined with the accumulator.
constexpr accumulation exact_groups(std::uint32_t group, int bits, int floor) noexcept {
  accumulation how = aligned(group, bits, floor);
  how.exact_group = 16;
  return how;
}

constexpr accumulation exact(std::uint32_t group) noexcept { return {.order = {sum_order::blocks, group}}; }

constexpr accumulation one_by_one(std::uint32_t group) noexcept {
  return {.products = binary32,
          .order = {sum_order::tree_chunks, group},
          .rounding = {.flush = flush::result, .daz = true}};
}

// Products 24 bits below their largest exponent; their sum and the accumulator, whose exponent is -126 at least, 31 and 24
// bits below the larger one.
constexpr accumulation joined_late(std::uint32_t group, std::uint32_t sums = 1) noexcept {
  return {.order = {sum_order::blocks, group},
          .align_bits = 24,
          .late = late_accumulator{.sum_bits = 31, .least_exponent = -126, .sums = sums, .drops_negligible = sums > 1}};
}

// Fasi, Higham, Mikaitis, Pranesh, "Numerical behavior of NVIDIA tensor cores", PeerJ Computer Science 7:e330 (2021): V100,
// T4, A100. Khattak, Mikaitis, "Accurate models of NVIDIA tensor cores", arXiv 2512.07004, with the models of
// north-numerical-computing/MATLAB-tensor-core, validated against the processors: V100, A100, L40S, H100, B200. Xie, Wang,
// Yang, Yang, "MMA-Sim", arXiv 2511.10909, with github.com/microsoft/MMA-Sim, validated likewise: all of these. Where these
// two differ on CDNA 3: a zero product has no exponent, as in the MATLAB models (MI300MC.m), a product beyond float32 gives
// the infinity of its sign, as in MMA-Sim (amd_fused_dot_rd_add).
constexpr std::string_view volta = "PeerJ CS 7:e330, V100; arXiv 2512.07004, V100; arXiv 2511.10909, Volta";
constexpr std::string_view turing = "arXiv 2511.10909, Turing; one extra bit: PeerJ CS 7:e330, T4";
constexpr std::string_view ampere = "PeerJ CS 7:e330, A100; arXiv 2512.07004, A100; arXiv 2511.10909, Ampere";
constexpr std::string_view ada = "arXiv 2512.07004, L40S; arXiv 2511.10909, Ada Lovelace";
constexpr std::string_view hopper = "arXiv 2512.07004, H100; arXiv 2511.10909, Hopper";
constexpr std::string_view hopper_fp8 =
    "arXiv 2512.07004, H100; arXiv 2511.10909, Hopper; \"around 14 bits\": DeepSeek-V3, arXiv 2412.19437, 3.3.2";
constexpr std::string_view blackwell = "arXiv 2512.07004, B200; arXiv 2511.10909, Blackwell";
constexpr std::string_view cdna1 = "arXiv 2511.10909, CDNA1 (MI100)";
constexpr std::string_view cdna2 = "arXiv 2511.10909, CDNA2 (MI250)";

constexpr std::string_view cdna3 = "arXiv 2511.10909, CDNA3 (MI300X); MATLAB-tensor-core, MI300MC.m";
constexpr std::string_view volta_fp16 = "arXiv 2512.07004, V100; arXiv 2511.10909, Volta";
constexpr std::string_view turing_fp16 = "arXiv 2511.10909, Turing";
constexpr std::string_view ampere_fp16 = "arXiv 2512.07004, A100, A2; arXiv 2511.10909, Ampere";
constexpr std::string_view blackwell_mx = "arXiv 2511.10909, Blackwell, tcgen05.mma kind::mxf8f6f4";
constexpr std::string_view blackwell_fp4 = "arXiv 2511.10909, Blackwell, tcgen05.mma kind::mxf4nvf4";
constexpr std::string_view blackwell_f4 = "arXiv 2511.10909, Blackwell, tcgen05.mma kind::f8f6f4";

constexpr std::string_view kept_13 = "13 of float32's 23 fraction bits: its codes are float32's without the last ten";
constexpr std::string_view groups_of_turing =
    "groups of 8 as arXiv 2511.10909 compared them with the processor (mma.sync m16n8k8); arXiv 2502.15999 models 4";
constexpr std::string_view wgmma_alone =
    "wgmma alone: mma.sync converts to float16 and adds as that row does (cutlass#1986, DeepGEMM#37); 13 of float32's 23 "
    "fraction bits: its codes are float32's without the last ten";
constexpr std::string_view floor_assumed = "the least exponent of alignment is assumed to be that of the other formats";
constexpr std::string_view mma_k8 = "mma.sync m16n8k8 and wgmma; through WMMA groups of 4";

constexpr scale_blocks mx{"float8_e8m0", float8_e8m0, 32};
constexpr scale_blocks mx_16{"float8_e8m0", float8_e8m0, 16};
constexpr scale_blocks nv{"float8_e4m3fn", float8_e4m3fn, 16};

constexpr std::array cores{
    tensor_core{"volta", "float16", float16, aligned(4, 23, -131), volta, "", {}},
    tensor_core{"volta", "float16", float16, into_float16(4, 23, -19), volta_fp16, "", {}},
    tensor_core{"turing", "float16", float16, aligned(8, 24, -132), turing, groups_of_turing, {}},
    tensor_core{"turing", "float16", float16, into_float16(8, 24, -20), turing_fp16, groups_of_turing, {}},
    tensor_core{"ampere", "float16", float16, aligned(8, 24, -132), ampere, "", {}},
    tensor_core{"ampere", "float16", float16, into_float16(8, 24, -20), ampere_fp16, "", {}},
    tensor_core{"ampere", "bfloat16", bfloat16, aligned(8, 24, -132), ampere, "", {}},
    tensor_core{"ampere", "tf32", tf32, aligned(4, 24, -132), ampere, "", {}},
    tensor_core{"ada", "float16", float16, aligned(8, 24, -132), ada, "", {}},
    tensor_core{"ada", "float16", float16, into_float16(8, 24, -20), ada, "", {}},
    tensor_core{"ada", "bfloat16", bfloat16, aligned(8, 24, -132), ada, "", {}},
    tensor_core{"ada", "tf32", tf32, aligned(4, 24, -132), ada, "", {}},
    tensor_core{"ada", "float8_e4m3fn", float8_e4m3fn, aligned(16, 13, -132, e8m13), ada, kept_13, {}},
    tensor_core{"ada", "float8_e4m3fn", float8_e4m3fn, into_float16(16, 13, -132), ada, "", {}},
    tensor_core{"ada", "float8_e5m2", float8_e5m2, aligned(16, 13, -132, e8m13), ada, kept_13, {}},
    tensor_core{"ada", "float8_e5m2", float8_e5m2, into_float16(16, 13, -132), ada, "", {}},
    tensor_core{"hopper", "float16", float16, aligned(16, 25, -133), hopper, "", {}},
    tensor_core{"hopper", "float16", float16, into_float16(16, 25, -21), hopper, "", {}},
    tensor_core{"hopper", "bfloat16", bfloat16, aligned(16, 25, -133), hopper, "", {}},
    tensor_core{"hopper", "tf32", tf32, aligned(8, 25, -133), hopper, mma_k8, {}},
    tensor_core{"hopper", "float8_e4m3fn", float8_e4m3fn, aligned(32, 13, -133, e8m13), hopper_fp8, wgmma_alone, {}},
    tensor_core{"hopper", "float8_e5m2", float8_e5m2, aligned(32, 13, -133, e8m13), hopper_fp8, wgmma_alone, {}},
    tensor_core{"blackwell", "float16", float16, aligned(16, 25, -133), blackwell, "", {}},
    tensor_core{"blackwell", "float16", float16, into_float16(16, 25, -21), blackwell, "", {}},
    tensor_core{"blackwell", "bfloat16", bfloat16, aligned(16, 25, -133), blackwell, "", {}},
    tensor_core{"blackwell", "tf32", tf32, aligned(8, 25, -133), blackwell, mma_k8, {}},
    tensor_core{"blackwell", "float8_e4m3fn", float8_e4m3fn, aligned(32, 25, -133), blackwell, "", {}},
    tensor_core{"blackwell", "float8_e4m3fn", float8_e4m3fn, aligned(32, 25, -133), blackwell_mx, floor_assumed, mx},
    tensor_core{"blackwell", "float8_e5m2", float8_e5m2, aligned(32, 25, -133), blackwell, "", {}},
    tensor_core{"blackwell", "float8_e5m2", float8_e5m2, aligned(32, 25, -133), blackwell_mx, floor_assumed, mx},
    tensor_core{"blackwell", "float4_e2m1", float4_e2m1, aligned(32, 25, -133), blackwell_f4, floor_assumed, {}},
    tensor_core{"blackwell", "float4_e2m1", float4_e2m1, exact_groups(64, 35, -133), blackwell_fp4, floor_assumed, nv},
    tensor_core{"blackwell", "float4_e2m1", float4_e2m1, exact_groups(64, 35, -133), blackwell_fp4, floor_assumed, mx},
    tensor_core{"blackwell", "float4_e2m1", float4_e2m1, exact_groups(64, 35, -133), blackwell_fp4, floor_assumed,
                mx_16},
    tensor_core{"cdna1", "float16", float16, exact(4), cdna1, "", {}},
    tensor_core{"cdna1", "bfloat16", bfloat16, exact(2), cdna1, "", {}},
    tensor_core{"cdna2", "float16", float16, one_by_one(4), cdna2, "subnormal operands and results are zeros", {}},
    tensor_core{"cdna2",
                "bfloat16",
                bfloat16,
                one_by_one(4),
                cdna2,
                "subnormal operands and results are zeros; instructions named _1k, others have groups of 2",
                {}},
    tensor_core{"cdna3", "float16", float16, joined_late(8), cdna3, "", {}},
    tensor_core{"cdna3", "bfloat16", bfloat16, joined_late(8), cdna3, "", {}},
    tensor_core{"cdna3", "tf32", tf32, joined_late(4), cdna3, "xf32", {}},
    tensor_core{"cdna3", "float8_e4m3fnuz", float8_e4m3fnuz, joined_late(16, 2), cdna3, "", {}},
    tensor_core{"cdna3", "float8_e5m2fnuz", float8_e5m2fnuz, joined_late(16, 2), cdna3, "", {}},
};

// NVIDIA's by compute capability (developer.nvidia.com/cuda-gpus: 7.0, 7.5, 8.0, 8.9, 9.0, 10.0; the A2's 8.6 adds as the
// A100 does, MATLAB-tensor-core, A2TC.m), AMD's by their targets (llvm.org/docs/AMDGPUUsage.html: gfx908, gfx90a, gfx942).
struct processor {
  std::string_view name;
  std::string_view unit;
};
constexpr std::array processors{
    processor{"v100", "volta"},     processor{"t4", "turing"},       processor{"a100", "ampere"},
    processor{"a800", "ampere"},    processor{"a30", "ampere"},      processor{"a2", "ampere"},
    processor{"l4", "ada"},         processor{"l40", "ada"},         processor{"l40s", "ada"},
    processor{"h100", "hopper"},    processor{"h200", "hopper"},     processor{"h800", "hopper"},
    processor{"h20", "hopper"},     processor{"gh200", "hopper"},    processor{"b100", "blackwell"},
    processor{"b200", "blackwell"}, processor{"gb200", "blackwell"}, processor{"mi100", "cdna1"},
    processor{"mi210", "cdna2"},    processor{"mi250", "cdna2"},     processor{"mi250x", "cdna2"},
    processor{"mi300", "cdna3"},    processor{"mi300a", "cdna3"},    processor{"mi300x", "cdna3"},
    processor{"mi308x", "cdna3"},   processor{"mi325x", "cdna3"},
};

bool equal_but_for_case(std::string_view small, std::string_view any) noexcept {
  return std::equal(small.begin(), small.end(), any.begin(), any.end(),
                    [](char s, char a) { return a == s || (s >= 'a' && s <= 'z' && a == s - 'a' + 'A'); });
}

// The first row of the architecture, or the processor, with such operands that is wanted.
template <class Wanted>
const tensor_core* find_core(std::string_view name, const format& operands, Wanted wanted) noexcept {
  for (const processor& p : processors)
    if (equal_but_for_case(p.name, name)) name = p.unit;
  const auto* const row = std::find_if(cores.begin(), cores.end(), [&](const tensor_core& t) {
    return equal_but_for_case(t.name, name) && t.operands == operands && wanted(t);
  });
  return row == cores.end() ? nullptr : row;
}

}  // namespace

std::span<const tensor_core> tensor_cores() noexcept { return cores; }

const tensor_core* find_tensor_core(std::string_view name, const format& operands) noexcept {
  return find_core(name, operands, [](const tensor_core& t) { return !t.scales; });
}

const tensor_core* find_tensor_core(std::string_view name, const format& operands, const format& accumulator) noexcept {
  return find_core(name, operands, [&](const tensor_core& t) {
    const format& own = t.how.accumulator;
    return !t.scales && (own == accumulator || (accumulator == binary32 && own == e8m13));
  });
}

const tensor_core* find_scaled_tensor_core(std::string_view name, const format& operands, const format& scale,
                                           std::uint32_t block) noexcept {
  return find_core(name, operands, [&](const tensor_core& t) {
    return t.scales && t.scales->format == scale && t.scales->size == block;
  });
}

accumulation in_two_levels(const tensor_core& unit, std::uint32_t groups) noexcept {
  accumulation how = unit.how;
  how.outer = binary32;
  how.promote = groups;
  how.outer_rounding = rounding{};
  return how;
}

}  // namespace ulp
