#include <ulp/formats/blocks.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <string>

#include <ulp/formats/codec.hpp>
#include <ulp/formats/convert.hpp>
#include <ulp/formats/processor_state.hpp>

#include "code_table.hpp"

namespace ulp {
namespace {

using detail::code_rule;
using detail::code_table;

// As torch.maximum: NaN stays.
float raised(float absmax, float least) { return absmax < least ? least : absmax; }

void refuse(const std::string& what) { throw std::invalid_argument(what); }

// Of all codes of a format.
std::vector<float> numbers_of(const format& of) {
  std::vector<float> all;
  for (std::uint32_t code = 0; code <= of.code_mask(); ++code) all.push_back(to_float(of, code));
  return all;
}

std::vector<float> checked(const codebook_rule& rule, std::span<const float> map) {
  if (map.size() != 256 && !(rule.may_have_16 && map.size() == 16))
    refuse("a map has 256 entries" + std::string{rule.may_have_16 ? ", or 16" : ""} + ", not " +
           std::to_string(map.size()));
  for (std::size_t i = 0; i < map.size(); ++i)
    if (!std::isfinite(map[i]) || (i > 0 && map[i] < map[i - 1]))
      refuse("a map must be finite and ascending; entry " + std::to_string(i) + " is not");
  std::vector<float> all(map.begin(), map.end());
  if (rule.begins_at_minus_one) {
    if (all[1] < -1.0F) refuse("the first entry of this map becomes -1, and others are below it");
    all[0] = -1.0F;
  }
  return all;
}

// A codebook's rule and the table that stands for it.
struct lookup {
  lookup(code_search how, std::span<const float> map) : rule(how, map), table(rule, static_cast<int>(map.size())) {}
  code_rule rule;
  code_table table;
};

}  // namespace

struct block_codec::tables {
  tables(const block_row& of, std::span<const float> given) : row(of) {
    if (const auto* const codebook = std::get_if<codebook_rule>(&of.elements)) {
      map = checked(*codebook, given);
      search.emplace(codebook->search, map);
    } else {
      map = numbers_of(number_format());
    }
  }
  // Precondition: the elements are no codebook's.
  [[nodiscard]] const format& number_format() const { return *std::get<const format*>(row.elements); }

  const block_row& row;
  std::vector<float> map;
  std::optional<lookup> search;  // of a codebook
};

block_codec::block_codec(block_quantizer how, std::span<const float> map) {
  const default_processor_state processor;
  tables_ = std::make_shared<const tables>(block_rows()[static_cast<std::size_t>(how)], map);
}

block_quantizer block_codec::quantizer() const noexcept { return tables_->row.quantizer; }
std::span<const float> block_codec::map() const noexcept { return tables_->map; }

std::uint8_t block_codec::code_of(float normalized) const noexcept {
  if (tables_->search) return tables_->search->table.code_of(normalized);
  return static_cast<std::uint8_t>(encode(tables_->number_format(), normalized).code);
}

std::uint8_t block_codec::code_by_rule(float normalized) const {
  if (!tables_->search) return code_of(normalized);
  const code_rule& rule = tables_->search->rule;
  return static_cast<std::uint8_t>(normalized != normalized ? rule.nan_code() : rule.code_of(normalized));
}

void block_codec::codes_of_quotients(std::span<const float> x, float divisor, std::span<std::uint8_t> codes) const {
  std::array<float, 256> part;
  for (std::size_t first = 0; first < x.size(); first += part.size()) {
    const std::size_t count = std::min(part.size(), x.size() - first);
    for (std::size_t i = 0; i < count; ++i) part[i] = x[first + i] / divisor;
    const std::span<const float> quotients{part.data(), count};
    if (tables_->search)
      tables_->search->table.codes_of(quotients, codes.subspan(first, count));
    else
      encode_array(tables_->number_format(), quotients, codes.subspan(first, count), {.threads = 1});
  }
}

float block_codec::quantize_block(std::span<const float> x, bool is_short, std::span<std::uint8_t> codes) const {
  const scale_rule& rule = tables_->row.scale;
  float absmax = rule.skips_nan ? greatest_number(x, is_short ? 0 : rule.start) : greatest_magnitude(x);
  if (absmax == 0) absmax = rule.instead_of_zero;
  float divisor = raised(absmax, rule.least);
  if (rule.of_largest != 1) divisor /= rule.of_largest;
  const bool keeps_divisor = rule.keeps_divisor || (is_short && rule.short_by_quotient);
  if (!tables_->search || !rule.by_reciprocal || (is_short && rule.short_by_quotient)) {
    codes_of_quotients(x, divisor, codes);
    return keeps_divisor ? divisor : absmax;
  }
  const float reciprocal = 1.0F / divisor;
  std::array<float, 256> part;
  for (std::size_t first = 0; first < x.size(); first += part.size()) {
    const std::size_t count = std::min(part.size(), x.size() - first);
    for (std::size_t i = 0; i < count; ++i) part[i] = x[first + i] * reciprocal;
    tables_->search->table.codes_of({part.data(), count}, codes.subspan(first, count));
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
  if (tables_->row.whole_blocks_only && x.size() % block_size != 0)
    refuse(std::string{tables_->row.name} + " quantizes whole blocks: " + std::to_string(x.size()) +
           " elements are no multiple of " + std::to_string(block_size));
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

}  // namespace ulp
