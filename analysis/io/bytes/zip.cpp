#include "zip.hpp"

#include <zlib.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include <ulp/io/bytes/error.hpp>

#include "text.hpp"
#include "within.hpp"

// PKWARE APPNOTE.TXT 6.3: 4.3.16 end of central directory, 4.3.15 and 4.3.14 its zip64 twins, 4.3.12 central directory
// header, 4.3.7 local header, 4.5.3 zip64 extra field.

namespace ulp::io {
namespace {

constexpr std::uint32_t local_signature = 0x04034B50;
constexpr std::uint32_t central_signature = 0x02014B50;
constexpr std::uint32_t end_signature = 0x06054B50;
constexpr std::uint32_t end64_signature = 0x06064B50;
constexpr std::uint32_t locator_signature = 0x07064B50;
constexpr std::uint64_t local_size = 30;
constexpr std::uint64_t central_size = 46;
constexpr std::uint64_t end_size = 22;
constexpr std::uint64_t end64_size = 56;
constexpr std::uint64_t locator_size = 20;
constexpr std::uint64_t longest_comment = 0xFFFF;
constexpr std::uint16_t zip64_extra = 0x0001;
constexpr std::uint16_t in_zip64_16 = 0xFFFF;
constexpr std::uint32_t in_zip64_32 = 0xFFFFFFFF;

struct directory {
  std::uint64_t entries = 0;
  std::uint64_t size = 0;
  std::uint64_t offset = 0;
  std::uint64_t end = 0;  // where the record that describes it begins
};

[[noreturn]] void fail(const std::string& path, const zip_member& member, const std::string& reason) {
  throw input_error(path, "member " + in_quotes(member.name), reason);
}

cursor cursor_at(const file_reader& file, const std::string& what, std::uint64_t offset, byte_span bytes) {
  return {file.path(), what, offset, bytes};
}

// The last end record whose comment reaches to the end of the file.
std::uint64_t find_end(const file_reader& file) {
  const std::uint64_t searched = std::min(file.size(), end_size + longest_comment);
  const std::uint64_t first = file.size() - searched;
  const std::vector<std::uint8_t> tail = file.read(first, searched);
  for (std::uint64_t at = searched < end_size ? 0 : searched - end_size + 1; at-- > 0;) {
    cursor record = cursor_at(file, "end of zip", first + at, byte_span(tail).subspan(at));
    if (record.little_endian<std::uint32_t>() != end_signature) continue;
    record.skip(16);
    if (record.little_endian<std::uint16_t>() == record.left()) return first + at;
  }
  throw input_error(file.path(), "end of file",
                    "no zip directory is here; the file was cut short or has bytes after its end");
}

// The zip64 end record, if its locator stands before the end record.
std::optional<directory> read_end64(const file_reader& file, std::uint64_t end) {
  if (end < locator_size) return std::nullopt;
  const std::uint64_t at = end - locator_size;
  const auto locator_bytes = file.read(at, locator_size);
  cursor locator = cursor_at(file, "zip64 locator", at, locator_bytes);
  if (locator.little_endian<std::uint32_t>() != locator_signature) return std::nullopt;
  locator.skip(4);
  const auto offset = locator.little_endian<std::uint64_t>();
  if (at < end64_size || offset > at - end64_size)
    locator.fail("points to byte " + std::to_string(offset) + ", past itself");
  const auto bytes = file.read(offset, end64_size);
  cursor record = cursor_at(file, "zip64 end of zip", offset, bytes);
  if (record.little_endian<std::uint32_t>() != end64_signature) record.fail("its signature is missing");
  record.skip(20);
  directory found{.end = offset};
  record.skip(8);
  found.entries = record.little_endian<std::uint64_t>();
  found.size = record.little_endian<std::uint64_t>();
  found.offset = record.little_endian<std::uint64_t>();
  return found;
}

directory find_directory(const file_reader& file) {
  const std::uint64_t end = find_end(file);
  const auto bytes = file.read(end, end_size);
  cursor record = cursor_at(file, "end of zip", end, bytes);
  record.skip(4);
  const auto disk = record.little_endian<std::uint16_t>();
  const auto directory_disk = record.little_endian<std::uint16_t>();
  record.skip(2);
  const auto entries = record.little_endian<std::uint16_t>();
  const auto size = record.little_endian<std::uint32_t>();
  const auto offset = record.little_endian<std::uint32_t>();
  directory found{.entries = entries, .size = size, .offset = offset, .end = end};
  // PyTorch writes it always.
  if (const auto found64 = read_end64(file, end)) {
    const auto agrees = [](std::uint64_t here, std::uint64_t saturated, std::uint64_t there) {
      return here == saturated || here == there;
    };
    if (!agrees(entries, in_zip64_16, found64->entries) || !agrees(size, in_zip64_32, found64->size) ||
        !agrees(offset, in_zip64_32, found64->offset))
      record.fail("differs from the zip64 end record at byte " + std::to_string(found64->end));
    found = *found64;
  } else if (disk != 0 || directory_disk != 0) {
    record.fail("archives in several parts are not read");
  }
  const auto stop = checked_add(found.offset, found.size);
  if (!stop || *stop != found.end)
    record.fail("the central directory is given as " + std::to_string(found.size) + " bytes from byte " +
                std::to_string(found.offset) + ", which does not lead to its end record at byte " +
                std::to_string(found.end));
  if (found.entries > found.size / central_size)
    record.fail(std::to_string(found.entries) + " members do not fit into a directory of " +
                std::to_string(found.size) + " bytes");
  return found;
}

// Replaces sizes and offset that the directory moved to the zip64 extra field.
void read_extras(cursor extras, zip_member& member) {
  while (extras.left() >= 4) {
    const auto id = extras.little_endian<std::uint16_t>();
    cursor field = extras.part(extras.little_endian<std::uint16_t>());
    if (id != zip64_extra) continue;
    if (member.size == in_zip64_32) member.size = field.little_endian<std::uint64_t>();
    if (member.stored_size == in_zip64_32) member.stored_size = field.little_endian<std::uint64_t>();
    if (member.header_offset == in_zip64_32) member.header_offset = field.little_endian<std::uint64_t>();
  }
}

zip_member read_member(const file_reader& file, cursor& in) {
  if (in.little_endian<std::uint32_t>() != central_signature) in.fail("the signature of a member is missing");
  in.skip(4);
  const auto flags = in.little_endian<std::uint16_t>();
  const auto method = in.little_endian<std::uint16_t>();
  in.skip(4);
  zip_member member;
  member.crc = in.little_endian<std::uint32_t>();
  member.stored_size = in.little_endian<std::uint32_t>();
  member.size = in.little_endian<std::uint32_t>();
  const auto name_length = in.little_endian<std::uint16_t>();
  const auto extra_length = in.little_endian<std::uint16_t>();
  const auto comment_length = in.little_endian<std::uint16_t>();
  in.skip(8);
  member.header_offset = in.little_endian<std::uint32_t>();
  member.name = in.text(name_length);
  read_extras(in.part(extra_length), member);
  in.skip(comment_length);

  constexpr unsigned encrypted = 0x2041;  // bits 0, 6 and 13: traditional, strong, hidden headers
  if ((flags & encrypted) != 0) fail(file.path(), member, "is encrypted; save the arrays without a password");
  if (method != 0 && method != 8)
    fail(file.path(), member,
         "is compressed by method " + std::to_string(method) + "; stored and deflated members are read");
  member.deflated = method == 8;
  if (!member.deflated && member.stored_size != member.size)
    fail(file.path(), member,
         "is stored as " + std::to_string(member.stored_size) + " bytes, but its size is given as " +
             std::to_string(member.size));
  return member;
}

// A writer that does not know them yet leaves CRC and sizes to a record behind the data, and zeros here.
void check_agreement(const file_reader& file, const zip_member& member, const zip_member& local, bool later) {
  const auto agrees = [&](std::uint64_t here, std::uint64_t there) { return here == there || (later && here == 0); };
  if (!agrees(local.crc, member.crc)) fail(file.path(), member, "its own header gives it another CRC-32");
  if (!agrees(local.size, member.size) || !agrees(local.stored_size, member.stored_size))
    fail(file.path(), member, "its own header gives it another size");
}

// The local header repeats what the directory says, and where it ends the data begins.
void locate_data(const file_reader& file, std::uint64_t directory_offset, zip_member& member) {
  if (directory_offset < local_size || member.header_offset > directory_offset - local_size)
    fail(file.path(), member,
         "its header at byte " + std::to_string(member.header_offset) + " lies outside the archive's data");
  const auto bytes = file.read(member.header_offset, local_size);
  cursor header = cursor_at(file, "local header", member.header_offset, bytes);
  if (header.little_endian<std::uint32_t>() != local_signature)
    fail(file.path(), member, "no header stands at byte " + std::to_string(member.header_offset));
  header.skip(2);
  const auto flags = header.little_endian<std::uint16_t>();
  const auto method = header.little_endian<std::uint16_t>();
  header.skip(4);
  zip_member local;
  local.crc = header.little_endian<std::uint32_t>();
  local.stored_size = header.little_endian<std::uint32_t>();
  local.size = header.little_endian<std::uint32_t>();
  const auto name_length = header.little_endian<std::uint16_t>();
  const auto extra_length = header.little_endian<std::uint16_t>();
  const std::uint64_t name_offset = member.header_offset + local_size;
  if (name_length != member.name.size()) fail(file.path(), member, "its own header gives it another name");
  const auto name = file.read(name_offset, name_length);
  if (!std::ranges::equal(name, member.name, {}, {}, [](char c) { return static_cast<std::uint8_t>(c); }))
    fail(file.path(), member, "its own header gives it another name");
  if ((method == 8) != member.deflated || (method != 0 && method != 8))
    fail(file.path(), member, "its own header gives it another compression method");
  if (local.size == in_zip64_32 || local.stored_size == in_zip64_32) {
    const auto extras = file.read(name_offset + name_length, extra_length);
    read_extras(cursor_at(file, "local header", name_offset + name_length, extras), local);
  }
  constexpr unsigned sizes_follow = 1U << 3;
  check_agreement(file, member, local, (flags & sizes_follow) != 0);
  member.data_offset = name_offset + name_length + extra_length;
  const auto end = checked_add(member.data_offset, member.stored_size);
  if (!end || *end > directory_offset)
    fail(file.path(), member,
         "its " + std::to_string(member.stored_size) + " bytes from byte " + std::to_string(member.data_offset) +
             " run into the central directory");
}

void check_distinct(const std::string& path, const std::vector<zip_member>& members) {
  std::vector<const zip_member*> sorted;
  for (const zip_member& member : members) sorted.push_back(&member);
  std::ranges::sort(sorted, {}, [](const zip_member* m) { return std::string_view(m->name); });
  for (std::size_t i = 1; i < sorted.size(); ++i)
    if (sorted[i]->name == sorted[i - 1]->name) fail(path, *sorted[i], "appears twice");
  std::ranges::sort(sorted, {}, [](const zip_member* m) { return m->header_offset; });
  for (std::size_t i = 1; i < sorted.size(); ++i)
    if (sorted[i]->header_offset < sorted[i - 1]->data_offset + sorted[i - 1]->stored_size)
      fail(path, *sorted[i], "overlaps the member " + in_quotes(sorted[i - 1]->name));
}

// Counts down a member's bytes and checks its CRC with the last one.
class member_stream : public byte_stream {
 public:
  member_stream(const file_reader& file, const zip_member& member)
      : path_(file.path()),
        member_(member),
        left_(member.size),
        packed_(file, member.data_offset, member.stored_size) {}

