#include "storage.hpp"

#include <algorithm>
#include <bit>
#include <variant>

#include <ulp/formats/catalog.hpp>
#include <ulp/formats/codec.hpp>
#include <ulp/formats/convert.hpp>
#include <ulp/formats/name_suggestions.hpp>
#include <ulp/formats/names.hpp>

namespace ulp::optimizers {
namespace {

float to_bfloat16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t rounded = (bits + 0x7FFFU + ((bits >> 16U) & 1U)) & 0xFFFF0000U;
  return std::bit_cast<float>((bits & 0x7FFFFFFFU) > 0x7F800000U ? 0x7FC00000U : rounded);
}

constexpr conversion one_thread{.threads = 1};

}  // namespace

storage_rounder::storage_rounder(const format& to)
    : to_(to),
      way_(to == float32    ? way::none
           : to == bfloat16 ? way::bfloat16
                            : way::any) {}

void storage_rounder::operator()(numbers x) const {
  if (way_ == way::bfloat16)
    for (float& f : x) f = to_bfloat16(f);
  else if (way_ == way::any)
    round_array(to_, x, one_thread);
}

float storage_rounder::operator()(float x) const {
  (*this)(numbers{&x, 1});
  return x;
}

stored_state::stored_state(std::string name, std::size_t size, storage how)
    : name_(std::move(name)), codes_name_(name_ + "_codes"), absmax_name_(name_ + "_absmax") {
  if (auto* const blocks = std::get_if<blocks_of_codes>(&how)) {
    blocks_.emplace(std::move(blocks->codec), blocks->block_size, size);
    return;
  }
  of_ = std::get<format>(how);
  if (of_ == float32)
    floats_.resize(size);
  else if (of_.width() <= 8)
    bytes_.resize(size);
  else if (of_.width() <= 16)
    words_.resize(size);
  else
    long_words_.resize(size);
}

void stored_state::load(std::size_t first, numbers out) const {
  if (blocks_) return blocks_->load(first, out);
  const std::size_t n = out.size();
  if (of_ == float32)
    std::copy_n(floats_.begin() + static_cast<std::ptrdiff_t>(first), n, out.begin());
  else if (of_ == bfloat16)
    for (std::size_t i = 0; i < n; ++i) out[i] = std::bit_cast<float>(std::uint32_t{words_[first + i]} << 16U);
  else if (of_.width() <= 8)
    decode_array(of_, std::span{bytes_}.subspan(first, n), out, 1);
  else if (of_.width() <= 16)
    decode_array(of_, std::span{words_}.subspan(first, n), out, 1);
  else
    decode_array(of_, std::span{long_words_}.subspan(first, n), out, 1);
}

void stored_state::store(std::size_t first, const_numbers x) {
  if (blocks_) return blocks_->store(first, x);
  const std::size_t n = x.size();
  if (of_ == float32)
    std::copy_n(x.begin(), n, floats_.begin() + static_cast<std::ptrdiff_t>(first));
  else if (of_ == bfloat16)
    for (std::size_t i = 0; i < n; ++i)
      words_[first + i] = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(to_bfloat16(x[i])) >> 16U);
  else if (of_.width() <= 8)
    encode_array(of_, x, std::span{bytes_}.subspan(first, n), one_thread);
  else if (of_.width() <= 16)
    encode_array(of_, x, std::span{words_}.subspan(first, n), one_thread);
  else
    encode_array(of_, x, std::span{long_words_}.subspan(first, n), one_thread);
}

void stored_state::append_to(std::vector<optimizer_state>& all) const {
  if (blocks_) {
    all.push_back({codes_name_, blocks_->codes(), {}, &blocks_->codec(), blocks_->block_size()});
    all.push_back({absmax_name_, blocks_->absmax(), {}});
  } else if (of_ == float32) {
    all.push_back({name_, std::span<const float>{floats_}, {}});
  } else if (of_.width() <= 8) {
    all.push_back({name_, std::span<const std::uint8_t>{bytes_}, of_});
  } else if (of_.width() <= 16) {
    all.push_back({name_, std::span<const std::uint16_t>{words_}, of_});
  } else {
    all.push_back({name_, std::span<const std::uint32_t>{long_words_}, of_});
  }
}

map_arithmetic map_named(std::string_view name) {
  for (const map_arithmetic how :
       {map_arithmetic::torch26_nofma, map_arithmetic::torch26_fma, map_arithmetic::correctly_rounded})
    if (to_string(how) == name) return how;
  throw parameter_error("parameter 'map' takes torch26_nofma, torch26_fma or correctly_rounded, not '" +
                        std::string{name} + "'");
}

std::size_t block_size_of(std::int64_t value) {
  if (value < 1 || value > std::int64_t{1} << 24)
    throw parameter_error("parameter 'block_size' must be from 1 to 2^24, not " + std::to_string(value));
  return static_cast<std::size_t>(value);
}

storage storage_named(std::string_view parameter, std::string_view name, bool is_signed, std::size_t block_size,
                      map_arithmetic map) {
  if (name == "ao_4bit") return blocks_of_codes{{block_quantizer::ao, map_4bit(is_signed, map)}, block_size};
  if (const block_row* const row = find_block_row(name)) {
    const bool has_map = std::holds_alternative<codebook_rule>(row->elements);
    return blocks_of_codes{{row->quantizer, has_map ? dynamic_map(is_signed, map) : std::vector<float>{}}, block_size};
  }
  const auto found = find_format(name);
  if (found && found->width() <= 32) return *found;
  std::string known = "float32 or another format of at most 32 bits, ao_4bit";
  for (const block_row& row : block_rows()) known += ", " + std::string{row.name};
  throw parameter_error("parameter '" + std::string{parameter} + "' takes " + known + ", not '" + std::string{name} +
                        "'");
}

}  // namespace ulp::optimizers
