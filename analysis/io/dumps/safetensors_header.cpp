// safetensors: u64 length of the header, the header (JSON), the values. Validated in the order of the reference reader,
// github.com/huggingface/safetensors, safetensors/src/tensor.rs.
#include "safetensors_header.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <tuple>
#include <unordered_set>

#include <nlohmann/json.hpp>

#include <ulp/io/bytes/error.hpp>

#include "bytes/text.hpp"
#include "bytes/within.hpp"

namespace ulp::io {
namespace {

using json = nlohmann::json;

constexpr std::uint64_t length_size = 8;
constexpr std::size_t most_header_levels = 16;
constexpr std::size_t most_header_dimensions = 64;

// Types whose values are not read.
constexpr std::array header_passed_by{
    safetensors_type{"BOOL", 8},    safetensors_type{"F4", 4},   safetensors_type{"F6_E2M3", 6},
    safetensors_type{"F6_E3M2", 6}, safetensors_type{"U8", 8},   safetensors_type{"I8", 8},
    safetensors_type{"F8_E8M0", 8}, safetensors_type{"I16", 16}, safetensors_type{"U16", 16},
    safetensors_type{"I32", 32},    safetensors_type{"U32", 32}, safetensors_type{"C64", 64},
    safetensors_type{"I64", 64},    safetensors_type{"U64", 64},
};
constexpr auto header_types = [] {
  std::array<safetensors_type, element_types.size() - 1 + header_passed_by.size()> all{};
  const auto of = [](const element_type& t) {
    return safetensors_type{t.safetensors, static_cast<unsigned>(8 * t.bytes), t.type};
  };
  std::ranges::copy(header_passed_by, std::transform(element_types.begin() + 1, element_types.end(), all.begin(), of));
  return all;
}();

using entry = safetensors_entry;

// Builds the entries while the header is parsed. Keys of level 1 are tensor names, keys of level 2 their fields or the
// metadata; fields that are not known are skipped with all below them.
class header_handler final : public nlohmann::json_sax<json> {
 public:
  header_handler(const std::string& file, const read_limits& limits) : file_(file), limits_(limits) {}

  [[nodiscard]] safetensors_header take() { return std::move(found_); }

  bool null() override { return other("null"); }
  bool boolean(bool) override { return other("a boolean"); }
  bool number_integer(number_integer_t) override { return other("a negative number"); }
  bool number_float(number_float_t, const string_t&) override { return other("a number that is not a 64-bit integer"); }
  bool binary(binary_t&) override { return other("binary data"); }

  bool number_unsigned(number_unsigned_t number) override {
    if (list_ == nullptr) return other("a number");
    if (list_->size() == most_header_dimensions) fail("has more than 64 dimensions");
    list_->push_back(number);
    return true;
  }

  bool string(string_t& text) override {
    if (level_ == 2 && in_metadata_) {
      if (field_ == field::loss_scale) found_.loss_scale = positive_number(text);
      found_.metadata.back().second = text;
      return true;
    }
    if (level_ != 2 || field_ != field::type) return other("a string");
    const auto row = std::ranges::find(header_types, std::string_view(text), &safetensors_type::name);
    if (text.empty() || row == header_types.end()) fail("unknown dtype " + in_quotes(text));
    found_.entries.back().type = &*row;
    return true;
  }

  bool start_object(std::size_t) override {
    if (level_ >= 2) other("an object");
    return deeper();
  }

  bool end_object() override {
    --level_;
    if (level_ == 1 && !in_metadata_) check_complete(found_.entries.back());
    return true;
  }

  bool start_array(std::size_t) override {
    const bool is_list = !in_metadata_ && level_ == 2 && (field_ == field::shape || field_ == field::offsets);
    if (!is_list) other("a list");
    if (is_list) list_ = field_ == field::shape ? &found_.entries.back().shape : &found_.entries.back().offsets;
    return deeper();
  }

  bool end_array() override {
    --level_;
    list_ = nullptr;
    return true;
  }

  bool key(string_t& name) override {
    if (level_ == 1) start_entry(name);
    if (level_ == 2) start_field(name);
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    throw input_error(file_, "byte " + std::to_string(length_size + position - 1), "the header is not valid JSON here");
  }

 private:
  enum class field : std::uint8_t { type, shape, offsets, loss_scale, unknown };

  // NaN for anything else.
  static double positive_number(std::string_view text) {
    double value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    return error == std::errc() && stop == end && value > 0 && std::isfinite(value) ? value : not_known;
  }

  [[noreturn]] void fail(const std::string& reason) const {
    throw input_error(file_, in_metadata_ ? "'__metadata__'" : "tensor " + in_quotes(found_.entries.back().name),
                      reason);
  }

  bool deeper() {
    if (++level_ > most_header_levels) throw input_error(file_, "header", "is nested deeper than 16 levels");
    return true;
  }

  // Anything that is not what its place asks for: skipped below unknown fields, else an error.
  bool other(const std::string& found) {
    if (level_ == 0) throw input_error(file_, "header", "is " + found + ", not a JSON object");
    if (level_ == 1) fail("must be an object, not " + found);
    if (in_metadata_) fail("holds strings only, not " + found);
    switch (field_) {
      case field::loss_scale:
      case field::unknown: return true;
      case field::type: fail("'dtype' must be a string, not " + found);
      case field::shape: fail("'shape' must be a list of integers from 0 to 2^64 - 1; there is " + found);
      case field::offsets: fail("'data_offsets' must be a list of two integers from 0 to 2^64 - 1; there is " + found);
    }
    return false;
  }

