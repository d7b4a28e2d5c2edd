#include <ulp/io/arrays/npz.hpp>

#include <algorithm>
#include <array>

#include <ulp/io/bytes/error.hpp>
#include <ulp/io/output/atomic_file.hpp>

#include "bytes/text.hpp"
#include "bytes/zip.hpp"
#include "dumps/npy.hpp"
#include "output/zip_writer.hpp"

namespace ulp {

struct npz_writer::state {
  explicit state(const std::string& path) : file(path), zip(file) {}
  atomic_file file;
  io::zip_writer zip;
};

npz_writer::npz_writer(const std::string& path) : state_(std::make_unique<state>(path)) {}
npz_writer::~npz_writer() = default;

void npz_writer::add(const std::string& name, const std::string& type, const std::vector<std::uint64_t>& shape,
                     std::string_view bytes) {
  const std::string header = io::npy_header_bytes(type, false, shape);
  state_->zip.begin(name + ".npy", header.size() + bytes.size());
  state_->zip.write(header);
  state_->zip.write(bytes);
  state_->zip.end();
}

void npz_writer::finish() {
  state_->zip.finish();
  state_->file.finish();
}

void write_npy(const std::string& path, const std::string& type, const std::vector<std::uint64_t>& shape,
               std::string_view bytes) {
  atomic_file file(path);
  file.write(io::npy_header_bytes(type, false, shape));
  file.write(bytes);
  file.finish();
}

struct uint16_rows::state {
  state(const std::string& path, const read_limits& limits) : archive(path, limits) {}
  io::zip_archive archive;
  std::unique_ptr<io::byte_stream> in;
  std::uint64_t rows = 0;
  std::uint64_t width = 0;
  std::string place;
};

uint16_rows::uint16_rows(std::unique_ptr<state> made) : state_(std::move(made)) {}
uint16_rows::~uint16_rows() = default;

std::unique_ptr<uint16_rows> uint16_rows::open(const std::string& path, std::string_view name,
                                               const read_limits& limits) {
  {
    const io::file_reader file(path);
    std::array<std::uint8_t, 4> start{};
    if (file.size() < start.size()) return nullptr;
    file.read(0, start);
    if (!io::starts_zip({reinterpret_cast<const char*>(start.data()), start.size()})) return nullptr;
  }
  auto made = std::make_unique<state>(path, limits);
  for (const io::zip_member& member : made->archive.members()) {
    if (member.name != std::string{name} + ".npy") continue;
    made->place = "array " + io::in_quotes(name);
    made->in = made->archive.open(member);
    const io::npy_header header = io::read_npy_header(*made->in, path, made->place);
    if (header.descr != "<u2") throw input_error(path, made->place, "holds " + header.descr + ", not uint16");
    if (header.shape.size() != 2 || header.by_columns)
      throw input_error(path, made->place, "is not of two dimensions, row by row");
    made->rows = header.shape[0];
    made->width = header.shape[1];
    return std::unique_ptr<uint16_rows>(new uint16_rows(std::move(made)));
  }
  return nullptr;
}

std::uint64_t uint16_rows::rows() const noexcept { return state_->rows; }
std::uint64_t uint16_rows::width() const noexcept { return state_->width; }

void uint16_rows::read(std::span<std::uint16_t> into) {
  std::array<std::uint8_t, 8192> bytes;
  for (std::size_t first = 0; first < into.size();) {
    const std::size_t count = std::min(bytes.size() / 2, into.size() - first);
    const std::span<std::uint8_t> part = std::span{bytes}.first(2 * count);
    if (state_->in->left() < part.size()) throw input_error(state_->archive.path(), state_->place, "has no more rows");
    state_->in->read(part);
    for (std::size_t i = 0; i < count; ++i)
      into[first + i] = static_cast<std::uint16_t>(part[2 * i] | part[2 * i + 1] << 8U);
    first += count;
  }
}

}  // namespace ulp
