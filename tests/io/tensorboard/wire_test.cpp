// Pins the reader of protocol buffers to their published encoding (150 is 96 01), and what it refuses.
#include "tensorboard/wire.hpp"

#include <ulp/io/bytes/error.hpp>

#include "io/tf_builders.hpp"
#include "support/catch.hpp"

using namespace ulp;
using namespace ulp::io;
using namespace ulp::test;

namespace {

struct held {
  std::vector<std::uint8_t> bytes;
  explicit held(const std::string& text) : bytes(text.begin(), text.end()) {}
  [[nodiscard]] wire_reader reader() const { return wire_reader(cursor("f", "event", 100, bytes)); }
};

std::string error_of(const std::string& bytes) {
  const held message(bytes);
  wire_reader in = message.reader();
  try {
    while (in.next()) {
    }
  } catch (const input_error& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("the documentation's examples") {
  const held message(std::string("\x08\x96\x01") + "\x12\x07testing");
  wire_reader in = message.reader();
  REQUIRE(in.next());
  CHECK(in.number() == 1);
  CHECK(in.integer() == 150);
  REQUIRE(in.next());
  CHECK(in.number() == 2);
  CHECK(in.text() == "testing");
  CHECK_FALSE(in.next());
}

TEST_CASE("numbers of up to 64 bits and no more") {
  for (const std::uint64_t n : {std::uint64_t{0}, std::uint64_t{127}, std::uint64_t{128}, ~std::uint64_t{0}}) {
    const held message(pb_int(1, n));
    wire_reader in = message.reader();
    REQUIRE(in.next());
    CHECK(in.integer() == n);
  }
  CHECK(error_of("\x08" + std::string(9, '\xFF') + "\x02") == "f: byte 111: event: a number has more than 64 bits");
  CHECK(error_of("\x08" + std::string(10, '\xFF') + "\x01").find("more than 64 bits") != std::string::npos);
  CHECK(error_of("\x08\xFF").find("1 bytes are needed here") != std::string::npos);
}

TEST_CASE("fields of every length that is right, and groups refused") {
  std::vector<double> values;
  const held message(pb_double(6, 1.5) + pb_doubles(6, {2, 3}) + pb_float(6, 4));
  wire_reader in = message.reader();
  REQUIRE(in.next());
  in.add_reals64(values);
  REQUIRE(in.next());
  in.add_reals64(values);
  CHECK(values == std::vector<double>{1.5, 2, 3});
  REQUIRE(in.next());
  CHECK_THROWS_AS(in.real64(), input_error);
  CHECK(in.real32() == 4);

  CHECK(error_of("\x0B").find("wire type 3") != std::string::npos);
  CHECK(error_of(std::string("\x00\x01", 2)).find("impossible number") != std::string::npos);
  CHECK(error_of("\x12\x7Ftext").find("a field of 127 bytes, but only 4 are left") != std::string::npos);
  const held odd(pb_bytes(6, "1234567"));
  wire_reader cut = odd.reader();
  REQUIRE(cut.next());
  CHECK_THROWS_AS(cut.add_reals64(values), input_error);
}