  [[nodiscard]] std::uint64_t left() const noexcept final { return left_; }

  void read(std::span<std::uint8_t> into) final {
    if (into.empty()) return;
    if (into.size() > left_)
      fail(std::to_string(into.size()) + " bytes are needed, but only " + std::to_string(left_) + " are left");
    unpack(into);
    left_ -= into.size();
    crc_ = static_cast<std::uint32_t>(crc32_z(crc_, into.data(), into.size()));
    check_end();
  }

  // Where nothing is left.
  void check_end() {
    if (left_ > 0) return;
    finish();
    if (crc_ != member_.crc) fail("its CRC-32 does not match its contents; the file is damaged");
  }

 protected:
  [[noreturn]] void fail(const std::string& reason) const { io::fail(path_, member_, reason); }
  [[nodiscard]] file_stream& packed() noexcept { return packed_; }

 private:
  virtual void unpack(std::span<std::uint8_t> into) = 0;
  virtual void finish() {}

  std::string path_;
  zip_member member_;
  std::uint64_t left_;
  std::uint32_t crc_ = 0;
  file_stream packed_;
};

class stored_stream final : public member_stream {
 public:
  using member_stream::member_stream;

 private:
  void unpack(std::span<std::uint8_t> into) override { packed().read(into); }
};

class deflated_stream final : public member_stream {
 public:
  deflated_stream(const file_reader& file, const zip_member& member) : member_stream(file, member), input_(1 << 16) {
    // Negative window bits: deflate without a header of zlib's.
    if (inflateInit2(&state_, -MAX_WBITS) != Z_OK) fail("zlib cannot be started");
  }
  ~deflated_stream() override { inflateEnd(&state_); }

