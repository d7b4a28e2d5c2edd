#include "support/npz.hpp"

#include <zlib.h>

#include <stdexcept>
#include <string_view>

#include "support/files.hpp"
#include "support/little.hpp"

namespace ulp::test {
namespace {

// RFC 1951.
std::string inflated(std::string deflated, std::size_t size) {
  std::string bytes(size, '\0');
  z_stream stream{};
  stream.next_in = reinterpret_cast<Bytef*>(deflated.data());
  stream.avail_in = static_cast<uInt>(deflated.size());
  stream.next_out = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_out = static_cast<uInt>(size);
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) throw std::runtime_error("zlib");
  const int ended = inflate(&stream, Z_FINISH);
  inflateEnd(&stream);
  if (ended != Z_STREAM_END || stream.avail_out != 0) throw std::runtime_error("a member is damaged");
  return bytes;
}

// PKWARE APPNOTE 6.3: 4.3.16 end of central directory, 4.3.12 central directory header, 4.3.7 local file header.
class zip_file {
 public:
  explicit zip_file(std::string bytes) : bytes_(std::move(bytes)) {}

  [[nodiscard]] std::map<std::string, std::string> members() const {
    const std::size_t end = bytes_.rfind("PK\5\6");
    if (end == std::string::npos) throw std::runtime_error("not a zip file");
    std::map<std::string, std::string> found;
    std::size_t at = number<std::uint32_t>(end + 16);
    for (int left = number<std::uint16_t>(end + 10); left > 0; --left) {
      const int method = number<std::uint16_t>(at + 10);
      if (method != 0 && method != 8) throw std::runtime_error("a member is compressed in an unknown way");
      const std::size_t stored_size = number<std::uint32_t>(at + 20);
      const std::size_t size = number<std::uint32_t>(at + 24);
      const std::size_t name_size = number<std::uint16_t>(at + 28);
      const std::size_t local = number<std::uint32_t>(at + 42);
      const std::size_t data = local + 30 + number<std::uint16_t>(local + 26) + number<std::uint16_t>(local + 28);
      found[text(at + 46, name_size)] = method == 0 ? text(data, size) : inflated(text(data, stored_size), size);
      at += 46 + name_size + number<std::uint16_t>(at + 30) + number<std::uint16_t>(at + 32);
    }
    return found;
  }

 private:
  template <class Number>
  [[nodiscard]] Number number(std::size_t at) const {
    return number_at<Number>(text(at, sizeof(Number)));
  }
  [[nodiscard]] std::string text(std::size_t at, std::size_t size) const {
    if (at > bytes_.size() || size > bytes_.size() - at) throw std::runtime_error("the zip file is cut short");
    return bytes_.substr(at, size);
  }

  std::string bytes_;
};

// Version 1.0: a magic, the size of a Python dictionary, and that; then the elements.
npz_array array_of(const std::string& npy) {
  if (npy.size() < 10 || npy.substr(1, 5) != "NUMPY") throw std::runtime_error("a member is no array");
  const std::size_t size = static_cast<unsigned char>(npy[8]) + 256u * static_cast<unsigned char>(npy[9]);
  const std::string_view header = std::string_view{npy}.substr(10, size);
  if (header.find("'fortran_order': False") == header.npos) throw std::runtime_error("an array is by columns");
  npz_array a;
  const std::size_t type = header.find("'descr': '") + 10;
  a.type = header.substr(type, header.find('\'', type) - type);
  std::size_t at = header.find("'shape': (") + 10;
  while (header[at] >= '0' && header[at] <= '9') {
    std::size_t extent = 0;
    for (; header[at] >= '0' && header[at] <= '9'; ++at)
      extent = 10 * extent + static_cast<std::size_t>(header[at] - '0');
    a.shape.push_back(extent);
    while (header[at] == ',' || header[at] == ' ') ++at;
  }
  a.bytes = npy.substr(10 + size);
  return a;
}

template <class T>
constexpr std::string_view type_name = "";
template <>
constexpr std::string_view type_name<std::uint8_t> = "|u1";
template <>
constexpr std::string_view type_name<std::int32_t> = "<i4";
template <>
constexpr std::string_view type_name<std::int64_t> = "<i8";
template <>
constexpr std::string_view type_name<std::uint16_t> = "<u2";
template <>
constexpr std::string_view type_name<std::uint32_t> = "<u4";
template <>
constexpr std::string_view type_name<float> = "<f4";
template <>
constexpr std::string_view type_name<double> = "<f8";

}  // namespace

std::size_t npz_array::size() const {
  std::size_t n = 1;
  for (const std::size_t extent : shape) n *= extent;
  return n;
}

template <class T>
std::vector<T> npz_array::as() const {
  if (type != type_name<T>) throw std::runtime_error("an array is of " + type);
  if (bytes.size() != size() * sizeof(T)) throw std::runtime_error("an array is cut short");
  return numbers_in<T>(bytes);
}
template std::vector<std::uint8_t> npz_array::as() const;
template std::vector<std::int32_t> npz_array::as() const;
template std::vector<std::int64_t> npz_array::as() const;
template std::vector<std::uint16_t> npz_array::as() const;
template std::vector<std::uint32_t> npz_array::as() const;
template std::vector<float> npz_array::as() const;
template std::vector<double> npz_array::as() const;

std::map<std::string, npz_array> read_npz(const std::filesystem::path& path) {
  std::map<std::string, npz_array> arrays;
  for (const auto& [name, bytes] : zip_file{read_file(path)}.members())
    arrays[name.substr(0, name.rfind(".npy"))] = array_of(bytes);
  return arrays;
}

}  // namespace ulp::test
