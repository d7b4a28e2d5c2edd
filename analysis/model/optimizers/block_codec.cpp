// The blockwise quantizers: bitsandbytes backends/default/ops.py, backends/triton/kernels_optim.py, csrc/cpu_ops.cpp,
// csrc/kernels.cu kQuantizeBlockwise; torchao subclass_8bit.py, subclass_4bit.py, subclass_fp8.py.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include <ulp/formats/catalog.hpp>
#include <ulp/formats/convert.hpp>
#include <ulp/model/optimizers/processor_state.hpp>
#include <ulp/model/optimizers/quantized_state.hpp>

#include "code_table.hpp"
#include "magnitudes.hpp"

namespace ulp {
namespace {

using optimizers::code_rule;
using optimizers::code_table;

constexpr std::array<quantizer_entry, 8> catalog{{
    {block_quantizer::bnb_default, "bnb_default", "bitsandbytes, pure torch kernels of backend \"default\"",
     "x * fl(1 / max(absmax, 1e-38)); a short last block x / max(absmax, 1e-38); clamped to -1..1",
     "number of float32 midpoints below x: a tie takes the lower entry",
     "zero block: code of 0, absmax 0 (short block 1e-38); NaN makes absmax NaN and all codes 255; infinity: absmax "
     "infinite, finite elements 0, infinite ones 255",
     false},
    {block_quantizer::bnb_triton_pytorch_ref, "bnb_triton_pytorch_ref", "bitsandbytes, torch functions beside triton",
     "x / absmax, absmax 0 taken as 1", "first of the smallest float32 distances",
     "zero block: code of 0, absmax 1; NaN: absmax NaN, codes 0", false},
    {block_quantizer::bnb_triton_kernel, "bnb_triton_kernel", "bitsandbytes, triton kernel (read, not run)",
     "x / absmax, clamped to -1..1", "bracket of two entries halved 8 times; the lower one unless it is farther",
     "zero block and NaN: code 0; not verified", false},
    {block_quantizer::bnb_cpu_native, "bnb_cpu_native", "bitsandbytes, native CPU library since 0.50",
     "x * fl(1 / absmax), clamped to -1..1",
     "a table of 65536 equal steps: index trunc(fma((x + 1) * 0.5, 65535, 0.5)), its entry the number of midpoints "
     "below -1 + 2 index / 65535",
     "zero block: codes 0; NaN ignored, its code 0; exact 0 becomes 1.6e-5..2.1e-5 of absmax", false},
    {block_quantizer::bnb_cpu_0492, "bnb_cpu_0492", "bitsandbytes, native CPU library of 0.49.2",
     "x * fl(1 / absmax), clamped to -1..1", "by float32 distances, the upper entry only where it is nearer",
     "zero block: codes 0; NaN ignored, its code 0; the first entry of the map becomes -1, unsigned too", false},
    {block_quantizer::bnb_cuda_text, "bnb_cuda_text", "bitsandbytes, CUDA kQuantizeBlockwise as written",
     "x * fl(1 / absmax)", "seven halvings, then one midpoint: a tie takes the even code",
     "zero block: code 0, absmax 0; NaN ignored, its code 0; all NaN: absmax -3.4e38", false},
    {block_quantizer::ao, "ao", "torchao, 8 and 4 bits", "x / max(absmax, 1e-12); the clipped value is stored",
     "last entry not above x, the next one where x - low >= (high - low) * 0.5 in float32",
     "zero block: code of 0, absmax 1e-12; NaN: absmax NaN, codes 0; infinity: finite elements 0, infinite ones code 0",
     true},
    {block_quantizer::ao_fp8, "ao_fp8", "torchao, float8_e4m3fn",
     "x / scale, scale = max(absmax, 1e-12) / 448 is stored", "nearest, ties to even", "NaN and infinity: NaN", true},
}};

// How a block becomes numbers of -1..1, one row a quantizer.
struct block_rules {
  float least_divisor = 0;         // the absmax is raised to it before anything is divided
  bool stores_divisor = false;     // else what was found
  bool by_reciprocal = false;      // else by quotient
  bool short_by_quotient = false;  // a short block is divided by quotient, and its divisor stored
  bool skips_nan = false;          // NaN does not count for the absmax
  float start = 0;                 // of the search for the absmax in a whole block
  float instead_of_zero = 0;
};

constexpr block_rules rules_of(block_quantizer how) {
  constexpr float lowest = std::numeric_limits<float>::lowest();
  switch (how) {
    case block_quantizer::bnb_default:
      return {.least_divisor = 1e-38F, .by_reciprocal = true, .short_by_quotient = true};
    case block_quantizer::bnb_triton_pytorch_ref: return {.stores_divisor = true, .instead_of_zero = 1};
    case block_quantizer::bnb_triton_kernel: return {.skips_nan = true};
    case block_quantizer::bnb_cpu_native:
    case block_quantizer::bnb_cpu_0492: return {.by_reciprocal = true, .skips_nan = true};
    case block_quantizer::bnb_cuda_text: return {.by_reciprocal = true, .skips_nan = true, .start = lowest};
    case block_quantizer::ao:
    case block_quantizer::ao_fp8: break;
  }
  return {.least_divisor = 1e-12F, .stores_divisor = true};
}

// As torch.maximum: NaN stays.
float raised(float absmax, float least) { return absmax < least ? least : absmax; }

void refuse(const std::string& what) { throw std::invalid_argument(what); }

std::vector<float> checked(block_quantizer how, std::span<const float> map) {
  if (how == block_quantizer::ao_fp8) {
    std::vector<float> all;
    for (std::uint32_t code = 0; code < 256; ++code) all.push_back(to_float(float8_e4m3fn, code));
    return all;
  }
  const bool any_size = how == block_quantizer::bnb_default || how == block_quantizer::bnb_triton_pytorch_ref ||
                        how == block_quantizer::ao;
  if (map.size() != 256 && !(any_size && map.size() == 16))
    refuse("a map has 256 entries" + std::string{any_size ? ", or 16" : ""} + ", not " + std::to_string(map.size()));
  for (std::size_t i = 0; i < map.size(); ++i)
    if (!std::isfinite(map[i]) || (i > 0 && map[i] < map[i - 1]))
      refuse("a map must be finite and ascending; entry " + std::to_string(i) + " is not");
  std::vector<float> all(map.begin(), map.end());
  if (how == block_quantizer::bnb_cpu_0492) {
    if (all[1] < -1.0F) refuse("the first entry of this map becomes -1, and others are below it");
    all[0] = -1.0F;
  }
  return all;
}

}  // namespace

std::span<const quantizer_entry> quantizer_catalog() noexcept { return catalog; }

const quantizer_entry* find_quantizer(std::string_view name) noexcept {
  for (const quantizer_entry& entry : catalog)
    if (entry.name == name) return &entry;
  return nullptr;
}

struct block_codec::tables {
  tables(block_quantizer quantizer, std::span<const float> given)
      : how(quantizer),
        map(checked(quantizer, given)),
        rule(quantizer, map),
        search(rule, quantizer == block_quantizer::ao_fp8 ? 1 : static_cast<int>(map.size())) {}

