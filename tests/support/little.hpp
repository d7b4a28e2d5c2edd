// Numbers from and to the bytes of files, which are little-endian on every processor; by shifts, without the project's own reading.
#ifndef ULP_TESTS_SUPPORT_LITTLE_HPP
#define ULP_TESTS_SUPPORT_LITTLE_HPP

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace ulp::test {

// The integer in so many bytes.
[[nodiscard]] inline std::uint64_t bits_at(std::string_view bytes, std::size_t at, std::size_t size) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < size; ++i) bits |= std::uint64_t{static_cast<unsigned char>(bytes.at(at + i))} << 8 * i;
  return bits;
}

template <class Number>
[[nodiscard]] Number number_at(std::string_view bytes, std::size_t at = 0) {
  const std::uint64_t bits = bits_at(bytes, at, sizeof(Number));
  if constexpr (std::is_same_v<Number, float>)
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  else if constexpr (std::is_same_v<Number, double>)
    return std::bit_cast<double>(bits);
  else
    return static_cast<Number>(bits);
}

template <class Number>
[[nodiscard]] std::vector<Number> numbers_in(std::string_view bytes) {
  std::vector<Number> numbers(bytes.size() / sizeof(Number));
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = number_at<Number>(bytes, i * sizeof(Number));
  return numbers;
}

// The lowest `size` bytes of a number, low byte first.
[[nodiscard]] inline std::string little(std::uint64_t value, std::size_t size) {
  std::string bytes;
  for (std::size_t i = 0; i < size; ++i) bytes += static_cast<char>(value >> 8 * i);
  return bytes;
}

// The bytes of each.
template <class Numbers>
[[nodiscard]] std::string raw(const Numbers& numbers) {
  std::string bytes;
  for (const auto number : numbers) {
    using type = std::remove_const_t<decltype(number)>;
    if constexpr (std::is_same_v<type, float>)
      bytes += little(std::bit_cast<std::uint32_t>(number), sizeof number);
    else if constexpr (std::is_same_v<type, double>)
      bytes += little(std::bit_cast<std::uint64_t>(number), sizeof number);
    else
      bytes += little(static_cast<std::uint64_t>(number), sizeof number);
  }
  return bytes;
}

}  // namespace ulp::test

#endif
