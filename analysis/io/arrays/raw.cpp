// Elements and nothing else.
#include <filesystem>

#include <ulp/formats/catalog.hpp>
#include <ulp/io/bytes/error.hpp>

#include "arrays.hpp"

namespace ulp::io {
namespace {

class raw_input final : public array_input {
 public:
  raw_input(const std::string& path, raw_type type, const std::optional<format>& from) : file_(path) {
    stored_elements elements{.of = binary32, .bytes = 4};
    switch (type) {
      case raw_type::f32: break;
      case raw_type::f64: elements = {.of = binary64, .bytes = 8}; break;
      case raw_type::u8: elements = {.of = from.value_or(format{}), .bytes = 1}; break;
      case raw_type::u16: elements = {.of = from.value_or(format{}), .bytes = 2}; break;
      case raw_type::u32: elements = {.of = from.value_or(format{}), .bytes = 4}; break;
    }
    const auto size = static_cast<std::uint64_t>(elements.bytes);
    if (file_.size() % size != 0)
      throw input_error(path, "end of file",
                        "its " + std::to_string(file_.size()) + " bytes are no whole number of elements of " +
                            std::to_string(size) + " bytes; the file was cut short, or its elements are others");
    const std::uint64_t numel = file_.size() / size;
    arrays_.push_back({.name = std::filesystem::path(path).stem().string(),
                       .type = raw_type_of(elements),
                       .shape = {numel},
                       .numel = numel,
                       .numbers = elements,
                       .by_from = from.has_value(),
                       .bytes_as_is = file_.size()});
  }

  [[nodiscard]] const std::vector<stored_array>& arrays() const override { return arrays_; }
  [[nodiscard]] std::unique_ptr<byte_stream> open(std::size_t /*index*/) const override {
    return std::make_unique<file_stream>(file_, 0, file_.size());
  }

 private:
  file_reader file_;
  std::vector<stored_array> arrays_;
};

class raw_output final : public array_output {
 public:
  explicit raw_output(atomic_file& to) : to_(to) {}
  void begin(const written_array& /*array*/) override {}
  void write(byte_span bytes) override { to_.write(text_of(bytes)); }

 private:
  atomic_file& to_;
};

}  // namespace

std::unique_ptr<array_input> open_raw(const std::string& path, raw_type type, const std::optional<format>& from) {
  return std::make_unique<raw_input>(path, type, from);
}

std::unique_ptr<array_output> write_raw(atomic_file& to) { return std::make_unique<raw_output>(to); }

std::string raw_type_of(const stored_elements& elements) {
  if (elements.of == binary32) return "f32";
  if (elements.of == binary64) return "f64";
  return elements.bytes == 4 ? "u32" : elements.bytes == 2 ? "u16" : "u8";
}

}  // namespace ulp::io
