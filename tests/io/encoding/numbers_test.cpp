// Pins the numbers of a recording's blobs: their bytes as docs/recording-format.md has them, at every length, both ways, and
// what is no number; and compressed blobs at their limits.
#include "encoding/numbers.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "support/catch.hpp"

using namespace ulp;
using namespace ulp::io;

namespace {

// LEB128 by its definition.
std::string varint(uint128 value) {
  std::string bytes;
  do {
    const auto part = static_cast<unsigned>(value % 128);
    value /= 128;
    bytes += static_cast<char>(part + (value != 0 ? 128 : 0));
  } while (value != 0);
  return bytes;
}

// With `rest` behind it, which has to stay.
template <typename Take>
auto taken(Take take, const std::string& bytes) {
  const std::string all = bytes + "rest";
  std::string_view from = all;
  const auto value = take(from);
  CHECK(from == "rest");
  return value;
}

template <typename Take>
std::string refusal(Take take, const std::string& bytes) {
  std::string_view from = bytes;
  try {
    (void)take(from);
  } catch (const payload_error& problem) {
    return problem.what();
  }
  return "";
}

const auto u64 = [](std::string_view& from) { return take_u64(from); };
const auto u128 = [](std::string_view& from) { return take_u128(from); };

// Numbers on both sides of each length.
std::vector<uint128> at_every_length() {
  std::vector<uint128> all{0, 1, ~uint128{0}, ~std::uint64_t{0}, uint128{1} << 64};
  for (int bits = 7; bits < 128; bits += 7)
    for (const uint128 x : {(uint128{1} << bits) - 1, uint128{1} << bits, (uint128{1} << bits) + 1}) all.push_back(x);
  return all;
}

const std::string too_large = "a number is too large";
const std::string too_long = "a number is too long";
const std::string cut = "ends inside a number";

}  // namespace

TEST_CASE("varints are LEB128 of every length, and come back") {
  for (const uint128 x : at_every_length()) {
    std::string bytes;
    append_varint(bytes, x);
    CAPTURE(bytes.size());
    CHECK(bytes == varint(x));
    CHECK((taken(u128, bytes) == x));
    if (x >> 64 == 0)
      CHECK(taken(u64, bytes) == static_cast<std::uint64_t>(x));
    else
      CHECK_FALSE(refusal(u64, bytes).empty());
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      CHECK(refusal(u128, bytes.substr(0, size)) == cut);
      if (x >> 64 == 0) CHECK(refusal(u64, bytes.substr(0, size)) == cut);
    }
  }
}

TEST_CASE("a varint above its type is refused, in its last byte and behind it") {
  // 2^64 - 1 ends in 1, 2^128 - 1 in 3.
  const std::string nine(9, '\xFF');
  const std::string eighteen(18, '\xFF');
  CHECK(taken(u64, nine + '\0') == ~std::uint64_t{0} >> 1);
  CHECK(taken(u64, nine + '\1') == ~std::uint64_t{0});
  for (const char last : {'\2', '\3', '\4', '\x40', '\x7F', '\x82', '\xFF'})
    CHECK(refusal(u64, nine + last) == too_large);
  for (const char last : {'\x80', '\x81'}) CHECK(refusal(u64, nine + last + '\0') == too_long);
  CHECK((taken(u128, eighteen + '\0') == ~uint128{0} >> 2));
  CHECK((taken(u128, eighteen + '\3') == ~uint128{0}));
  for (const char last : {'\4', '\7', '\x40', '\x7F', '\x84', '\xFF'})
    CHECK(refusal(u128, eighteen + last) == too_large);
  for (const char last : {'\x80', '\x83'}) CHECK(refusal(u128, eighteen + last + '\0') == too_long);
}

TEST_CASE("signed numbers take turns") {
  const auto bytes_of = [](int128 x) {
    std::string bytes;
    append_signed(bytes, x);
    return bytes;
  };
  CHECK(bytes_of(0) == std::string(1, '\0'));
  CHECK(bytes_of(-1) == "\1");
  CHECK(bytes_of(1) == "\2");
  CHECK(bytes_of(-2) == "\3");
  const int128 most = static_cast<int128>(~uint128{0} >> 1);
  CHECK(bytes_of(most) == varint(~uint128{0} - 1));
  CHECK(bytes_of(-most - 1) == varint(~uint128{0}));
  for (const uint128 x : at_every_length())
    for (const int128 y : {static_cast<int128>(x >> 1), -static_cast<int128>(x >> 1)})
      CHECK((taken([](std::string_view& from) { return take_signed(from); }, bytes_of(y)) == y));
}

