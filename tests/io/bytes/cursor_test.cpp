#include "bytes/cursor.hpp"

#include <array>

#include <ulp/io/bytes/error.hpp>

#include "io/builders.hpp"
#include "support/catch.hpp"

using namespace ulp;
using namespace ulp::io;

TEST_CASE("checked arithmetic tells what does not fit into 64 bits") {
  constexpr std::uint64_t top = ~std::uint64_t{0};
  CHECK(checked_add(top, 0) == top);
  CHECK_FALSE(checked_add(top, 1));
  CHECK(checked_mul(std::uint64_t{1} << 32, (std::uint64_t{1} << 32) - 1) == (top - 0xFFFFFFFF));
  CHECK_FALSE(checked_mul(std::uint64_t{1} << 32, std::uint64_t{1} << 32));
  CHECK(checked_product(std::array<std::uint64_t, 0>{}) == 1U);
  CHECK(checked_product(std::array<std::uint64_t, 3>{2, 0, top}) == 0U);
  CHECK_FALSE(checked_product(std::array<std::uint64_t, 3>{top, 2, 0}));
}

TEST_CASE("a cursor reads little-endian numbers and stops at its end") {
  const std::array<std::uint8_t, 7> bytes{0x01, 0x02, 0x03, 0x80, 'a', 'b', 'c'};
  cursor in("file", "thing", 100, bytes);
  CHECK(in.little_endian<std::uint32_t>() == 0x80030201U);
  CHECK(in.offset() == 104);
  CHECK(in.text(2) == "ab");
  CHECK(in.left() == 1);
  CHECK_THROWS_WITH(in.little_endian<std::uint16_t>(),
                    "file: byte 106: thing: 2 bytes are needed here, but only 1 are left");
  CHECK(in.left() == 1);
  CHECK(in.little_endian<std::uint8_t>() == 'c');
  CHECK_THROWS_AS(in.skip(1), input_error);
}

TEST_CASE("a part of a cursor has its own end") {
  const std::array<std::uint8_t, 4> bytes{1, 2, 3, 4};
  cursor in("file", "thing", 0, bytes);
  cursor part = in.part(2);
  CHECK(in.offset() == 2);
  CHECK(part.little_endian<std::uint16_t>() == 0x0201);
  CHECK_THROWS_AS(part.skip(1), input_error);
  CHECK_THROWS_AS(in.part(3), input_error);
}

TEST_CASE("a file is read within its bounds only") {
  const test::playground place;
  const file_reader file(place.write("f", "0123456789"));
  CHECK(file.size() == 10);
  CHECK(file.read(8, 2) == std::vector<std::uint8_t>{'8', '9'});
  CHECK(file.read(10, 0).empty());
  CHECK_THROWS_WITH(file.read(8, 3), place.path("f") +
                                         ": byte 8: 3 bytes are needed here, but the file ends at byte 10; "
                                         "it was cut short");
  CHECK_THROWS_AS(file.read(11, 0), input_error);
  // Far more than could be allocated, or added to the offset.
  CHECK_THROWS_AS(file.read(1, ~std::uint64_t{0}), input_error);
  CHECK_THROWS_AS(file.read(~std::uint64_t{0}, 1), input_error);
}

TEST_CASE("a part of a file is read within its own bounds only") {
  const test::playground place;
  const file_reader file(place.write("f", "0123456789"));
  file_stream in(file, 4, 3);
  std::array<std::uint8_t, 2> two{};
  in.read(two);
  CHECK(two == std::array<std::uint8_t, 2>{'4', '5'});
  CHECK(in.left() == 1);
  CHECK_THROWS_WITH(in.read(two), place.path("f") +
                                      ": byte 6: 2 bytes are needed here, but only 1 belong to this part "
                                      "of the file");
}

TEST_CASE("folders and missing files are no files") {
  const test::playground place;
  CHECK_THROWS_WITH(file_reader(place.path("absent")), place.path("absent") + ": No such file or directory");
  CHECK_THROWS_WITH(file_reader(place.path("")), place.path("") + ": is not a regular file");
}