  void start_entry(const std::string& name) {
    in_metadata_ = name == "__metadata__";
    if (!names_.insert(name).second)
      throw input_error(file_, "header", "the key " + in_quotes(name) + " appears twice");
    fields_.clear();
    if (in_metadata_) return;
    check_count(found_.entries.size() + 1, limits_, file_, "header", "tensors");
    check_name(file_, "header", name);
    found_.entries.emplace_back().name = name;
  }

  void start_field(const std::string& name) {
    if (!fields_.insert(name).second) fail("the key " + in_quotes(name) + " appears twice");
    constexpr std::size_t of_a_tensor = 3;
    if (fields_.size() > of_a_tensor) check_count(fields_.size(), limits_, file_, "header", "keys in one object");
    if (in_metadata_) {
      constexpr std::array names{"loss_scale", "loss-scale", "scale"};
      field_ = std::ranges::find(names, std::string_view(name)) == names.end() ? field::unknown : field::loss_scale;
      found_.metadata.emplace_back(name, "");
      return;
    }
    field_ = name == "dtype"          ? field::type
             : name == "shape"        ? field::shape
             : name == "data_offsets" ? field::offsets
                                      : field::unknown;
  }

  void check_complete(const entry& tensor) const {
    if (tensor.type == nullptr) fail("'dtype' is missing");
    if (!fields_.contains("shape")) fail("'shape' is missing");
    if (tensor.offsets.size() != 2) fail("'data_offsets' must be given as [begin, end]");
  }

  const std::string& file_;
  const read_limits& limits_;
  std::size_t level_ = 0;  // containers open
  bool in_metadata_ = false;
  field field_ = field::unknown;
  std::vector<std::uint64_t>* list_ = nullptr;  // the list of numbers that is open
  std::unordered_set<std::string> names_;       // of level 1
  std::unordered_set<std::string> fields_;      // of level 2, below the last name
  safetensors_header found_;
};

safetensors_header parse_header(const std::string& file, byte_span text, const read_limits& limits) {
  const auto blank = [](std::uint8_t c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
  // Files padded in front of the header are accepted by the reference; a byte order mark is not.
  const auto first = std::ranges::find_if_not(text, blank);
  if (first == text.end() || *first != '{') throw input_error(file, "header", "is not a JSON object");
  header_handler handler(file, limits);
  json::sax_parse(text.begin(), text.end(), &handler);
  return handler.take();
}

// The values tile the rest of the file: no gap, no overlap, no rest.
void check_tiling(const std::string& file, std::vector<entry>& entries, std::uint64_t data_size) {
  std::ranges::sort(entries, {}, [](const entry& e) { return std::tie(e.offsets, e.name); });
  std::uint64_t expected = 0;
  for (const entry& tensor : entries) {
    const auto fail = [&](const std::string& reason) {
      throw input_error(file, "tensor " + in_quotes(tensor.name), reason);
    };
    const std::uint64_t begin = tensor.offsets[0];
    const std::uint64_t end = tensor.offsets[1];
    if (begin != expected || end < begin)
      fail("its values are given as bytes " + std::to_string(begin) + " to " + std::to_string(end) + ", where byte " +
           std::to_string(expected) + " is next");
    const auto numel = checked_product(tensor.shape);
    const auto bits = numel ? checked_mul(*numel, tensor.type->bits) : std::nullopt;
    if (!bits) fail("its shape holds more values than 64 bits can count");
    if (*bits % 8 != 0) fail("its values end inside a byte");
    if (*bits / 8 != end - begin)
      fail("its shape needs " + std::to_string(*bits / 8) + " bytes, its offsets give " + std::to_string(end - begin));
    expected = end;
  }
  if (expected == data_size) return;
  const std::string difference = data_size < expected
                                     ? std::to_string(expected - data_size) + " missing; the file was cut short"
                                     : std::to_string(data_size - expected) + " too many";
  throw input_error(file, "end of file",
                    "the tensors need " + std::to_string(expected) + " bytes of values, but " +
                        std::to_string(data_size) + " follow the header: " + difference);
}

}  // namespace

safetensors_header read_safetensors_header(const file_reader& file, const read_limits& limits) {
  const auto fail = [&](const std::string& reason) { throw input_error(file.path(), "header", reason); };
  if (file.size() < length_size) fail("8 bytes are needed for its length; the file has " + std::to_string(file.size()));
  const auto bytes = file.read(0, length_size);
  const auto length = cursor(file.path(), "header length", 0, bytes).little_endian<std::uint64_t>();
  if (length > file.size() - length_size)
    fail("its length is given as " + std::to_string(length) + " bytes, but only " +
         std::to_string(file.size() - length_size) + " follow; the file was cut short");
  check_header(length, limits, file, "header");
  safetensors_header header = parse_header(file.path(), file.read(length_size, length), limits);
  header.data = length_size + length;
  check_tiling(file.path(), header.entries, file.size() - header.data);
  return header;
}

}  // namespace ulp::io
