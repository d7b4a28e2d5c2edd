// One tile of an array at a time, which stays in the first-level cache between loops: by kernels, or by the codec.
#ifndef ULP_FORMATS_BULK_TILES_HPP
#define ULP_FORMATS_BULK_TILES_HPP

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "codec.hpp"
#include "conversion_plan.hpp"
#include "kernels.hpp"
#include "plan.hpp"

namespace ulp::detail {

inline constexpr std::size_t tile_size = 1024;
// Random bits that loops may read behind the last one.
inline constexpr std::size_t spare_random = 64;
// Elements of tiles of which nothing is kept on the way.
inline constexpr std::size_t long_tile_size = 8 * tile_size;
// The same past the caches, where a tile is read at several places in turns.
inline constexpr std::size_t streamed_tile_size = 128 * tile_size;

// Where codes are, from one of them on. Two in a byte begin with an even one.
template <bool Constant>
struct code_place {
  template <class T>
  using pointer = std::conditional_t<Constant, const T*, T*>;

  pointer<void> data;
  int bytes;

  code_place(pointer<void> at, int bytes_of_element) noexcept : data(at), bytes(bytes_of_element) {}
  code_place(const basic_code_span<Constant>& codes, std::size_t first) noexcept
      : data(static_cast<pointer<std::uint8_t>>(codes.data()) +
             (codes.bytes() == 0 ? first / 2 : first * static_cast<std::size_t>(codes.bytes()))),
        bytes(codes.bytes()) {}
  [[nodiscard]] code_place after(std::size_t codes) const noexcept {
    return {as8() + (bytes == 0 ? codes / 2 : codes * static_cast<std::size_t>(bytes)), bytes};
  }

  [[nodiscard]] pointer<std::uint8_t> as8() const noexcept { return static_cast<pointer<std::uint8_t>>(data); }
  [[nodiscard]] pointer<std::uint16_t> as16() const noexcept { return static_cast<pointer<std::uint16_t>>(data); }
  [[nodiscard]] pointer<std::uint32_t> as32() const noexcept { return static_cast<pointer<std::uint32_t>>(data); }
};
using codes_out = code_place<false>;
using codes_in = code_place<true>;

// By the baseline's loops where there are none.
void store(std::span<const std::uint32_t> codes, const kernels* loops, const codes_out& to) noexcept;
// Of codes in other elements than of 32 bits, into `buffer`.
[[nodiscard]] const std::uint32_t* load(const codes_in& from, std::size_t size, std::uint32_t* buffer) noexcept;

[[nodiscard]] std::uint32_t code_at(const const_code_span& codes, std::size_t i) noexcept;

// Elements of a group of 16 blocks of the generator, which vectors compute side by side.
[[nodiscard]] constexpr std::size_t elements_of_group(int bits) noexcept {
  return bits <= 8 ? 256 : bits <= 16 ? 128 : 64;
}

// random_bits of elements index .. index + size - 1.
void fill_random(const kernels* loops, const random_stream& random, std::uint64_t index, int bits, std::uint32_t* out,
                 std::size_t size) noexcept;

// x times a factor that is_float, exactly, whatever the processor's state.
void multiply(std::span<const float> x, const exact_factor& factor, double* products) noexcept;

// Numbers, float or double, to codes, as a plan says that is usable.
template <class Number>
class tile_encoder {
 public:
  tile_encoder(const encoder_plan<Number>& plan, const random_stream& random)
      : plan_(plan), random_(random), left_out_(plan.how, {.exponent = plan.power}, random) {}

  [[nodiscard]] const encoder_plan<Number>& plan() const noexcept { return plan_; }
  // `first`: the index of the first number. `streams`: past the caches, where it takes long tiles.
  void operator()(std::span<const Number> numbers, std::uint64_t first, const codes_out& to, bool streams,
                  conversion_counts& counts) const noexcept;

 private:
  // By loops that need nothing but numbers and codes, where there are some: whether they left elements out.
  bool directly(std::span<const Number> numbers, const codes_out& to, bool streams,
                conversion_counts& counts) const noexcept;
  // Stochastically, as many numbers as are in whole groups from an index on that begins one. Returns how many.
  std::size_t by_groups(std::span<const Number> numbers, std::uint64_t first, const codes_out& to, bool streams,
                        bool& left_out) const noexcept;
  // By any loops, at most tile_size numbers.
  bool by_buffers(std::span<const Number> numbers, std::uint64_t first, const codes_out& to,
                  conversion_counts& counts) const noexcept;
  void put_left_out(std::span<const Number> numbers, std::uint64_t first, const codes_out& to,
                    conversion_counts& counts) const noexcept;

  encoder_plan<Number> plan_;
  random_stream random_;
  codec_encoder left_out_;
};

// Codes to numbers, where kernels do it.
template <class Number>
class tile_decoder {
 public:
  tile_decoder(const format& from, const kernels* loops) : loops_(loops) {
    if (loops != nullptr) plan_ = plan_decoding<bits_of<Number>>(from);
  }
  [[nodiscard]] bool usable() const noexcept { return plan_.has_value(); }
  // Whether it takes long tiles, of codes that are not two to a byte, and may write past the caches.
  [[nodiscard]] bool is_quick() const noexcept {
    return usable() && loops_->decode != nullptr && sizeof(Number) == sizeof(float);
  }
  void operator()(const codes_in& from, std::span<Number> to, bool streams) const noexcept;

 private:
  const kernels* loops_;
  std::optional<decode_plan<bits_of<Number>>> plan_;
};

// Floats to floats without codes, as a plan says that has `results`.
class tile_rounder {
 public:
  tile_rounder(const encoder_plan<float>& plan, const random_stream& random)
      : plan_(plan), random_(random), encode_(plan, random), decode_(plan.how.format, plan.loops) {}
  // `first`: the index of the first number. In place or beside; `streams`: past the caches.
  void operator()(std::span<const float> numbers, std::uint64_t first, std::span<float> rounded,
                  bool streams) const noexcept;

 private:
  // Stochastically; whether it left infinity or NaN as they are.
  bool by_groups(std::span<const float> numbers, std::uint64_t first, std::span<float> rounded,
                 bool streams) const noexcept;
  // At most tile_size numbers.
  void by_codes(std::span<const float> numbers, std::uint64_t first, std::span<float> rounded) const noexcept;

  encoder_plan<float> plan_;
  random_stream random_;
  tile_encoder<float> encode_;
  tile_decoder<float> decode_;
};

}  // namespace ulp::detail

#endif
