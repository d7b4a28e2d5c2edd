// Pins the checksum of TFRecord to published values: RFC 3720, appendix B.4, and the catalogue's check value.
#include "tensorboard/crc32c.hpp"

#include <algorithm>
#include <numeric>

#include "io/tf_builders.hpp"
#include "support/catch.hpp"

using namespace ulp::io;

TEST_CASE("the checksums that are published") {
  const std::string digits = "123456789";
  const std::vector<std::uint8_t> check(digits.begin(), digits.end());
  CHECK(crc32c(check) == 0xE3069283);
  CHECK(ulp::test::slow_crc32c(digits) == 0xE3069283);
  CHECK(crc32c({}) == 0);

  std::vector<std::uint8_t> bytes(32);
  CHECK(crc32c(bytes) == 0x8A9136AA);
  std::iota(bytes.begin(), bytes.end(), std::uint8_t{0});
  CHECK(crc32c(bytes) == 0x46DD794E);
  std::ranges::reverse(bytes);
  CHECK(crc32c(bytes) == 0x113FDB5C);
  bytes.assign(32, 0xFF);
  CHECK(crc32c(bytes) == 0x62A8AB43);
}

TEST_CASE("bytes taken in parts have the checksum of all") {
  std::vector<std::uint8_t> bytes(100);
  std::iota(bytes.begin(), bytes.end(), std::uint8_t{7});
  const byte_span all = bytes;
  for (std::size_t n = 0; n <= bytes.size(); ++n) {
    CHECK(crc32c(all.subspan(n), crc32c(all.first(n))) == crc32c(all));
    CHECK(crc32c(all.first(n)) == ulp::test::slow_crc32c({bytes.begin(), bytes.begin() + static_cast<long>(n)}));
  }
}
