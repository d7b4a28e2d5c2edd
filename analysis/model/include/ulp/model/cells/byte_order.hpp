// Numbers as files have them, little-endian unless they say otherwise, and as the processor has them. Where the two orders are
// one, bytes are copied, or stay where they are.
#ifndef ULP_MODEL_CELLS_BYTE_ORDER_HPP
#define ULP_MODEL_CELLS_BYTE_ORDER_HPP

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace ulp {

template <std::unsigned_integral Word>
[[nodiscard]] constexpr Word reversed_bytes(Word word) noexcept {
  if constexpr (sizeof(Word) == 2) return __builtin_bswap16(word);
  if constexpr (sizeof(Word) == 4) return __builtin_bswap32(word);
  if constexpr (sizeof(Word) == 8) return __builtin_bswap64(word);
  return word;
}

// Numbers of `size` bytes (1, 2, 4 or 8) that lie in `order`, or are to, where the processor's is on the other side.
inline void reverse_unless_native(std::span<std::uint8_t> bytes, std::size_t size, std::endian order) noexcept {
  if (order == std::endian::native) return;
  const auto reverse = [&]<class Word>(Word word) {
    for (std::size_t at = 0; at + sizeof(Word) <= bytes.size(); at += sizeof(Word)) {
      std::memcpy(&word, bytes.data() + at, sizeof(Word));
      word = reversed_bytes(word);
      std::memcpy(bytes.data() + at, &word, sizeof(Word));
    }
  };
  if (size == 2) reverse(std::uint16_t{});
  if (size == 4) reverse(std::uint32_t{});
  if (size == 8) reverse(std::uint64_t{});
}

// From as many bytes as the numbers have, of any alignment.
template <class Number>
requires std::is_arithmetic_v<Number>
void load_little(const void* from, std::span<Number> numbers) noexcept {
  if (numbers.empty()) return;
  std::memcpy(numbers.data(), from, numbers.size_bytes());
  reverse_unless_native({reinterpret_cast<std::uint8_t*>(numbers.data()), numbers.size_bytes()}, sizeof(Number),
                        std::endian::little);
}
template <class Number>
[[nodiscard]] Number load_little(const void* from) noexcept {
  Number number{};
  load_little(from, std::span{&number, 1});
  return number;
}

template <class Number>
requires std::is_arithmetic_v<Number>
void store_little(void* to, std::span<const Number> numbers) noexcept {
  if (numbers.empty()) return;
  std::memcpy(to, numbers.data(), numbers.size_bytes());
  reverse_unless_native({static_cast<std::uint8_t*>(to), numbers.size_bytes()}, sizeof(Number), std::endian::little);
}
template <class Number>
requires std::is_arithmetic_v<Number>
void store_little(void* to, Number number) noexcept { store_little(to, std::span<const Number>{&number, 1}); }

// What a file is to have of numbers that outlive this: where they lie, or on a big-endian processor a copy.
template <class Number>
class little_bytes {
 public:
  explicit little_bytes(std::span<const Number> numbers) : numbers_(numbers) {
    if constexpr (std::endian::native == std::endian::little) return;
    copy_.resize(numbers.size_bytes());
    store_little(copy_.data(), numbers);
  }
  operator std::string_view() const noexcept {  // NOLINT(google-explicit-constructor)
    if constexpr (std::endian::native != std::endian::little) return copy_;
    return {reinterpret_cast<const char*>(numbers_.data()), numbers_.size_bytes()};
  }

 private:
  std::span<const Number> numbers_;
  std::string copy_;
};
template <std::ranges::contiguous_range Numbers>
little_bytes(const Numbers&) -> little_bytes<std::ranges::range_value_t<Numbers>>;

}  // namespace ulp

#endif
