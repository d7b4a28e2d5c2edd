// Pins that numbers are read and written little-endian on every processor, and that bytes of either order become the processor's.
#include <ulp/model/cells/byte_order.hpp>

#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/catch.hpp"

using namespace ulp;

namespace {

using bytes = std::vector<std::uint8_t>;

template <class Number>
bytes stored(Number number) {
  bytes made(sizeof number);
  store_little(made.data(), number);
  return made;
}

// What the bytes of numbers of `size` bytes are in the processor's order, one after the other, high digits first.
std::vector<std::uint64_t> read_in(std::endian order, bytes all, std::size_t size) {
  reverse_unless_native(all, size, order);
  std::vector<std::uint64_t> numbers;
  for (std::size_t at = 0; at < all.size(); at += size) {
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < size; ++i)
      number |= std::uint64_t{all[at + i]} << 8 * (std::endian::native == std::endian::little ? i : size - 1 - i);
    numbers.push_back(number);
  }
  return numbers;
}

}  // namespace

TEST_CASE("numbers of files are little-endian, whatever the processor is") {
  const std::string_view text{"\x01\x02\x03\x04\x05\x06\x07\x88", 8};
  CHECK(load_little<std::uint8_t>(text.data()) == 0x01);
  CHECK(load_little<std::uint16_t>(text.data()) == 0x0201);
  CHECK(load_little<std::uint32_t>(text.data()) == 0x04030201);
  CHECK(load_little<std::uint64_t>(text.data()) == 0x8807060504030201);
  CHECK(load_little<std::int64_t>(text.data()) == std::bit_cast<std::int64_t>(0x8807060504030201));
  CHECK(load_little<std::uint16_t>(text.data() + 1) == 0x0302);  // of any alignment
  CHECK(load_little<float>("\x00\x00\xC0\xBF") == -1.5F);
  CHECK(load_little<double>("\x00\x00\x00\x00\x00\x00\xF8\x3F") == 1.5);

  CHECK(stored(std::uint8_t{0x81}) == bytes{0x81});
  CHECK(stored(std::uint16_t{0x0201}) == bytes{1, 2});
  CHECK(stored(std::uint32_t{0x04030201}) == bytes{1, 2, 3, 4});
  CHECK(stored(std::uint64_t{0x0807060504030201}) == bytes{1, 2, 3, 4, 5, 6, 7, 8});
  CHECK(stored(std::int32_t{-2}) == bytes{0xFE, 0xFF, 0xFF, 0xFF});
  CHECK(stored(-1.5F) == bytes{0, 0, 0xC0, 0xBF});
  CHECK(stored(1.5) == bytes{0, 0, 0, 0, 0, 0, 0xF8, 0x3F});
}

TEST_CASE("many numbers at once, and none") {
  const std::array<std::uint16_t, 3> numbers{0x0201, 0x0403, 0xFF05};
  const std::string expected{"\x01\x02\x03\x04\x05\xFF", 6};
  std::string made(7, '!');
  store_little(made.data() + 1, std::span<const std::uint16_t>{numbers});
  CHECK(made == "!" + expected);
  CHECK(std::string{std::string_view{little_bytes(numbers)}} == expected);
  std::array<std::uint16_t, 3> back{};
  load_little(made.data() + 1, std::span<std::uint16_t>{back});
  CHECK(back == numbers);

  load_little(nullptr, std::span<float>{});
  store_little(nullptr, std::span<const float>{});
  CHECK(std::string_view{little_bytes(std::vector<float>{})}.empty());
}

TEST_CASE("bytes of either order become the processor's, and come back") {
  const bytes all{1, 2, 3, 4, 5, 6, 7, 8};
  CHECK(read_in(std::endian::little, all, 1) == std::vector<std::uint64_t>{1, 2, 3, 4, 5, 6, 7, 8});
  CHECK(read_in(std::endian::big, all, 1) == std::vector<std::uint64_t>{1, 2, 3, 4, 5, 6, 7, 8});
  CHECK(read_in(std::endian::little, all, 2) == std::vector<std::uint64_t>{0x0201, 0x0403, 0x0605, 0x0807});
  CHECK(read_in(std::endian::big, all, 2) == std::vector<std::uint64_t>{0x0102, 0x0304, 0x0506, 0x0708});
  CHECK(read_in(std::endian::little, all, 4) == std::vector<std::uint64_t>{0x04030201, 0x08070605});
  CHECK(read_in(std::endian::big, all, 4) == std::vector<std::uint64_t>{0x01020304, 0x05060708});
  CHECK(read_in(std::endian::little, all, 8) == std::vector<std::uint64_t>{0x0807060504030201});
  CHECK(read_in(std::endian::big, all, 8) == std::vector<std::uint64_t>{0x0102030405060708});

  for (const std::endian order : {std::endian::little, std::endian::big})
    for (const std::size_t size : {1U, 2U, 4U, 8U}) {
      bytes twice = all;
      reverse_unless_native(twice, size, order);
      reverse_unless_native(twice, size, order);
      CHECK(twice == all);
    }
}
