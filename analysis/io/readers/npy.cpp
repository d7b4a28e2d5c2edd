#include "npy.hpp"

#include <charconv>
#include <filesystem>
#include <string_view>

#include <ulp/io/error.hpp>

#include "reader.hpp"
#include "text.hpp"

namespace ulp::io {
namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::uint64_t longest_header = 10'000;  // numpy's own limit, max_header_size
constexpr std::size_t most_dimensions = 64;

struct context {
  const std::string& file;
  const std::string& place;
  [[noreturn]] void fail(const std::string& reason) const { throw input_error(file, place, "npy header: " + reason); }
};

// The Python dict literal {'descr': ..., 'fortran_order': ..., 'shape': ...}, and no other expression.
class literal_parser {
 public:
  literal_parser(std::string_view text, const context& where) : text_(text), where_(where) {}

  npy_header parse() {
    expect('{');
    while (!accept('}')) {
      parse_item();
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_blanks();
    if (at_ != text_.size()) fail("nothing may follow the closing '}'");
    if (!descr_seen_) where_.fail("the key 'descr' is missing");
    if (!order_seen_) where_.fail("the key 'fortran_order' is missing");
    if (!shape_seen_) where_.fail("the key 'shape' is missing");
    return std::move(header_);
  }

 private:
  [[noreturn]] void fail(const std::string& reason) const {
    where_.fail("character " + std::to_string(at_) + ": " + reason);
  }

  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }
  bool accept(std::string_view token) {
    skip_blanks();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  bool accept(char token) { return accept(std::string_view(&token, 1)); }
  void expect(char token) {
    if (!accept(token)) fail(std::string("'") + token + "' is expected");
  }

  void parse_item() {
    const std::string key = parse_string("a key");
    expect(':');
    if (key == "descr") {
      once(descr_seen_, key);
      parse_descr();
    } else if (key == "fortran_order") {
      once(order_seen_, key);
      parse_order();
    } else if (key == "shape") {
      once(shape_seen_, key);
      parse_shape();
    } else {
      fail("unknown key " + in_quotes(key));
    }
  }
  void once(bool& seen, const std::string& key) {
    if (seen) fail("the key " + in_quotes(key) + " appears twice");
    seen = true;
  }

  std::string parse_string(const std::string& what) {
    skip_blanks();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    if (quote != '\'' && quote != '"') fail(what + " in quotes is expected");
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) fail(what + " has no closing quote");
    const std::string_view inside = text_.substr(at_ + 1, end - at_ - 1);
    if (inside.find('\\') != std::string_view::npos) fail(what + " has a backslash in it");
    at_ = end + 1;
    return std::string(inside);
  }

  void parse_descr() {
    if (accept('[')) return skip_structure();
    header_.descr = parse_string("the type");
  }
  // A structured type is a list of tuples of strings, numbers and further lists; only its end matters.
  void skip_structure() {
    int open = 1;
    while (open > 0) {
      skip_blanks();
      if (at_ == text_.size()) fail("the list of a structured type has no end");
      const char c = text_[at_];
      if (c == '\'' || c == '"') {
        const std::string text = parse_string("a field");
        header_.object = header_.object || text == "O" || text == "|O";
        continue;
      }
      if (c == '[') ++open;
      if (c == ']') --open;
      ++at_;
    }
  }

  // The order of the values does not change their histogram.
  void parse_order() {
    if (!accept("True") && !accept("False")) fail("True or False is expected");
  }

  void parse_shape() {
    expect('(');
    bool comma = false;
    while (!accept(')')) {
      if (!header_.shape.empty() && !comma) fail("',' or ')' is expected");
      header_.shape.push_back(parse_dimension());
      if (header_.shape.size() > most_dimensions) fail("more than 64 dimensions");
      comma = accept(',');
    }
    if (header_.shape.size() == 1 && !comma) fail("a shape of one dimension is written (n,)");
  }
  std::uint64_t parse_dimension() {
    skip_blanks();
    std::uint64_t value = 0;
    const char* const end = text_.data() + text_.size();
    const auto [stop, error] = std::from_chars(text_.data() + at_, end, value);
    if (error == std::errc::result_out_of_range) fail("a dimension does not fit into 64 bits");
    if (error != std::errc()) fail("a dimension (a number not below zero) is expected");
    at_ = static_cast<std::size_t>(stop - text_.data());
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // written by Python 2
    return value;
  }

