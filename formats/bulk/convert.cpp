#include <ulp/formats/convert.hpp>

#include <algorithm>
#include <array>
#include <mutex>
#include <stdexcept>
#include <string>

#include "codec.hpp"
#include "conversion_plan.hpp"
#include "stream.hpp"
#include "threads.hpp"
#include "tiles.hpp"

namespace ulp {
namespace {

using namespace detail;

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
  // Not asked of the processor, for which subnormal numbers may be zero.
  const unpacked scale = decode(how.scale);
  if (scale.kind != number_class::finite || scale.negative) refuse("the scale is not a finite number above zero");
}

// Calls of_tile(begin, size, counts) for all elements, `step` at a time, and adds up the counts.
template <class Tile>
void for_tiles(std::size_t size, std::size_t step, unsigned threads, conversion_counts* counts, Tile of_tile) {
  conversion_counts all;
  std::mutex adding;
  for_parts(size, step, threads, [&](std::size_t begin, std::size_t end) {
    conversion_counts mine;
    for (std::size_t at = begin; at < end; at += step) of_tile(at, std::min(end - at, step), mine);
    end_of_stream();
    const std::lock_guard lock{adding};
    all += mine;
  });
  if (counts != nullptr) *counts += all;
}

// What is converted: floats, doubles or codes. floats(begin, size, buffer) are elements as they are, by way of the buffer
// where they are something else; doubles the same.
template <class Number>
struct number_elements {
  std::span<const Number> numbers;

  static constexpr format own = sizeof(Number) == 4 ? binary32 : binary64;
  static constexpr bool give_floats = sizeof(Number) == 4;
  static constexpr bool give_doubles = sizeof(Number) == 8;
  [[nodiscard]] std::size_t size() const { return numbers.size(); }
  [[nodiscard]] unpacked exact(std::size_t i) const { return decode(numbers[i]); }
  [[nodiscard]] std::span<const Number> get(std::size_t begin, std::size_t n, Number*) const {
    return numbers.subspan(begin, n);
  }
  template <class Other>
  [[nodiscard]] std::span<const Other> get(std::size_t, std::size_t, Other*) const {
    return {};
  }
};

struct code_elements {
  const_code_span codes;
  format own;
  tile_decoder<float> to_float;
  tile_decoder<double> to_double;
  bool give_floats = to_float.usable();
  bool give_doubles = to_double.usable();

