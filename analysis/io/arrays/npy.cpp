// The array of a .npy.
#include "dumps/npy.hpp"

#include <filesystem>
#include <system_error>

#include <ulp/io/bytes/error.hpp>
#include <ulp/model/cells/element_types.hpp>

#include "dumps/scale_conventions.hpp"
#include "npy.hpp"

namespace ulp::io {
namespace {

// Scales that a file of their own may have, beside the file of the codes.
std::string scales_beside(const std::string& path) {
  const std::filesystem::path file(path);
  const std::string name = file.stem().string();
  for (const scale_convention& by : scale_conventions()) {
    if (by.codes != code_kind::float8 || !name.ends_with(by.of_codes)) continue;
    const std::string base = name.substr(0, name.size() - by.of_codes.size());
    const auto beside = file.parent_path() / (base + std::string{by.of_scales} + file.extension().string());
    std::error_code none;
    if (std::filesystem::is_regular_file(beside, none))
      return "codes are read without the scales that may be in " + beside.filename().string() +
             " beside them: save both in one .npz";
  }
  return {};
}

class npy_input final : public array_input {
 public:
  npy_input(const std::string& path, const std::optional<format>& from) : file_(path) {
    file_stream in(file_, 0, file_.size());
    const npy_header header = read_npy_header(in, path, "");
    if (header.object) throw input_error(path, "", why_ignored(header) + "; save it as a float array");
    data_ = file_.size() - in.left();
    arrays_.push_back(array_of(header, std::filesystem::path(path).stem().string(), from));
    arrays_.back().bytes_as_is = file_.size() - data_;
    if (arrays_.back().by_from && arrays_.back().numbers->bytes == 1) arrays_.back().how = scales_beside(path);
  }

  [[nodiscard]] const std::vector<stored_array>& arrays() const override { return arrays_; }
  [[nodiscard]] std::unique_ptr<byte_stream> open(std::size_t /*index*/) const override {
    return std::make_unique<file_stream>(file_, data_, file_.size() - data_);
  }

 private:
  file_reader file_;
  std::uint64_t data_ = 0;
  std::vector<stored_array> arrays_;
};

class npy_output final : public array_output {
 public:
  explicit npy_output(atomic_file& to) : to_(to) {}
  void begin(const written_array& array) override {
    to_.write(npy_header_bytes(array.type, array.by_columns, array.shape));
  }
  void write(byte_span bytes) override { to_.write(text_of(bytes)); }

 private:
  atomic_file& to_;
};

// The order of rows and columns is one where there is one row or column.
bool has_two_orders(const std::vector<std::uint64_t>& shape) {
  int longer = 0;
  for (const std::uint64_t extent : shape) longer += extent != 1 ? 1 : 0;
  return longer > 1;
}

}  // namespace

stored_array array_of(const npy_header& header, const std::string& name, const std::optional<format>& from) {
  stored_array array{.name = name,
                     .type = header.descr.empty() ? why_ignored(header) : header.descr,
                     .shape = header.shape,
                     .numel = header.numel,
                     .by_columns = header.by_columns && has_two_orders(header.shape)};
  if (header.values) array.numbers = elements_of(header.values->type, header.values->order);
  if (header.codes)
    if (const auto codes = codes_of(from, header.codes->size, header.codes->order)) {
      array.numbers = codes;
      array.by_from = true;
    }
  if (header.values && !array.by_from) array.how = how_read(header);
  return array;
}

std::unique_ptr<array_input> open_npy(const std::string& path, const std::optional<format>& from) {
  return std::make_unique<npy_input>(path, from);
}

std::unique_ptr<array_output> write_npy(atomic_file& to) { return std::make_unique<npy_output>(to); }

std::string npy_type_of(const stored_elements& elements) {
  for (const element_type& t : element_types)
    if (t.of != nullptr && *t.of == elements.of && !t.numpy.empty()) return "<" + std::string(t.numpy);
  return elements.bytes == 4 ? "<u4" : elements.bytes == 2 ? "<u2" : "|u1";
}

}  // namespace ulp::io
