// The numbers of a recording's blobs as bytes, and blobs compressed: docs/recording-format.md.
#ifndef ULP_IO_ENCODING_NUMBERS_HPP
#define ULP_IO_ENCODING_NUMBERS_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include <ulp/model/cells/cell_table.hpp>

namespace ulp::io {

// Bytes that are not what the format says; the caller knows the file and the place.
class payload_error : public std::runtime_error {
  using runtime_error::runtime_error;
};

// Little-endian. One NaN stands for all, so that equal tables are equal bytes.
void append_u64(std::string& to, std::uint64_t value);
void append_f64(std::string& to, double value);
[[nodiscard]] std::uint64_t u64_at(std::string_view from, std::size_t offset);
[[nodiscard]] double f64_at(std::string_view from, std::size_t offset);

// LEB128: seven bits a byte, low bits first, the top bit set on all but the last. Signed numbers interleaved: 0, -1, 1, -2.
void append_varint(std::string& to, uint128 value);
void append_signed(std::string& to, int128 value);
// Off the front. Throws payload_error.
[[nodiscard]] inline std::uint64_t take_u64(std::string_view& from);
[[nodiscard]] inline uint128 take_u128(std::string_view& from);
[[nodiscard]] int128 take_signed(std::string_view& from);
[[nodiscard]] double take_f64(std::string_view& from);

// The size as 8 bytes and a zlib stream; nothing of nothing. level: zlib's, -1 is its default.
[[nodiscard]] std::string compress(std::string_view bytes, int level = -1);

// The content of a compressed blob from front to back, a part at a time: what is not asked for takes no memory.
class inflater {
 public:
  inflater();
  ~inflater();
  inflater(const inflater&) = delete;
  inflater& operator=(const inflater&) = delete;

  // `bytes` stays with the caller. Throws payload_error where it says that it holds more than `limit` bytes.
  void open(std::string_view bytes, std::size_t limit);
  // Of the content that was not skipped yet: so much that `size` bytes of it are there, or all.
  [[nodiscard]] std::string_view ahead(std::size_t size);
  void skip(std::size_t size) { begin_ += size; }
  // Throws payload_error unless all was skipped and is as it was compressed.
  void close();

 private:
  void inflate_more(std::size_t size);

  struct stream;
  std::unique_ptr<stream> stream_;
  std::string room_;  // with what was inflated from begin_ to end_
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::size_t left_ = 0;  // not inflated yet
  bool is_empty_ = true;
};

// The next seven bits of a number of `bits` bits, at `shift`; whether more follow.
struct varint_part {
  std::uint64_t value;
  bool more;
};
inline varint_part take_part(std::string_view& from, int shift, int bits) {
  if (from.empty()) throw payload_error("ends inside a number");
  const auto byte = static_cast<unsigned char>(from.front());
  from.remove_prefix(1);
  const std::uint64_t value = byte & 0x7FU;
  if (shift + 7 > bits && (value >> (bits - shift)) != 0) throw payload_error("a number is too large");
  return {value, (byte & 0x80U) != 0};
}

inline std::uint64_t take_u64(std::string_view& from) {
  std::uint64_t number = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const varint_part part = take_part(from, shift, 64);
    number |= part.value << shift;
    if (!part.more) return number;
  }
  throw payload_error("a number is too long");
}

inline uint128 take_u128(std::string_view& from) {
  // Nine parts fit 64 bits, which shift faster.
  std::uint64_t low = 0;
  for (int shift = 0; shift < 63; shift += 7) {
    const varint_part part = take_part(from, shift, 128);
    low |= part.value << shift;
    if (!part.more) return low;
  }
  uint128 number = low;
  for (int shift = 63; shift < 128; shift += 7) {
    const varint_part part = take_part(from, shift, 128);
    number |= uint128{part.value} << shift;
    if (!part.more) return number;
  }
  throw payload_error("a number is too long");
}

}  // namespace ulp::io

#endif
