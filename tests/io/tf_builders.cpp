#include "tf_builders.hpp"

#include <bit>

#include "builders.hpp"

namespace ulp::test {
namespace {

std::string doubles(const std::vector<double>& values) { return raw(values); }

std::uint32_t masked(std::uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xA282EAD8U; }

std::string metadata_of(const std::string& plugin) { return pb_bytes(9, pb_bytes(1, pb_bytes(1, plugin))); }

std::string shape_of(const std::vector<std::uint64_t>& dimensions) {
  std::string shape;
  for (const std::uint64_t n : dimensions) shape += pb_bytes(2, pb_int(1, n));
  return pb_bytes(2, shape);
}

}  // namespace

std::uint32_t slow_crc32c(const std::string& bytes) {
  std::uint32_t crc = 0xFFFFFFFF;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int i = 0; i < 8; ++i) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78U : 0U);
  }
  return ~crc;
}

std::string pb_varint(std::uint64_t value) {
  std::string bytes;
  for (; value > 127; value >>= 7) bytes += static_cast<char>((value & 127) | 128);
  return bytes + static_cast<char>(value);
}

std::string pb_int(int field, std::uint64_t value) {
  return pb_varint(static_cast<std::uint64_t>(field) * 8) + pb_varint(value);
}
std::string pb_double(int field, double value) {
  return pb_varint(static_cast<std::uint64_t>(field) * 8 + 1) + little(std::bit_cast<std::uint64_t>(value), 8);
}
std::string pb_float(int field, float value) {
  return pb_varint(static_cast<std::uint64_t>(field) * 8 + 5) + little(std::bit_cast<std::uint32_t>(value), 4);
}
std::string pb_bytes(int field, const std::string& bytes) {
  return pb_varint(static_cast<std::uint64_t>(field) * 8 + 2) + pb_varint(bytes.size()) + bytes;
}
std::string pb_doubles(int field, const std::vector<double>& values) { return pb_bytes(field, doubles(values)); }

std::string tf_scalar(const std::string& tag, float value) { return pb_bytes(1, tag) + pb_float(2, value); }

std::string tf_histogram(const std::string& tag, const made_histogram& h) {
  std::string proto =
      pb_double(1, h.min) + pb_double(2, h.max) + pb_double(3, h.num) + pb_double(4, 0) + pb_double(5, h.sum_squares);
  if (h.packed) {
    proto += pb_doubles(6, h.limits) + pb_doubles(7, h.counts);
  } else {
    for (const double x : h.limits) proto += pb_double(6, x);
    for (const double x : h.counts) proto += pb_double(7, x);
  }
  return pb_bytes(1, tag) + pb_bytes(5, proto);
}

std::string tf_tensor_histogram(const std::string& tag, const std::vector<double>& rows, bool metadata,
                                bool as_content) {
  constexpr int dt_double = 2;
  const std::string tensor = pb_int(1, dt_double) + shape_of({rows.size() / 3, 3}) +
                             (as_content ? pb_bytes(4, doubles(rows)) : pb_doubles(6, rows));
  return pb_bytes(1, tag) + pb_bytes(8, tensor) + (metadata ? metadata_of("histograms") : "");
}

std::string tf_tensor_scalar(const std::string& tag, float value) {
  constexpr int dt_float = 1;
  return pb_bytes(1, tag) + pb_bytes(8, pb_int(1, dt_float) + shape_of({}) + pb_float(5, value)) +
         metadata_of("scalars");
}

std::string tf_record(const std::string& data) {
  const std::string length = little(data.size(), 8);
  return length + little(masked(slow_crc32c(length)), 4) + data + little(masked(slow_crc32c(data)), 4);
}

std::string tf_event(std::int64_t step, const std::vector<std::string>& values) {
  std::string summary;
  for (const std::string& v : values) summary += pb_bytes(1, v);
  return tf_record(pb_double(1, 2) + pb_int(2, static_cast<std::uint64_t>(step)) + pb_bytes(5, summary));
}

std::string tf_restart(std::int64_t step) {
  return tf_record(pb_double(1, 2) + pb_int(2, static_cast<std::uint64_t>(step)) + pb_bytes(7, pb_int(1, 1)));
}

std::string tf_begin(double wall_time) { return tf_record(pb_double(1, wall_time) + pb_bytes(3, "brain.Event:2")); }

}  // namespace ulp::test
