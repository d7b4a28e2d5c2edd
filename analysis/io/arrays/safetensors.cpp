// The tensors of a .safetensors.
#include <nlohmann/json.hpp>

#include <ulp/model/cells/element_types.hpp>

#include "arrays.hpp"
#include "dumps/safetensors_file.hpp"
#include "scaled_arrays.hpp"

namespace ulp::io {
namespace {

class safetensors_input final : public array_input {
 public:
  safetensors_input(const std::string& path, const std::optional<format>& from, const read_limits& limits)
      : file_(path, limits), scaled_(scaled_tensors_of(file_, limits, open_safetensors_file, of_one_byte(from))) {
    for (const safetensors_entry& entry : file_.header().entries) {
      stored_array& array = arrays_.emplace_back();
      array.name = entry.name;
      array.type = entry.type->name;
      array.shape = entry.shape;
      array.numel = checked_product(entry.shape).value();
      array.numbers = elements_of(entry.type->type);
      if (entry.type->name.starts_with('U')) array.numbers = codes_of(from, static_cast<int>(entry.type->bits) / 8);
      array.by_from = array.numbers && entry.type->type == dtype::unknown;
      array.bytes_as_is = entry.bytes();
    }
    make_scaled(arrays_, scaled_);
  }

  [[nodiscard]] const std::vector<stored_array>& arrays() const override { return arrays_; }
  [[nodiscard]] std::unique_ptr<byte_stream> open(std::size_t index) const override {
    if (scaled_.at(index)) return open_scaled(file_, index, *scaled_[index]);
    return open_as_is(index);
  }
  [[nodiscard]] std::unique_ptr<byte_stream> open_as_is(std::size_t index) const override {
    return file_.open_stored(index);
  }
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> metadata() const override {
    return file_.header().metadata;
  }

 private:
  safetensors_file file_;
  std::vector<std::optional<scaled_tensor>> scaled_;  // of the entries
  std::vector<stored_array> arrays_;
};

class safetensors_output final : public array_output {
 public:
  safetensors_output(atomic_file& to, const std::vector<written_array>& all,
                     const std::vector<std::pair<std::string, std::string>>& metadata)
      : to_(to) {
    const auto quoted = [](const std::string& text) { return nlohmann::json(text).dump(); };
    std::string header = "{";
    if (!metadata.empty()) {
      header += "\"__metadata__\":{";
      for (std::size_t i = 0; i < metadata.size(); ++i)
        header += (i == 0 ? "" : ",") + quoted(metadata[i].first) + ":" + quoted(metadata[i].second);
      header += "}";
    }
    std::uint64_t at = 0;
    for (const written_array& array : all) {
      header += (header.size() == 1 ? "" : ",") + quoted(array.name) + ":{\"dtype\":\"" + array.type + "\",\"shape\":[";
      for (std::size_t i = 0; i < array.shape.size(); ++i)
        header += (i == 0 ? "" : ",") + std::to_string(array.shape[i]);
      header += "],\"data_offsets\":[" + std::to_string(at) + "," + std::to_string(at + array.bytes) + "]}";
      at += array.bytes;
    }
    header += "}";
    constexpr std::size_t alignment = 8;
    header.resize((header.size() + alignment - 1) / alignment * alignment, ' ');
    std::string length;
    for (std::size_t i = 0; i < alignment; ++i) length += static_cast<char>(header.size() >> (8 * i) & 0xFF);
    to_.write(length + header);
  }

  void begin(const written_array& /*array*/) override {}
  void write(byte_span bytes) override { to_.write(text_of(bytes)); }

 private:
  atomic_file& to_;
};

}  // namespace

std::unique_ptr<array_input> open_safetensors(const std::string& path, const std::optional<format>& from,
                                              const read_limits& limits) {
  return std::make_unique<safetensors_input>(path, from, limits);
}

std::unique_ptr<array_output> write_safetensors(atomic_file& to, const std::vector<written_array>& all,
                                                const std::vector<std::pair<std::string, std::string>>& metadata) {
  return std::make_unique<safetensors_output>(to, all, metadata);
}

std::string safetensors_type_of(const stored_elements& elements) {
  for (const element_type& t : element_types)
    if (t.of != nullptr && *t.of == elements.of && !t.safetensors.empty()) return std::string(t.safetensors);
  return elements.bytes == 4 ? "U32" : elements.bytes == 2 ? "U16" : "U8";
}

}  // namespace ulp::io
