#include <ulp/formats/convert.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <string>

#include "convert_codec.hpp"
#include "convert_threads.hpp"

namespace ulp {
namespace {

using namespace detail;

// Elements that are in the first-level cache on their way.
constexpr std::size_t block_size = 1024;

[[noreturn]] void refuse(const std::string& what) { throw std::invalid_argument("ulp::convert: " + what); }

void expect_format(const format& f, int bytes, const char* what) {
  if (!f.is_valid()) refuse(std::string{what} + " is not a valid format");
  const int bits = bytes == 0 ? 4 : 8 * bytes;
  if (f.width() > bits)
    refuse("codes of " + std::to_string(f.width()) + " bits in elements of " + std::to_string(bits));
}

void expect_sizes(std::size_t from, std::size_t to) {
  if (from != to) refuse(std::to_string(from) + " elements to " + std::to_string(to));
}

void expect_conversion(const conversion& how) {
  if (!how.rounding.is_valid()) refuse("the rounding has a field out of range");
  if (!(std::isfinite(how.scale) && how.scale > 0)) refuse("the scale is not a finite number above zero");
}

std::uint32_t load_code(const const_code_span& codes, std::size_t i) {
  switch (codes.bytes()) {
    case 1: return static_cast<const std::uint8_t*>(codes.data())[i];
    case 2: return static_cast<const std::uint16_t*>(codes.data())[i];
    case 4: return static_cast<const std::uint32_t*>(codes.data())[i];
    default: return static_cast<const std::uint8_t*>(codes.data())[i / 2] >> (4 * (i % 2)) & 15;
  }
}

void store_code(const code_span& codes, std::size_t i, std::uint32_t code) {
  switch (codes.bytes()) {
    case 1: static_cast<std::uint8_t*>(codes.data())[i] = static_cast<std::uint8_t>(code); break;
    case 2: static_cast<std::uint16_t*>(codes.data())[i] = static_cast<std::uint16_t>(code); break;
    case 4: static_cast<std::uint32_t*>(codes.data())[i] = code; break;
    default: {
      std::uint8_t& byte = static_cast<std::uint8_t*>(codes.data())[i / 2];
      byte = static_cast<std::uint8_t>(i % 2 == 0 ? code : byte | code << 4);
    }
  }
}

// Calls of_block(begin, end, counts) for all elements and adds up the counts.
template <class Block>
void for_blocks(std::size_t size, unsigned threads, conversion_counts* counts, Block of_block) {
  conversion_counts all;
  std::mutex adding;
  for_parts(size, block_size, threads, [&](std::size_t begin, std::size_t end) {
    conversion_counts mine;
    for (std::size_t at = begin; at < end; at += block_size) of_block(at, std::min(end, at + block_size), mine);
    const std::lock_guard lock{adding};
    all += mine;
  });
  if (counts != nullptr) *counts += all;
}

template <class Number>
void encode_numbers(const format& to, std::span<const Number> from, code_span codes, const conversion& how,
                    conversion_counts* counts) {
  expect_format(to, codes.bytes(), "the result's");
  expect_sizes(from.size(), codes.size());
  expect_conversion(how);
  const codec_encoder encoder{to, how};
  for_blocks(from.size(), how.threads, counts, [&](std::size_t begin, std::size_t end, conversion_counts& mine) {
    for (std::size_t i = begin; i < end; ++i) store_code(codes, i, encoder(decode(from[i]), i, mine));
  });
}

template <class Number>
void decode_codes(const format& from, const_code_span codes, std::span<Number> to, unsigned threads) {
  expect_format(from, codes.bytes(), "the codes'");
  expect_sizes(codes.size(), to.size());
  for_blocks(to.size(), threads, nullptr, [&](std::size_t begin, std::size_t end, conversion_counts&) {
    for (std::size_t i = begin; i < end; ++i)
      to[i] = static_cast<Number>(sizeof(Number) == 4 ? to_float(from, load_code(codes, i))
                                                      : to_double(from, load_code(codes, i)));
  });
}

}  // namespace

conversion_counts& conversion_counts::operator+=(const conversion_counts& other) noexcept {
  zeros += other.zeros;
  newly_zero += other.newly_zero;
  subnormal += other.subnormal;
  inexact += other.inexact;
  overflowed += other.overflowed;
  nan += other.nan;
  return *this;
}

void detail::refuse_packed_size() { refuse("two codes to a byte take half as many bytes as codes, rounded up"); }

void encode_array(const format& to, std::span<const float> from, code_span codes, const conversion& how,
                  conversion_counts* counts) {
  encode_numbers(to, from, codes, how, counts);
}
void encode_array(const format& to, std::span<const double> from, code_span codes, const conversion& how,
                  conversion_counts* counts) {
  encode_numbers(to, from, codes, how, counts);
}

void decode_array(const format& from, const_code_span codes, std::span<float> to, unsigned threads) {
  decode_codes(from, codes, to, threads);
}
void decode_array(const format& from, const_code_span codes, std::span<double> to, unsigned threads) {
  decode_codes(from, codes, to, threads);
}

void round_array(const format& to, std::span<const float> from, std::span<float> rounded, const conversion& how,
                 conversion_counts* counts) {
  expect_format(to, 4, "the result's");
  expect_sizes(from.size(), rounded.size());
  expect_conversion(how);
  const codec_encoder encoder{to, how};
  for_blocks(from.size(), how.threads, counts, [&](std::size_t begin, std::size_t end, conversion_counts& mine) {
    for (std::size_t i = begin; i < end; ++i) rounded[i] = to_float(to, encoder(decode(from[i]), i, mine));
  });
}

void recode_array(const format& to, code_span codes, const format& from, const_code_span from_codes,
                  const conversion& how, conversion_counts* counts) {
  expect_format(to, codes.bytes(), "the result's");
  expect_format(from, from_codes.bytes(), "the codes'");
  expect_sizes(from_codes.size(), codes.size());
  expect_conversion(how);
  const codec_encoder encoder{to, how};
  for_blocks(codes.size(), how.threads, counts, [&](std::size_t begin, std::size_t end, conversion_counts& mine) {
    for (std::size_t i = begin; i < end; ++i)
      store_code(codes, i, encoder(decode(from, load_code(from_codes, i)), i, mine));
  });
}

void fill_random_bits(const random_stream& random, int bits, std::span<std::uint32_t> out) {
  if (bits < 1 || bits > 32) refuse("random bits are 1 to 32, not " + std::to_string(bits));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = random_bits(random.seed, random.stream, random.first + i, bits);
}

std::vector<std::string_view> targets() { return {"codec"}; }

void force_target(std::string_view name) {
  if (name != "codec") refuse("the target '" + std::string{name} + "' is not one of this processor's");
}

}  // namespace ulp
