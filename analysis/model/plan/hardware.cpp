#include <ulp/model/plan/hardware.hpp>

#include <algorithm>
#include <array>
#include <stdexcept>

#include <ulp/formats/names.hpp>

namespace ulp {
namespace {

constexpr std::string_view current = "a power of two for the tensor, from its own amax in each step (current scaling)";

// Rows of blocks are those that saturate nothing: scales rounded up, and FP8 scales that take amax to no more than
// the largest number.
constexpr std::array rows{
    plan_treatment{"nvfp4", "float4_e2m1", plan_scale::block, "te_nvfp4_1x16",
                   "an E4M3 scale for 16 elements, one more for the tensor (TransformerEngine)"},
    plan_treatment{"mxfp4", "float4_e2m1", plan_scale::block, "torchao_mxe2m1_rceil",
                   "a power of two for 32 elements, rounded up (torchao, RCEIL)"},
    plan_treatment{"mxfp6_e2m3", "float6_e2m3", plan_scale::block, "torchao_mxe2m3_rceil",
                   "a power of two for 32 elements, rounded up (torchao, RCEIL)"},
    plan_treatment{"mxfp6_e3m2", "float6_e3m2", plan_scale::block, "torchao_mxe3m2_rceil",
                   "a power of two for 32 elements, rounded up (torchao, RCEIL)"},
    plan_treatment{"fp8_e4m3", "float8_e4m3fn", plan_scale::tensor, "", current},
    plan_treatment{"fp8_e4m3_240", "float8_e4m3fn,max=240", plan_scale::tensor, "", current},
    plan_treatment{"fp8_e5m2", "float8_e5m2", plan_scale::tensor, "", current},
    plan_treatment{"fp8_e4m3_128x128", "float8_e4m3fn", plan_scale::block, "te_blockfp8_e4m3_128x128_pow2",
                   "a power of two for 128 x 128 elements (TransformerEngine, DeepSeek)"},
    plan_treatment{"fp8_e4m3_row", "float8_e4m3fn", plan_scale::block, "torchao_fp8e4m3_rowwise_pow2",
                   "a power of two for each row (torchao, rowwise)"},
    plan_treatment{"fp8_e4m3_1x128", "float8_e4m3fn", plan_scale::block, "te_blockfp8_e4m3_1x128_pow2",
                   "a power of two for 128 elements (TransformerEngine, DeepSeek)"},
    plan_treatment{"mxfp8_e4m3", "float8_e4m3fn", plan_scale::block, "te_mxfp8_e4m3_cppref",
                   "a power of two for 32 elements, rounded up (TransformerEngine)"},
    plan_treatment{"mxfp8_e5m2", "float8_e5m2", plan_scale::block, "te_mxfp8_e5m2_cppref",
                   "a power of two for 32 elements, rounded up (TransformerEngine)"},
    plan_treatment{"bfloat16", "bfloat16", plan_scale::none, "", "no scale"},
    plan_treatment{"cbfloat16", "cbfloat16", plan_scale::run, "", "gradients times the loss scale"},
    plan_treatment{"float16", "float16", plan_scale::run, "", "gradients times the loss scale"},
    plan_treatment{"tf32", "tf32", plan_scale::none, "", "kept in 32 bits, multiplied with 19"},
    plan_treatment{"float32", "float32", plan_scale::none, "", "no scale"},
};

constexpr std::string_view in_float32 = "in float32";

}  // namespace

format plan_treatment::elements() const { return *find_format(format_name); }

const block_format* plan_treatment::blocks() const { return row.empty() ? nullptr : find_block_format(row); }

bool plan_treatment::is_narrow() const { return elements().width() <= 8; }
bool plan_treatment::is_half() const { return elements().width() == 16; }

std::uint64_t plan_treatment::bits(std::uint64_t numel, std::span<const std::uint64_t> shape) const {
  const format f = elements();
  // tf32 has 19 bits, and takes the room of 32.
  const std::uint64_t of_elements = numel * static_cast<std::uint64_t>(f.width() > 16 ? 32 : f.width());
  if (scale == plan_scale::tensor) return of_elements + 32;
  const block_format* const of = blocks();
  if (of == nullptr || numel == 0) return of_elements;
  const std::uint64_t columns = shape.empty() || shape.back() == 0 ? numel : std::min(shape.back(), numel);
  const block_grid grid = grid_of(*of, {numel / columns, columns});
  const bool has_two_levels = of->rule == amax_rule::te_nvfp4;
  return of_elements + grid.scales() * (of->scale == scale_type::float32 ? 32U : 8U) + (has_two_levels ? 32 : 0);
}

std::span<const plan_treatment> plan_treatments() { return rows; }

std::vector<plan_treatment> plan_hardware::rows() const {
  std::vector<plan_treatment> all;
  for (const plan_treatment& t : plan_treatments())
    if (std::ranges::find(treatments, t.name) != treatments.end()) all.push_back(t);
  return all;
}

std::span<const plan_hardware> plan_hardware_catalog() {
  static const std::vector<plan_hardware> all = [] {
    std::vector<plan_hardware> made{
        {.name = "hopper",
         .summary = "NVIDIA H100, H200",
         .treatments = {"fp8_e4m3", "fp8_e5m2", "fp8_e4m3_128x128", "fp8_e4m3_row", "fp8_e4m3_1x128", "bfloat16",
                        "float16", "tf32", "float32"},
         .sums = in_float32,
         .narrow_sums = "in 13 fraction bits by the unit: have them added in float32 every 128 products",
         .source = "NVIDIA H100 whitepaper (FP8, TF32, BF16, FP16); sums: arXiv 2412.19437 3.3.2, arXiv 2511.10909"},
        {.name = "blackwell",
         .summary = "NVIDIA B200, GB200",
         .treatments = {"nvfp4", "mxfp4", "mxfp6_e2m3", "mxfp6_e3m2", "fp8_e4m3", "fp8_e5m2", "fp8_e4m3_128x128",
                        "fp8_e4m3_row", "fp8_e4m3_1x128", "mxfp8_e4m3", "mxfp8_e5m2", "bfloat16", "float16", "tf32",
                        "float32"},
         .sums = in_float32,
         .narrow_sums = in_float32,
         .source = "PTX ISA 8.7, tcgen05.mma kinds f16, tf32, f8f6f4, mxf8f6f4, mxf4nvf4; sums: arXiv 2511.10909"},
        {.name = "cs",
         .summary = "Cerebras CS-2, CS-3",
         .treatments = {"bfloat16", "cbfloat16", "float16", "float32"},
         .sums = "as precision_opt_level says: 0 in float32, 1 and 2 some in 16 bits",
         .narrow_sums = "",
         .source = "docs.cerebras.net, CS-1 data formats, and precision_opt_level; cerebras_pytorch 2.10.0"},
        {.name = "trainium",
         .summary = "AWS Trainium 1, 2",
         .treatments = {"fp8_e4m3_240", "fp8_e5m2", "bfloat16", "float16", "tf32", "float32"},
         .sums = in_float32,
         .narrow_sums = in_float32,
         .source =
             "awsdocs-neuron, Trainium architecture and NKI data types (FP8 E4 ends at 240); rounded to the nearest, "
             "as without NEURON_RT_STOCHASTIC_ROUNDING_EN"}};
    plan_hardware any{.name = "any",
                      .summary = "all of them: what the values would allow",
                      .treatments = {},
                      .sums = in_float32,
                      .narrow_sums = "as the hardware has it",
                      .source = "the rows above"};
    for (const plan_treatment& t : plan_treatments()) any.treatments.push_back(t.name);
    made.push_back(any);
    return made;
  }();
  return all;
}

std::vector<std::string> plan_hardware_names() {
  std::vector<std::string> names;
  for (const plan_hardware& h : plan_hardware_catalog()) names.emplace_back(h.name);
  return names;
}

const plan_hardware& plan_hardware_named(std::string_view name) {
  std::vector<std::string_view> names;
  std::string listed;
  for (const plan_hardware& h : plan_hardware_catalog()) {
    if (h.name == name) return h;
    names.push_back(h.name);
    listed += (listed.empty() ? "" : ", ") + std::string{h.name};
  }
  throw std::invalid_argument("--hardware " + std::string{name} + ": is none of " + listed);
}

bool may_be_narrow(const tensor_info& t) noexcept { return t.shape.size() != 1 && t.numel != 1; }

}  // namespace ulp
