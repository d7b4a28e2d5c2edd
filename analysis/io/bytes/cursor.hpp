// The only code that touches raw offsets: reading a file at random, reading bytes front to back. Every read is checked;
// an error names the file and the byte.
#ifndef ULP_IO_BYTES_CURSOR_HPP
#define ULP_IO_BYTES_CURSOR_HPP

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ulp::io {

using byte_span = std::span<const std::uint8_t>;

[[nodiscard]] inline std::optional<std::uint64_t> checked_add(std::uint64_t a, std::uint64_t b) noexcept {
  std::uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::nullopt : std::optional(sum);
}
[[nodiscard]] inline std::optional<std::uint64_t> checked_mul(std::uint64_t a, std::uint64_t b) noexcept {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::nullopt : std::optional(product);
}
// The number of values of a shape, 1 for none.
[[nodiscard]] std::optional<std::uint64_t> checked_product(std::span<const std::uint64_t> shape) noexcept;

// A regular file, read wherever one likes; holds one descriptor.
class file_reader {
 public:
  explicit file_reader(const std::string& path);
  // Of bytes, as of a file without a name in memory; `path` is what errors call it.
  file_reader(const std::string& path, byte_span contents);
  ~file_reader();
  file_reader(const file_reader&) = delete;
  file_reader& operator=(const file_reader&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

  // Fills `into` from the bytes at `offset`; throws where the file does not hold them all.
  void read(std::uint64_t offset, std::span<std::uint8_t> into) const;
  // The bytes [offset, offset + count), checked against the file's size before anything is allocated.
  [[nodiscard]] std::vector<std::uint8_t> read(std::uint64_t offset, std::uint64_t count) const;

 private:
  void check_range(std::uint64_t offset, std::uint64_t count) const;

  std::string path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

// Bytes that come one after the other, of a length known in advance.
class byte_stream {
 public:
  byte_stream() = default;
  byte_stream(const byte_stream&) = delete;
  byte_stream& operator=(const byte_stream&) = delete;
  virtual ~byte_stream() = default;

  [[nodiscard]] virtual std::uint64_t left() const noexcept = 0;
  // Fills `into`; throws where fewer bytes are left.
  virtual void read(std::span<std::uint8_t> into) = 0;
};

// A part of a file, which must outlive it.
class file_stream final : public byte_stream {
 public:
  file_stream(const file_reader& file, std::uint64_t offset, std::uint64_t length);
  [[nodiscard]] std::uint64_t left() const noexcept override { return left_; }
  void read(std::span<std::uint8_t> into) override;

 private:
  const file_reader& file_;
  std::uint64_t offset_;
  std::uint64_t left_;
};

// Bytes of a file in memory, read front to back; they must outlive it. `what` names them in errors.
class cursor {
 public:
  cursor(const std::string& file, const std::string& what, std::uint64_t file_offset, byte_span bytes)
      : file_(file), what_(what), offset_(file_offset), rest_(bytes) {}

  // The place in the file, and what is left from there.
  [[nodiscard]] std::uint64_t offset() const noexcept { return offset_; }
  [[nodiscard]] std::size_t left() const noexcept { return rest_.size(); }

  byte_span take(std::size_t count);
  void skip(std::size_t count) { take(count); }
  [[nodiscard]] cursor part(std::size_t count);
  [[nodiscard]] std::string text(std::size_t count);

  template <std::unsigned_integral T>
  [[nodiscard]] T little_endian() {
    std::uint64_t value = 0;
    int shift = 0;
    for (const std::uint8_t byte : take(sizeof(T))) {
      value |= std::uint64_t{byte} << shift;
      shift += 8;
    }
    return static_cast<T>(value);
  }

  [[noreturn]] void fail(const std::string& reason) const;

 private:
  std::string file_;
  std::string what_;
  std::uint64_t offset_;
  byte_span rest_;
};

// The unsigned integer in so many bytes, at most 8.
[[nodiscard]] inline std::uint64_t bits_at(const std::uint8_t* from, std::size_t size, std::endian order) noexcept {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < size; ++i)
    bits |= std::uint64_t{from[order == std::endian::little ? i : size - 1 - i]} << (8 * i);
  return bits;
}

}  // namespace ulp::io

#endif