  code_elements(const_code_span all, const format& from, const kernels* loops)
      : codes(all), own(from), to_float(from, loops), to_double(from, loops) {}
  [[nodiscard]] std::size_t size() const { return codes.size(); }
  [[nodiscard]] unpacked exact(std::size_t i) const { return decode(own, code_at(codes, i)); }
  [[nodiscard]] std::span<const float> get(std::size_t begin, std::size_t n, float* buffer) const {
    to_float({codes, begin}, {buffer, n}, false);
    return {buffer, n};
  }
  [[nodiscard]] std::span<const double> get(std::size_t begin, std::size_t n, double* buffer) const {
    to_double({codes, begin}, {buffer, n}, false);
    return {buffer, n};
  }
};

template <class Elements>
conversion_plan plan_of(const format& to, const Elements& elements, const conversion& how, bool counting,
                        bool to_floats = false) {
  const element_source source{elements.own, elements.give_floats, elements.give_doubles};
  return plan_conversion(to, how, source, loops_in_use().load(std::memory_order_relaxed), counting, to_floats);
}

// put(begin, size, is_long, encode): encode(place, streams) writes the codes of the tile there, past the caches if it `streams`
// and the tile may be long, of up to `long_step` elements.
template <class Elements, class Put>
void encode_elements(const conversion_plan& plan, const format& to, const Elements& elements, const conversion& how,
                     conversion_counts* counts, std::size_t long_step, Put put) {
  const auto by_tiles = [&]<class Number>(const tile_encoder<Number>& encode, auto get) {
    const bool is_long = encode.plan().takes_long_tiles();
    const auto tile = [&](std::size_t begin, std::size_t n, conversion_counts& mine) {
      std::array<Number, tile_size> buffer;
      const std::span<const Number> numbers = get(begin, n, buffer.data());
      put(begin, n, is_long,
          [&](const codes_out& place, bool streams) { encode(numbers, begin, place, streams, mine); });
    };
    for_tiles(elements.size(), is_long ? long_step : tile_size, how.threads, counts, tile);
  };
  const auto by_narrow_tiles = [&](const tile_encoder<float>& narrow, const tile_encoder<double>& wide) {
    const auto tile = [&](std::size_t begin, std::size_t n, conversion_counts& mine) {
      std::array<double, tile_size> buffer;
      std::array<float, tile_size> odd;
      const std::span<const double> numbers = elements.get(begin, n, buffer.data());
      const bool beyond = plan.of_floats.loops->to_odd(numbers.data(), odd.data(), n);
      put(begin, n, false, [&](const codes_out& place, bool streams) {
        if (beyond)
          wide(numbers, begin, place, streams, mine);
        else
          narrow({odd.data(), n}, begin, place, streams, mine);
      });
    };
    for_tiles(elements.size(), tile_size, how.threads, counts, tile);
  };
  const auto as_they_are = [&](auto begin, auto n, auto* buffer) { return elements.get(begin, n, buffer); };
  switch (plan.way) {
    case element_way::floats: return by_tiles(tile_encoder{plan.of_floats, how.random}, as_they_are);
    case element_way::doubles: return by_tiles(tile_encoder{plan.of_doubles, how.random}, as_they_are);
    case element_way::narrowed: return by_narrow_tiles({plan.of_floats, how.random}, {plan.of_doubles, how.random});
    case element_way::products:
      return by_tiles(tile_encoder{plan.of_doubles, how.random}, [&](auto begin, auto n, double* products) {
        std::array<float, tile_size> buffer;
        multiply(elements.get(begin, n, buffer.data()), plan.factor, products);
        return std::span<const double>{products, n};
      });
    case element_way::singly: break;
  }
  const codec_encoder encode{{to, how.rounding}, plan.factor, how.random};
  const auto tile = [&](std::size_t begin, std::size_t n, conversion_counts& mine) {
    std::array<std::uint32_t, tile_size> codes;
    for (std::size_t i = 0; i < n; ++i) codes[i] = encode(elements.exact(begin + i), begin + i, mine);
    put(begin, n, false, [&](const codes_out& place, bool) { store({codes.data(), n}, nullptr, place); });
  };
  for_tiles(elements.size(), tile_size, how.threads, counts, tile);
}

template <class Elements>
void encode_to_codes(const format& to, const Elements& elements, code_span codes, const conversion& how,
                     conversion_counts* counts, const void* numbers = nullptr) {
  const auto bytes = static_cast<std::size_t>(codes.bytes());
  const bool direct = numbers != nullptr && numbers != codes.data() && codes.bytes() != 0;
  const bool streams = direct && bytes * codes.size() >= least_streamed;
  const std::size_t long_step = !direct ? tile_size : streams ? streamed_tile_size : long_tile_size;
  encode_elements(plan_of(to, elements, how, counts != nullptr), to, elements, how, counts, long_step,
                  [&](std::size_t begin, std::size_t n, bool is_long, auto encode) {
                    const codes_out place{codes, begin};
                    if (!streams || is_long) return encode(place, streams);
                    alignas(64) std::array<std::uint32_t, tile_size> buffer;
                    encode(codes_out{buffer.data(), codes.bytes()}, false);
                    stream(place.data, buffer.data(), bytes * n);
                  });
}

template <class Number>
void encode_numbers(const format& to, std::span<const Number> from, code_span codes, const conversion& how,
                    conversion_counts* counts) {
  expect_format(to, codes.bytes(), "the result's");
  expect_sizes(from.size(), codes.size());
  expect_conversion(how);
  encode_to_codes(to, number_elements<Number>{from}, codes, how, counts, from.data());
}

template <class Number>
Number decode_singly(const format& from, std::uint32_t code) {
  if constexpr (sizeof(Number) == 4)
    return to_float(from, code);
  else
    return to_double(from, code);
}

// Codes of a tile to numbers.
template <class Number>
class decoder {
 public:
  explicit decoder(const format& from) : from_(from), by_tile_(from, loops_in_use().load(std::memory_order_relaxed)) {}
  [[nodiscard]] bool is_quick() const { return by_tile_.is_quick(); }
  void operator()(const codes_in& codes, std::span<Number> to, bool streams = false) const {
    if (by_tile_.usable()) return by_tile_(codes, to, streams);
    std::array<std::uint32_t, tile_size> buffer;
    const std::uint32_t* const singly = load(codes, to.size(), buffer.data());
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = decode_singly<Number>(from_, singly[i]);
  }

