#include "numbers.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <new>

#include <ulp/model/cells/byte_order.hpp>

namespace ulp::io {
void append_u64(std::string& to, std::uint64_t value) {
  std::array<char, 8> bytes;
  store_little(bytes.data(), value);
  to.append(bytes.data(), bytes.size());
}
void append_f64(std::string& to, double value) {
  // One NaN for all, so that equal tables are equal bytes.
  append_u64(to, std::bit_cast<std::uint64_t>(std::isnan(value) ? not_known : value));
}

std::uint64_t u64_at(std::string_view from, std::size_t offset) {
  return load_little<std::uint64_t>(from.data() + offset);
}
double f64_at(std::string_view from, std::size_t offset) { return std::bit_cast<double>(u64_at(from, offset)); }

void append_varint(std::string& to, uint128 value) {
  std::array<char, 19> bytes;
  std::size_t size = 0;
  const auto put = [&](unsigned part) { bytes[size++] = static_cast<char>(part); };
  for (; value >> 64 != 0; value >>= 7) put(static_cast<unsigned>(value & 0x7F) | 0x80);
  auto low = static_cast<std::uint64_t>(value);
  for (; low >= 0x80; low >>= 7) put(static_cast<unsigned>(low & 0x7F) | 0x80);
  put(static_cast<unsigned>(low));
  to.append(bytes.data(), size);
}

void append_signed(std::string& to, int128 value) {
  append_varint(to, (static_cast<uint128>(value) << 1) ^ static_cast<uint128>(value >> 127));
}

double take_f64(std::string_view& from) {
  if (from.size() < 8) throw payload_error("ends inside a number");
  const double value = f64_at(from, 0);
  from.remove_prefix(8);
  return value;
}

int128 take_signed(std::string_view& from) {
  const uint128 number = take_u128(from);
  return static_cast<int128>(number >> 1) ^ -static_cast<int128>(number & 1);
}

std::string compress(std::string_view bytes, int level) {
  if (bytes.empty()) return {};
  std::string result;
  append_u64(result, bytes.size());
  uLongf size = compressBound(static_cast<uLong>(bytes.size()));
  result.resize(8 + size);
  if (compress2(reinterpret_cast<Bytef*>(result.data() + 8), &size, reinterpret_cast<const Bytef*>(bytes.data()),
                static_cast<uLong>(bytes.size()), level) != Z_OK)
    throw payload_error("cannot be compressed");
  result.resize(8 + size);
  return result;
}

struct inflater::stream {
  z_stream z{};
};

inflater::inflater() : stream_(std::make_unique<stream>()) {
  if (inflateInit(&stream_->z) != Z_OK) throw std::bad_alloc();
}

inflater::~inflater() { inflateEnd(&stream_->z); }

void inflater::open(std::string_view bytes, std::size_t limit) {
  begin_ = end_ = left_ = 0;
  is_empty_ = bytes.empty();
  if (is_empty_) return;
  if (bytes.size() < 8) throw payload_error("is cut short");
  const std::uint64_t declared = u64_at(bytes, 0);
  // zlib expands by a factor of 1032 at most.
  if (declared > limit || declared / 1032 > bytes.size()) throw payload_error("declares an impossible size");
  z_stream& z = stream_->z;
  inflateReset(&z);
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data() + 8));  // zlib does not write there
  z.avail_in = static_cast<uInt>(bytes.size() - 8);
  left_ = declared;
}

std::string_view inflater::ahead(std::size_t size) {
  if (end_ - begin_ < size && left_ > 0) inflate_more(size);
  return std::string_view{room_}.substr(begin_, end_ - begin_);
}

void inflater::inflate_more(std::size_t size) {
  constexpr std::size_t least = std::size_t{1} << 18;
  room_.erase(0, begin_);
  end_ -= begin_;
  begin_ = 0;
  const std::size_t more = std::min(left_, std::max(size - end_, least));
  if (room_.size() < end_ + more) room_.resize(end_ + more);
  z_stream& z = stream_->z;
  z.next_out = reinterpret_cast<Bytef*>(room_.data() + end_);
  z.avail_out = static_cast<uInt>(more);
  const int result = inflate(&z, Z_NO_FLUSH);
  if ((result != Z_OK && result != Z_STREAM_END) || z.avail_out != 0) throw payload_error("is damaged");
  end_ += more;
  left_ -= more;
}

void inflater::close() {
  if (begin_ != end_ || left_ != 0) throw payload_error("has bytes left over");
  if (is_empty_) return;
  z_stream& z = stream_->z;
  Bytef beyond = 0;
  z.next_out = &beyond;
  z.avail_out = 1;
  if (inflate(&z, Z_FINISH) != Z_STREAM_END || z.avail_out != 1 || z.avail_in != 0) throw payload_error("is damaged");
}

}  // namespace ulp::io
