#include "builders.hpp"

#include <zlib.h>

#include <algorithm>
#include <stdexcept>

#include <ulp/io/bytes/error.hpp>
#include <ulp/io/inputs/open.hpp>

namespace ulp::test {
namespace {

// Deflated data, raw (-15) or as gzip (31).
std::string deflated(const std::string& text, int window_bits) {
  z_stream state{};
  if (deflateInit2(&state, 9, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY) != Z_OK) throw std::runtime_error("zlib");
  std::string input = text;
  std::string output(deflateBound(&state, input.size()), '\0');
  state.next_in = reinterpret_cast<Bytef*>(input.data());
  state.avail_in = static_cast<uInt>(input.size());
  state.next_out = reinterpret_cast<Bytef*>(output.data());
  state.avail_out = static_cast<uInt>(output.size());
  deflate(&state, Z_FINISH);
  output.resize(state.total_out);
  deflateEnd(&state);
  return output;
}

struct packed_entry {
  std::string data;
  std::uint64_t crc = 0;
  std::uint64_t size = 0;
  std::uint64_t packed_size = 0;
  std::uint64_t offset = 0;
  std::uint64_t method = 0;
};

std::uint64_t given_or(std::int64_t given, std::uint64_t right) {
  return given < 0 ? right : static_cast<std::uint64_t>(given);
}

packed_entry pack(const zip_entry& entry, std::uint64_t offset) {
  packed_entry packed;
  packed.data = entry.deflated ? deflated(entry.contents, -MAX_WBITS) : entry.contents;
  packed.crc =
      crc32_z(0, reinterpret_cast<const Bytef*>(entry.contents.data()), entry.contents.size()) ^ entry.crc_error;
  packed.size = given_or(entry.size, entry.contents.size());
  packed.packed_size = given_or(entry.packed_size, packed.data.size());
  packed.offset = given_or(entry.offset, offset);
  packed.method = given_or(entry.method, entry.deflated ? 8 : 0);
  return packed;
}

std::string common_fields(const zip_entry& entry, const packed_entry& packed, std::uint64_t method, bool in_extra) {
  return little(20, 2) + little(entry.flags, 2) + little(method, 2) + little(0, 4) + little(packed.crc, 4) +
         little(in_extra ? 0xFFFFFFFF : packed.packed_size, 4) + little(in_extra ? 0xFFFFFFFF : packed.size, 4);
}

std::string local_record(const zip_entry& entry, const packed_entry& packed) {
  const std::string name = entry.local_name.empty() ? entry.name : entry.local_name;
  const std::string extra =
      entry.local_zip64 ? little(1, 2) + little(16, 2) + little(packed.size, 8) + little(packed.packed_size, 8) : "";
  zip_entry header = entry;
  packed_entry fields = packed;
  fields.crc ^= entry.local_crc_error;
  if (entry.local_size >= 0) fields.size = fields.packed_size = static_cast<std::uint64_t>(entry.local_size);
  std::string behind;
  if (entry.sizes_follow) {
    header.flags |= 8;
    fields.crc = fields.size = fields.packed_size = 0;
    behind = "PK\x07\x08" + little(packed.crc, 4) + little(packed.packed_size, 4) + little(packed.size, 4);
  }
  return "PK\x03\x04" + common_fields(header, fields, given_or(entry.local_method, packed.method), false) +
         little(name.size(), 2) + little(extra.size(), 2) + name + extra + packed.data + behind;
}

std::string central_record(const zip_entry& entry, const packed_entry& packed) {
  const std::string extra = entry.zip64 ? little(1, 2) + little(24, 2) + little(packed.size, 8) +
                                              little(packed.packed_size, 8) + little(packed.offset, 8)
                                        : "";
  return "PK\x01\x02" + little(20, 2) + common_fields(entry, packed, packed.method, entry.zip64) +
         little(entry.name.size(), 2) + little(extra.size(), 2) + little(0, 2) + little(0, 2) + little(0, 2) +
         little(0, 4) + little(entry.zip64 ? 0xFFFFFFFF : packed.offset, 4) + entry.name + extra;
}

}  // namespace

std::string swapped(std::string bytes, std::size_t size) {
  for (auto at = bytes.begin(); at != bytes.end(); at += static_cast<std::ptrdiff_t>(size))
    std::reverse(at, at + static_cast<std::ptrdiff_t>(size));
  return bytes;
}

std::string npy(const std::string& dict, const std::string& values, int version) {
  const std::size_t length_size = version == 1 ? 2 : 4;
  std::string header = dict;
  while ((8 + length_size + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  return "\x93NUMPY" + little(static_cast<std::uint64_t>(version), 1) + little(0, 1) +
         little(header.size(), length_size) + header + values;
}

std::string npy_dict(const std::string& descr, const std::string& shape) {
  return "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }";
}

std::string safetensors(const std::string& header, const std::string& values) {
  return little(header.size(), 8) + header + values;
}

std::string zip(const std::vector<zip_entry>& entries, const zip_options& options) {
  std::string file;
  std::string directory;
  for (const zip_entry& entry : entries) {
    const packed_entry packed = pack(entry, file.size());
    file += local_record(entry, packed);
    directory += central_record(entry, packed);
  }
  const std::uint64_t directory_offset = file.size();
  file += directory;
  const std::uint64_t end64_offset = file.size();
  if (options.zip64_end)
    file += "PK\x06\x06" + little(44, 8) + little(45, 2) + little(45, 2) + little(0, 4) + little(0, 4) +
            little(entries.size(), 8) + little(entries.size(), 8) + little(directory.size(), 8) +
            little(directory_offset, 8) + "PK\x06\x07" + little(0, 4) + little(end64_offset, 8) + little(1, 4);
  const auto field = [&](std::uint64_t value, std::size_t size) {
    return options.zip64_end ? std::string(size, '\xFF') : little(value, size);
  };
  return file + "PK\x05\x06" + little(0, 4) + field(entries.size(), 2) + field(entries.size(), 2) +
         field(directory.size(), 4) + field(directory_offset, 4) + little(options.comment.size(), 2) + options.comment;
}

std::string gzip(const std::string& text) { return deflated(text, 16 + MAX_WBITS); }

const tensor_info& contents::tensor(const std::string& name) const {
  for (const tensor_info& info : tensors)
    if (info.name == name) return info;
  throw std::runtime_error("no tensor " + name);
}

const cell_table& contents::table(const std::string& name) const {
  if (steps.size() != 1) throw std::runtime_error("not one step");
  for (const tensor_row& row : steps[0].tensors)
    if (tensors.at(row.tensor).name == name) return row.table;
  throw std::runtime_error("no tensor " + name);
}

contents read_all(source& from) {
  contents all;
  step next;
  while (from.next(next)) all.steps.push_back(next);
  all.tensors = from.tensors();
  all.description = from.description();
  all.row_unit = from.row_unit();
  all.notes = from.notes();
  all.unread = from.unread_records();
  return all;
}

std::string playground::write(const std::string& name, const std::string& bytes) const {
  const auto file = dir_ / name;
  std::filesystem::create_directories(file.parent_path());
  write_file(file, bytes);
  return file.string();
}

contents playground::open(const std::vector<std::string>& names, source_options options) const {
  std::vector<std::string> paths;
  for (const std::string& name : names) paths.push_back(path(name));
  if (!options.scalars.empty()) options.scalars = path(options.scalars);
  return read_all(*open_source(paths, options));
}

source_options empty_allowed() {
  source_options options;
  options.allow_empty = true;
  return options;
}

contents playground::open(const std::string& name, const std::string& bytes, source_options options) const {
  write(name, bytes);
  return open({name}, std::move(options));
}

std::string playground::error(const std::vector<std::string>& names, source_options options) const {
  try {
    static_cast<void>(open(names, std::move(options)));
    return "";
  } catch (const input_error& e) {
    std::string message = e.what();
    const std::string folder = dir_.path().string() + "/";
    for (std::size_t at = 0; (at = message.find(folder)) != std::string::npos;) message.erase(at, folder.size());
    return message;
  }
}

std::string playground::error(const std::string& name, const std::string& bytes, source_options options) const {
  write(name, bytes);
  return error(std::vector<std::string>{name}, std::move(options));
}

}  // namespace ulp::test