 private:
  void unpack(std::span<std::uint8_t> into) override {
    while (!into.empty()) {
      if (ended_) fail("inflates to fewer bytes than its size");
      const std::size_t wanted = std::min<std::size_t>(into.size(), std::size_t{1} << 30);
      const std::size_t made = inflate_into(into.first(wanted));
      into = into.subspan(made);
    }
  }

  // The end marker may follow the last byte; bytes beyond the size do not.
  void finish() override {
    std::uint8_t extra = 0;
    while (!ended_)
      if (inflate_into({&extra, 1}) > 0) fail("inflates to more bytes than its size");
    if (state_.avail_in > 0 || packed().left() > 0) fail("has bytes after the end of its compressed data");
  }

  std::size_t inflate_into(std::span<std::uint8_t> into) {
    if (state_.avail_in == 0 && packed().left() > 0) {
      const auto chunk = std::span(input_).first(std::min<std::uint64_t>(input_.size(), packed().left()));
      packed().read(chunk);
      state_.next_in = chunk.data();
      state_.avail_in = static_cast<uInt>(chunk.size());
    }
    state_.next_out = into.data();
    state_.avail_out = static_cast<uInt>(into.size());
    const bool starved = state_.avail_in == 0;
    const int result = inflate(&state_, Z_NO_FLUSH);
    ended_ = result == Z_STREAM_END;
    const std::size_t made = into.size() - state_.avail_out;
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) fail("its compressed data is damaged");
    if (!ended_ && made == 0 && starved) fail("its compressed data ends too early");
    return made;
  }

