#include "cursor.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include <ulp/io/bytes/error.hpp>

namespace ulp::io {
namespace {

std::string at_byte(std::uint64_t offset) { return "byte " + std::to_string(offset); }

}  // namespace

std::optional<std::uint64_t> checked_product(std::span<const std::uint64_t> shape) noexcept {
  std::optional<std::uint64_t> product = 1;
  for (const std::uint64_t dimension : shape) {
    product = checked_mul(*product, dimension);
    if (!product) break;
  }
  return product;
}

file_reader::file_reader(const std::string& path) : path_(path) {
  // Without waiting for the writer of a pipe.
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0) throw input_error(path, "", std::generic_category().message(errno));
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(descriptor_);
    throw input_error(path, "", "is not a regular file");
  }
  size_ = static_cast<std::uint64_t>(status.st_size);
}

file_reader::file_reader(const std::string& path, byte_span contents)
    : path_(path), descriptor_(::memfd_create("ulp", MFD_CLOEXEC)), size_(contents.size()) {
  while (descriptor_ >= 0 && !contents.empty()) {
    const ssize_t put = ::write(descriptor_, contents.data(), contents.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) break;
    contents = contents.subspan(static_cast<std::size_t>(put));
  }
  if (descriptor_ >= 0 && contents.empty()) return;
  const std::string reason = std::generic_category().message(errno);
  if (descriptor_ >= 0) ::close(descriptor_);
  throw input_error(path, "", "cannot be held in memory: " + reason);
}

file_reader::~file_reader() { ::close(descriptor_); }

void file_reader::check_range(std::uint64_t offset, std::uint64_t count) const {
  if (offset > size_ || count > size_ - offset)
    throw input_error(path_, at_byte(offset),
                      std::to_string(count) + " bytes are needed here, but the file ends at byte " +
                          std::to_string(size_) + "; it was cut short");
}

void file_reader::read(std::uint64_t offset, std::span<std::uint8_t> into) const {
  check_range(offset, into.size());
  while (!into.empty()) {
    const ssize_t got = ::pread(descriptor_, into.data(), into.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw input_error(path_, at_byte(offset), std::generic_category().message(errno));
    if (got == 0) throw input_error(path_, at_byte(offset), "the file became shorter while it was read");
    offset += static_cast<std::uint64_t>(got);
    into = into.subspan(static_cast<std::size_t>(got));
  }
}

std::vector<std::uint8_t> file_reader::read(std::uint64_t offset, std::uint64_t count) const {
  check_range(offset, count);
  std::vector<std::uint8_t> bytes(count);
  read(offset, bytes);
  return bytes;
}

file_stream::file_stream(const file_reader& file, std::uint64_t offset, std::uint64_t length)
    : file_(file), offset_(offset), left_(length) {}

void file_stream::read(std::span<std::uint8_t> into) {
  if (into.size() > left_)
    throw input_error(file_.path(), at_byte(offset_),
                      std::to_string(into.size()) + " bytes are needed here, but only " + std::to_string(left_) +
                          " belong to this part of the file");
  file_.read(offset_, into);
  offset_ += into.size();
  left_ -= into.size();
}

byte_span cursor::take(std::size_t count) {
  if (count > rest_.size())
    fail(std::to_string(count) + " bytes are needed here, but only " + std::to_string(rest_.size()) + " are left");
  const byte_span taken = rest_.first(count);
  rest_ = rest_.subspan(count);
  offset_ += count;
  return taken;
}

cursor cursor::part(std::size_t count) {
  const std::uint64_t start = offset_;
  return {file_, what_, start, take(count)};
}

std::string cursor::text(std::size_t count) {
  const byte_span bytes = take(count);
  return {bytes.begin(), bytes.end()};
}

void cursor::fail(const std::string& reason) const {
  throw input_error(file_, at_byte(offset_), what_ + ": " + reason);
}

}  // namespace ulp::io