TEST_CASE("numbers of eight bytes, low ones first, and one NaN for all") {
  std::string bytes;
  append_u64(bytes, 0x0102030405060708);
  CHECK(bytes == "\x08\x07\x06\x05\x04\x03\x02\x01");
  CHECK(u64_at("ab" + bytes, 2) == 0x0102030405060708);
  append_u64(bytes, ~std::uint64_t{0});
  CHECK(u64_at(bytes, 8) == ~std::uint64_t{0});
  const auto f64 = [](std::string_view& from) { return take_f64(from); };
  for (const double x : {0.0, -0.0, 1.5, -0x1p-1074, HUGE_VAL}) {
    std::string of_x;
    append_f64(of_x, x);
    CHECK(std::bit_cast<std::uint64_t>(taken(f64, of_x)) == std::bit_cast<std::uint64_t>(x));
    CHECK(refusal(f64, of_x.substr(1)) == cut);
  }
  std::string a;
  std::string b;
  append_f64(a, std::numeric_limits<double>::quiet_NaN());
  append_f64(b, std::bit_cast<double>(std::uint64_t{0xFFF0000000000001}));
  CHECK(a == b);
  CHECK(std::isnan(taken(f64, a)));
}

TEST_CASE("compressed blobs come back whole, in parts, and not beyond their limit") {
  std::string content;
  for (std::size_t i = 0; i < 600'000; ++i) content += static_cast<char>(i * i % 251);
  const std::string blob = compress(content);
  CHECK(compress("").empty());
  CHECK(u64_at(blob, 0) == content.size());
  inflater of;
  for (const std::size_t part : {std::size_t{1} << 18, std::size_t{100'001}, content.size()}) {
    of.open(blob, content.size());
    std::string all;
    while (all.size() < content.size()) {
      const std::size_t size = std::min(part, content.size() - all.size());
      REQUIRE(of.ahead(size).size() >= size);
      all += of.ahead(size).substr(0, size);
      of.skip(size);
    }
    CHECK(of.ahead(1).empty());
    of.close();
    CHECK(all == content);
  }
  of.open("", 0);
  CHECK(of.ahead(1).empty());
  of.close();

  const auto message = [&](const std::string& bytes, std::size_t limit, std::size_t skipped) {
    try {
      of.open(bytes, limit);
      (void)of.ahead(skipped);
      of.skip(skipped);
      of.close();
    } catch (const payload_error& problem) {
      return std::string{problem.what()};
    }
    return std::string{};
  };
  const auto with_size = [&](std::uint64_t size) {
    std::string bytes;
    append_u64(bytes, size);
    return bytes + blob.substr(8);
  };
  CHECK(message(blob, content.size(), content.size()).empty());
  CHECK(message(blob, content.size() - 1, content.size()) == "declares an impossible size");
  CHECK(message(with_size((blob.size() + 1) * 1032), ~std::size_t{0}, 1) == "declares an impossible size");
  CHECK(message(blob.substr(0, 7), content.size(), 0) == "is cut short");
  CHECK(message(blob, content.size(), content.size() - 1) == "has bytes left over");
  // All of it is inflated, and not all is skipped.
  of.open(blob, content.size());
  REQUIRE(of.ahead(content.size()).size() == content.size());
  of.skip(content.size() - 1);
  CHECK_THROWS_WITH(of.close(), "has bytes left over");
  of.skip(1);
  of.close();
  // It holds more than it says, or less; something follows it; its own checksum is wrong.
  CHECK(message(with_size(content.size() - 1), content.size(), content.size() - 1) == "is damaged");
  CHECK(message(with_size(content.size() + 1), content.size() + 1, content.size() + 1) == "is damaged");
  CHECK(message(blob + "x", content.size(), content.size()) == "is damaged");
  std::string damaged = blob;
  damaged.back() = static_cast<char>(damaged.back() ^ 1);
  CHECK(message(damaged, content.size(), content.size()) == "is damaged");
}
