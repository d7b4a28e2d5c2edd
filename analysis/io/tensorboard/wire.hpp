// The wire format of protocol buffers: fields one after the other, each a number, a type and a value. Groups, which the
// messages that are read do not have, are refused. Source: protobuf.dev/programming-guides/encoding.
#ifndef ULP_IO_TENSORBOARD_WIRE_HPP
#define ULP_IO_TENSORBOARD_WIRE_HPP

#include <cstdint>
#include <string>
#include <vector>

#include "bytes/cursor.hpp"

namespace ulp::io {

// The fields of one message. The values of a field are of the wire type that is asked for, else input_error.
class wire_reader {
 public:
  explicit wire_reader(cursor message) : rest_(std::move(message)), value_(rest_) {}

  // To the next field; false at the end.
  [[nodiscard]] bool next();
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }

  [[nodiscard]] std::uint64_t integer() const;
  [[nodiscard]] double real64() const;
  [[nodiscard]] float real32() const;
  [[nodiscard]] std::string text() const;
  [[nodiscard]] cursor bytes() const;
  [[nodiscard]] wire_reader message() const { return wire_reader(bytes()); }
  // Repeated ones, packed or not: added behind those that are there.
  void add_reals64(std::vector<double>& to) const;
  void add_reals32(std::vector<double>& to) const;

  [[noreturn]] void fail(const std::string& reason) const { rest_.fail(reason); }

 private:
  enum class wire_type : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };
  void expect(wire_type type) const;

  cursor rest_;
  cursor value_;  // the bytes of the field
  std::uint64_t number_ = 0;
  std::uint64_t integer_ = 0;
  wire_type type_ = wire_type::varint;
};

}  // namespace ulp::io

#endif