  z_stream state_{};
  std::vector<std::uint8_t> input_;
  bool ended_ = false;
};

}  // namespace

zip_archive::zip_archive(const std::string& path, const read_limits& limits) : file_(path) { read_directory(limits); }
zip_archive::zip_archive(const std::string& path, byte_span contents, const read_limits& limits)
    : file_(path, contents) {
  read_directory(limits);
}

void zip_archive::read_directory(const read_limits& limits) {
  const std::string& path = file_.path();
  const directory found = find_directory(file_);
  check_header(found.size, limits, file_, "central directory");
  check_count(found.entries, limits, path, "central directory", "members");
  const auto bytes = file_.read(found.offset, found.size);
  cursor in = cursor_at(file_, "central directory", found.offset, bytes);
  std::optional<std::uint64_t> inflated = 0;
  for (std::uint64_t entry = 0; entry < found.entries; ++entry) {
    zip_member member = read_member(file_, in);
    locate_data(file_, found.offset, member);
    inflated = checked_add(inflated.value_or(read_limits::none), member.size);
    if (member.size > 0 || !member.name.ends_with('/')) members_.push_back(std::move(member));
  }
  if (in.left() > 0) in.fail("more follows than the " + std::to_string(found.entries) + " members it should hold");
  check_distinct(path, members_);
  check_inflated(inflated.value_or(read_limits::none), file_.size(), inflated_arrays, limits, path, "");
}

std::unique_ptr<byte_stream> zip_archive::open(const zip_member& member) const {
  std::unique_ptr<member_stream> in;
  if (member.deflated)
    in = std::make_unique<deflated_stream>(file_, member);
  else
    in = std::make_unique<stored_stream>(file_, member);
  in->check_end();  // there may be nothing to read
  return in;
}

void zip_archive::check(const zip_member& member) const {
  constexpr std::uint64_t chunk = 1 << 18;
  const auto in = open(member);
  std::vector<std::uint8_t> buffer(std::min(member.size, chunk));
  while (in->left() > 0) in->read(std::span(buffer).first(std::min<std::uint64_t>(buffer.size(), in->left())));
}

}  // namespace ulp::io