 private:
  format from_;
  tile_decoder<Number> by_tile_;
};

template <class Number>
void decode_codes(const format& from, const_code_span codes, std::span<Number> to, unsigned threads) {
  expect_format(from, codes.bytes(), "the codes'");
  expect_sizes(codes.size(), to.size());
  const decoder<Number> decode{from};
  const bool quick = decode.is_quick() && codes.bytes() != 0;
  const bool streams = to.size_bytes() >= least_streamed && codes.data() != to.data();
  const std::size_t step = quick ? long_tile_size : tile_size;
  for_tiles(to.size(), step, threads, nullptr, [&](std::size_t begin, std::size_t n, conversion_counts&) {
    const codes_in place{codes, begin};
    const std::span<Number> numbers = to.subspan(begin, n);
    if (!streams || quick) return decode(place, numbers, streams);
    alignas(64) std::array<Number, tile_size> buffer;
    decode(place, std::span{buffer}.first(n));
    stream(numbers.data(), buffer.data(), numbers.size_bytes());
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
  const bool streams = from.data() != rounded.data() && rounded.size_bytes() >= least_streamed;
  const number_elements<float> elements{from};
  const conversion_plan plan = plan_of(to, elements, how, counts != nullptr, true);
  if (plan.of_floats.results) {
    const tile_rounder round{plan.of_floats, how.random};
    const std::size_t step = streams ? streamed_tile_size : long_tile_size;
    return for_tiles(from.size(), step, how.threads, nullptr,
                     [&](std::size_t begin, std::size_t n, conversion_counts&) {
                       round(from.subspan(begin, n), begin, rounded.subspan(begin, n), streams);
                     });
  }
  const decoder<float> decode{to};
  encode_elements(plan, to, elements, how, counts, tile_size, [&](std::size_t begin, std::size_t n, bool, auto encode) {
    std::array<std::uint32_t, tile_size> codes;
    encode(codes_out{code_span{codes}, 0}, false);
    decode(codes_in{const_code_span{codes}, 0}, rounded.subspan(begin, n), streams);
  });
}

void recode_array(const format& to, code_span codes, const format& from, const_code_span from_codes,
                  const conversion& how, conversion_counts* counts) {
  expect_format(to, codes.bytes(), "the result's");
  expect_format(from, from_codes.bytes(), "the codes'");
  expect_sizes(from_codes.size(), codes.size());
  expect_conversion(how);
  encode_to_codes(to, code_elements{from_codes, from, loops_in_use().load(std::memory_order_relaxed)}, codes, how,
                  counts);
}

void fill_random_bits(const random_stream& random, int bits, std::span<std::uint32_t> out) {
  if (bits < 1 || bits > 32) refuse("random bits are 1 to 32, not " + std::to_string(bits));
  fill_random(loops_in_use().load(std::memory_order_relaxed), random, 0, bits, out.data(), out.size());
}

std::vector<std::string_view> targets() {
  std::vector<std::string_view> names{"codec"};
  for (const kernels* k : kernels_here()) names.push_back(k->name);
  return names;
}

void force_target(std::string_view name) {
  if (name == "codec") return loops_in_use().store(nullptr);
  for (const kernels* k : kernels_here())
    if (k->name == name) return loops_in_use().store(k);
  std::string known;
  for (const std::string_view target : targets()) known += (known.empty() ? "" : ", ") + std::string{target};
  refuse("'" + std::string{name} + "' is not a target of this processor: " + known);
}

}  // namespace ulp