  block_quantizer how;
  std::vector<float> map;
  code_rule rule;
  code_table search;
};

block_codec::block_codec(block_quantizer how, std::span<const float> map) {
  const default_processor_state processor;
  tables_ = std::make_shared<const tables>(how, map);
}

block_quantizer block_codec::quantizer() const noexcept { return tables_->how; }
std::span<const float> block_codec::map() const noexcept { return tables_->map; }

std::uint8_t block_codec::code_of(float normalized) const noexcept {
  if (tables_->how != block_quantizer::ao_fp8) return tables_->search.code_of(normalized);
  return static_cast<std::uint8_t>(tables_->rule.code_of(normalized));
}

std::uint8_t block_codec::code_by_rule(float normalized) const {
  if (tables_->how != block_quantizer::ao_fp8 && normalized != normalized)
    return static_cast<std::uint8_t>(tables_->rule.nan_code());
  return static_cast<std::uint8_t>(tables_->rule.code_of(normalized));
}

void block_codec::codes_of_quotients(std::span<const float> x, float divisor, std::span<std::uint8_t> codes) const {
  std::array<float, 256> part;
  for (std::size_t first = 0; first < x.size(); first += part.size()) {
    const std::size_t count = std::min(part.size(), x.size() - first);
    for (std::size_t i = 0; i < count; ++i) part[i] = x[first + i] / divisor;
    const std::span<const float> quotients{part.data(), count};
    if (tables_->how == block_quantizer::ao_fp8)
      encode_array(float8_e4m3fn, quotients, codes.subspan(first, count), {.threads = 1});
    else
      tables_->search.codes_of(quotients, codes.subspan(first, count));
  }
}

float block_codec::quantize_block(std::span<const float> x, bool is_short, std::span<std::uint8_t> codes) const {
  const block_rules rules = rules_of(tables_->how);
  float absmax =
      rules.skips_nan ? optimizers::greatest_number(x, is_short ? 0 : rules.start) : optimizers::greatest_magnitude(x);
  if (absmax == 0) absmax = rules.instead_of_zero;
  float divisor = raised(absmax, rules.least_divisor);
  const bool keeps_divisor = rules.stores_divisor || (is_short && rules.short_by_quotient);
  if (tables_->how == block_quantizer::ao_fp8) divisor /= 448.0F;
  if (!rules.by_reciprocal || (is_short && rules.short_by_quotient)) {
    codes_of_quotients(x, divisor, codes);
    return keeps_divisor ? divisor : absmax;
  }
  const float reciprocal = 1.0F / divisor;
  std::array<float, 256> part;
  for (std::size_t first = 0; first < x.size(); first += part.size()) {
    const std::size_t count = std::min(part.size(), x.size() - first);
    for (std::size_t i = 0; i < count; ++i) part[i] = x[first + i] * reciprocal;
    tables_->search.codes_of({part.data(), count}, codes.subspan(first, count));
  }
  return keeps_divisor ? divisor : absmax;
}

void block_codec::quantize(std::span<const float> x, std::size_t block_size, std::span<std::uint8_t> codes,
                           std::span<float> absmax) const {
  if (block_size == 0) refuse("a block has at least one element");
  const std::size_t blocks = block_count(x.size(), block_size);
  if (codes.size() != x.size() || absmax.size() != blocks)
    refuse("of " + std::to_string(x.size()) + " elements in blocks of " + std::to_string(block_size) +
           " there are as many codes and " + std::to_string(blocks) + " absmax");
  if (catalog[static_cast<std::size_t>(tables_->how)].whole_blocks_only && x.size() % block_size != 0)
    refuse("torchao quantizes whole blocks: " + std::to_string(x.size()) + " elements are no multiple of " +
           std::to_string(block_size));
  const default_processor_state processor;
  for (std::size_t block = 0; block < blocks; ++block) {
    const std::size_t first = block * block_size;
    const std::size_t count = std::min(block_size, x.size() - first);
    absmax[block] = quantize_block(x.subspan(first, count), count < block_size, codes.subspan(first, count));
  }
}

void block_codec::dequantize(std::span<const std::uint8_t> codes, std::span<const float> absmax, std::size_t block_size,
                             std::span<float> x) const {
  if (block_size == 0) refuse("a block has at least one element");
  const std::size_t blocks = block_count(x.size(), block_size);
  if (codes.size() != x.size() || absmax.size() != blocks)
    refuse("of " + std::to_string(x.size()) + " elements in blocks of " + std::to_string(block_size) +
           " there are as many codes and " + std::to_string(blocks) + " absmax");
  const default_processor_state processor;
  const float* const map = tables_->map.data();
  const std::size_t mask = tables_->map.size() - 1;
  for (std::size_t block = 0; block < blocks; ++block) {
    const std::size_t first = block * block_size;
    const std::size_t end = std::min(first + block_size, x.size());
    for (std::size_t i = first; i < end; ++i) x[i] = map[codes[i] & mask] * absmax[block];
  }
}

std::uint16_t ao_stochastic_bfloat16(std::uint32_t bits, std::uint16_t random) noexcept {
  const std::uint32_t toward_zero = bits & 0xFFFF0000U;
  const std::uint32_t rounded = random < (bits & 0xFFFFU) ? toward_zero + 0x10000U : toward_zero;
  return static_cast<std::uint16_t>((rounded & 0x7FFFFFFFU) > 0x7F800000U ? 0x7FC0U : rounded >> 16U);
}

}  // namespace ulp