  std::string_view text_;
  const context& where_;
  std::size_t at_ = 0;
  bool descr_seen_ = false;
  bool order_seen_ = false;
  bool shape_seen_ = false;
  npy_header header_;
};

std::optional<element> element_of(std::string_view descr) {
  if (descr.size() != 3) return std::nullopt;
  const char order = descr[0];
  const std::string_view kind = descr.substr(1);
  const dtype type = kind == "f8"   ? dtype::float64
                     : kind == "f4" ? dtype::float32
                     : kind == "f2" ? dtype::float16
                                    : dtype::unknown;
  if (type == dtype::unknown) return std::nullopt;
  if (order == '<') return element{type, std::endian::little};
  if (order == '>') return element{type, std::endian::big};
  if (order == '=') return element{type, std::endian::native};
  return std::nullopt;
}

// What may stand in `descr`: an optional byte order, a type letter of numpy's, a size or a unit.
bool is_type(std::string_view descr) {
  if (!descr.empty() && std::string_view("<>=|").find(descr[0]) != std::string_view::npos) descr.remove_prefix(1);
  return !descr.empty() && std::string_view("?biufcmMOSaUV").find(descr[0]) != std::string_view::npos;
}

std::string bytes_text(std::uint64_t count) { return std::to_string(count) + (count == 1 ? " byte" : " bytes"); }

void check_length(std::uint64_t needed, std::uint64_t left, const context& where) {
  if (left == needed) return;
  const std::string difference = left < needed ? std::to_string(needed - left) + " missing; the file was cut short"
                                               : std::to_string(left - needed) + " too many";
  throw input_error(
      where.file, where.place,
      "the array needs " + bytes_text(needed) + " of values, but " + std::to_string(left) + " follow: " + difference);
}

class npy_reader final : public dump_reader {
 public:
  explicit npy_reader(const std::string& path) : file_(path) {
    file_stream in(file_, 0, file_.size());
    const npy_header header = read_npy_header(in, path, "");
    data_ = file_.size() - in.left();
    if (header.object) throw input_error(path, "", why_ignored(header) + "; save it as a float array");
    const std::string name = std::filesystem::path(path).stem().string();
    if (!header.values) {
      ignored_.push_back(in_quotes(name) + " (" + why_ignored(header) + ")");
      return;
    }
    tensors_.push_back({.name = name,
                        .type = header.values->type,
                        .order = header.values->order,
                        .shape = header.shape,
                        .numel = header.numel});
  }

  [[nodiscard]] const std::vector<tensor>& tensors() const override { return tensors_; }
  [[nodiscard]] const std::vector<std::string>& ignored() const override { return ignored_; }
  [[nodiscard]] std::unique_ptr<byte_stream> open(std::size_t /*index*/) override {
    return std::make_unique<file_stream>(file_, data_, file_.size() - data_);
  }

 private:
  file_reader file_;
  std::uint64_t data_ = 0;
  std::vector<tensor> tensors_;
  std::vector<std::string> ignored_;
};

}  // namespace

npy_header read_npy_header(byte_stream& in, const std::string& file, const std::string& place) {
  const context where{file, place};
  const auto take = [&](std::uint64_t count) {
    if (count > in.left())
      where.fail(bytes_text(count) + " are needed, but only " + std::to_string(in.left()) + " are left");
    std::string bytes(count, '\0');
    in.read({reinterpret_cast<std::uint8_t*>(bytes.data()), bytes.size()});
    return bytes;
  };
  const auto length_of = [](std::string_view bytes) {
    std::uint64_t length = 0;
    for (std::size_t i = bytes.size(); i-- > 0;) length = length << 8 | static_cast<std::uint8_t>(bytes[i]);
    return length;
  };

  const std::string start = take(magic.size() + 2);
  if (!start.starts_with(magic)) where.fail("does not begin with the bytes 93 'NUMPY'");
  const int version = static_cast<std::uint8_t>(start[magic.size()]);
  if (version < 1 || version > 3) where.fail("version " + std::to_string(version) + " is unknown; 1, 2 and 3 are read");
  const std::uint64_t length = length_of(take(version == 1 ? 2 : 4));
  if (length > longest_header)
    where.fail("its length is given as " + bytes_text(length) + ", more than the 10000 that numpy allows");
  npy_header header = literal_parser(take(length), where).parse();

  if (!header.descr.empty() && !is_type(header.descr)) where.fail(in_quotes(header.descr) + " is not a numpy type");
  header.values = element_of(header.descr);
  header.object = header.object || header.descr.find('O') != std::string::npos;
  if (!header.values) return header;
  const auto numel = checked_product(header.shape);
  const auto needed = numel ? checked_mul(*numel, size_of(header.values->type)) : std::nullopt;
  if (!needed) where.fail("the shape holds more values than 64 bits can count");
  header.numel = *numel;
  check_length(*needed, in.left(), where);
  return header;
}

std::string why_ignored(const npy_header& header) {
  if (header.object) return "an object array is a Python pickle, which can run any code; it is never unpacked";
  if (header.descr.empty()) return "a structured type";
  if (header.descr.ends_with("V2")) return "'V2': a bfloat16 whose type numpy has lost; save float32 or safetensors";
  return header.descr;
}

std::unique_ptr<dump_reader> open_npy(const std::string& path) { return std::make_unique<npy_reader>(path); }

}  // namespace ulp::io
