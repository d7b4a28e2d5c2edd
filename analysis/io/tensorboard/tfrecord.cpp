#include "tfrecord.hpp"

#include <algorithm>
#include <array>

#include <ulp/io/bytes/error.hpp>
#include <ulp/model/cells/byte_order.hpp>

#include "crc32c.hpp"

namespace ulp::io {
namespace {

constexpr std::uint64_t length_size = 8;
constexpr std::uint64_t checksum_size = 4;
constexpr std::uint64_t head_size = length_size + checksum_size;

std::uint32_t masked(std::uint32_t crc) noexcept { return ((crc >> 15) | (crc << 17)) + 0xA282EAD8U; }

bool head_is_whole(byte_span head) noexcept {
  return load_little<std::uint32_t>(head.data() + length_size) == masked(crc32c(head.first(length_size)));
}

}  // namespace

bool starts_tfrecord(std::string_view start) noexcept {
  if (start.size() < head_size) return false;
  std::array<std::uint8_t, head_size> head{};
  std::transform(start.begin(), start.begin() + head_size, head.begin(),
                 [](char c) { return static_cast<std::uint8_t>(c); });
  return head_is_whole(head);
}

std::optional<tfrecord_file::record> tfrecord_file::at(std::uint64_t offset) const {
  const std::uint64_t left = file_.size() - std::min(offset, file_.size());
  if (left < head_size) return std::nullopt;
  const auto fail = [&](std::uint64_t byte, const char* reason) {
    throw input_error(path(), "byte " + std::to_string(byte), reason);
  };
  std::array<std::uint8_t, head_size> head{};
  file_.read(offset, head);
  if (!head_is_whole(head))
    fail(offset, "the checksum of a record's length is wrong: the file is damaged from here on; copy it again");
  const std::uint64_t length = load_little<std::uint64_t>(head.data());
  if (length > left - head_size || left - head_size - length < checksum_size) return std::nullopt;

  record r{.data_offset = offset + head_size, .next = offset + head_size + length + checksum_size, .data = {}};
  r.kept = length <= longest_kept;
  std::uint32_t crc = 0;
  if (r.kept) {
    r.data = file_.read(r.data_offset, length);
    crc = crc32c(r.data);
  } else {
    constexpr std::uint64_t chunk = std::uint64_t{1} << 20;
    for (std::uint64_t done = 0; done < length; done += chunk)
      crc = crc32c(file_.read(r.data_offset + done, std::min(chunk, length - done)), crc);
  }
  std::array<std::uint8_t, checksum_size> stored{};
  file_.read(r.data_offset + length, stored);
  if (load_little<std::uint32_t>(stored.data()) != masked(crc))
    fail(r.data_offset, "the checksum of a record is wrong: the file is damaged here; copy it again");
  return r;
}

}  // namespace ulp::io
