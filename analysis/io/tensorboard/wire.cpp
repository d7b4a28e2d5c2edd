#include "wire.hpp"

#include <bit>

namespace ulp::io {
namespace {

std::uint64_t take_varint(cursor& from) {
  std::uint64_t number = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const auto byte = from.little_endian<std::uint8_t>();
    if (shift == 63 && byte > 1) from.fail("a number has more than 64 bits");
    number |= std::uint64_t{byte & 0x7FU} << shift;
    if ((byte & 0x80U) == 0) return number;
  }
  from.fail("a number has more than ten bytes");
}

double double_at(cursor& from) { return std::bit_cast<double>(from.little_endian<std::uint64_t>()); }
float float_at(cursor& from) { return std::bit_cast<float>(from.little_endian<std::uint32_t>()); }

}  // namespace

bool wire_reader::next() {
  if (rest_.left() == 0) return false;
  const std::uint64_t key = take_varint(rest_);
  number_ = key >> 3;
  type_ = static_cast<wire_type>(key & 7U);
  if (number_ == 0 || number_ >= std::uint64_t{1} << 29) rest_.fail("a field with an impossible number");
  std::uint64_t size = 0;
  switch (type_) {
    case wire_type::varint: integer_ = take_varint(rest_); return true;
    case wire_type::fixed64: size = 8; break;
    case wire_type::fixed32: size = 4; break;
    case wire_type::bytes: size = take_varint(rest_); break;
    default: rest_.fail("a field of the wire type " + std::to_string(key & 7U) + ", which is not read");
  }
  if (size > rest_.left())
    rest_.fail("a field of " + std::to_string(size) + " bytes, but only " + std::to_string(rest_.left()) + " are left");
  value_ = rest_.part(size);
  return true;
}

void wire_reader::expect(wire_type type) const {
  if (type_ != type)
    rest_.fail("the field " + std::to_string(number_) + " has the wire type " +
               std::to_string(static_cast<int>(type_)) + " where " + std::to_string(static_cast<int>(type)) +
               " is expected");
}

std::uint64_t wire_reader::integer() const {
  expect(wire_type::varint);
  return integer_;
}

double wire_reader::real64() const {
  expect(wire_type::fixed64);
  cursor value = value_;
  return double_at(value);
}

float wire_reader::real32() const {
  expect(wire_type::fixed32);
  cursor value = value_;
  return float_at(value);
}

cursor wire_reader::bytes() const {
  expect(wire_type::bytes);
  return value_;
}

std::string wire_reader::text() const {
  cursor value = bytes();
  return value.text(value.left());
}

void wire_reader::add_reals64(std::vector<double>& to) const {
  if (type_ == wire_type::fixed64) return to.push_back(real64());
  cursor values = bytes();
  if (values.left() % 8 != 0) fail("packed numbers of 8 bytes that are not a multiple of 8 long");
  while (values.left() > 0) to.push_back(double_at(values));
}

void wire_reader::add_reals32(std::vector<double>& to) const {
  if (type_ == wire_type::fixed32) return to.push_back(double{real32()});
  cursor values = bytes();
  if (values.left() % 4 != 0) fail("packed numbers of 4 bytes that are not a multiple of 4 long");
  while (values.left() > 0) to.push_back(double{float_at(values)});
}

}  // namespace ulp::io
