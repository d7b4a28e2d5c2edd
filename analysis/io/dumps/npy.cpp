#include "npy.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <initializer_list>
#include <string_view>

#include <ulp/io/bytes/error.hpp>

#include "bytes/text.hpp"
#include "rows.hpp"

namespace ulp::io {
namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::uint64_t longest_header = 10'000;  // numpy's own limit, max_header_size
constexpr std::size_t most_dimensions = 64;
constexpr int deepest = 16;

struct context {
  const std::string& file;
  const std::string& place;
  [[noreturn]] void fail(const std::string& reason) const { throw input_error(file, place, "npy header: " + reason); }
};

// numpy's types: https://numpy.org/doc/stable/reference/arrays.interface.html, dtype.str and dtype.descr.
struct numpy_type {
  std::uint64_t size = 0;  // bytes of one value
  bool object = false;     // holds pickled Python objects
  std::optional<element> values;
  std::optional<code_bytes> codes;
};

std::optional<std::uint64_t> number_of(std::string_view digits) {
  std::uint64_t value = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value);
  return error == std::errc() && stop == end ? std::optional(value) : std::nullopt;
}

// "[ns]", "[25s]": what follows the size of a date.
bool is_unit(std::string_view text) {
  constexpr std::array units{"Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as", "generic"};
  if (text.empty()) return true;
  if (text.size() < 3 || text.front() != '[' || text.back() != ']') return false;
  text = text.substr(1, text.size() - 2);
  text.remove_prefix(std::min(text.find_first_not_of("0123456789"), text.size()));
  return std::ranges::find(units, text) != units.end();
}

// An order of bytes, a letter, a size in bytes (of U in characters), a unit; nullopt for anything else.
std::optional<numpy_type> type_called(std::string_view descr) {
  char order = '=';
  if (!descr.empty() && std::string_view("<>=|").find(descr[0]) != std::string_view::npos) {
    order = descr[0];
    descr.remove_prefix(1);
  }
  if (descr == "O" || descr == "O8" || descr == "O4") return numpy_type{.size = 8, .object = true};
  if (descr == "?") return numpy_type{.size = 1};
  if (descr.size() < 2) return std::nullopt;
  const std::string_view rest = descr.substr(1);
  const std::string_view digits = rest.substr(0, rest.find_first_not_of("0123456789"));
  const auto size = number_of(digits);
  if (!size) return std::nullopt;
  const std::string_view unit = rest.substr(digits.size());
  if (descr[0] == 'm' || descr[0] == 'M')
    return *size == 8 && is_unit(unit) ? std::optional(numpy_type{.size = 8}) : std::nullopt;
  if (!unit.empty()) return std::nullopt;
  const auto one_of = [&](std::initializer_list<std::uint64_t> sizes) {
    return std::ranges::find(sizes, *size) != sizes.end() ? std::optional(numpy_type{.size = *size}) : std::nullopt;
  };
  // Where it says "native" or nothing, a file is the same numbers on every processor: little-endian.
  const std::endian bytes = order == '>' ? std::endian::big : std::endian::little;
  const auto with_codes = [&](std::optional<numpy_type> type) {
    if (type && (type->size == 1 || type->size == 2 || type->size == 4))
      type->codes = {static_cast<int>(type->size), bytes};
    return type;
  };
  switch (descr[0]) {
    case 'b': return one_of({1});
    case 'i': return one_of({1, 2, 4, 8});
    case 'u': return with_codes(one_of({1, 2, 4, 8}));
    case 'c': return one_of({8, 16, 24, 32});
    case 'S':
    case 'a': return numpy_type{.size = *size};
    case 'V':
      if (*size == 2) return with_codes(numpy_type{.size = 2, .values = element{dtype::bfloat16, bytes}});
      return with_codes(numpy_type{.size = *size});
    case 'U':
      if (const auto characters = checked_mul(*size, 4)) return numpy_type{.size = *characters};
      return std::nullopt;
    case 'f': break;
    default: return std::nullopt;
  }
  auto type = one_of({2, 4, 8, 12, 16});
  const auto row = std::ranges::find_if(
      element_types, [&](const element_type& t) { return t.numpy.starts_with('f') && t.bytes == *size; });
  if (type && row != element_types.end()) type->values = {row->type, bytes};
  return type;
}

// The Python dict literal {'descr': ..., 'fortran_order': ..., 'shape': ...}, and no other expression.
class literal_parser {
 public:
  literal_parser(std::string_view text, const context& where) : text_(text), where_(where) {}

  // Of one value; known once the header is parsed.
  [[nodiscard]] std::uint64_t value_size() const { return type_.size; }

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
  bool is_next(char token) {
    skip_blanks();
    return text_.substr(at_).starts_with(token);
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
      header_.shape = parse_shape();
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
    type_ = parse_type(0);
    header_.values = type_.values;
    header_.codes = type_.codes;
    header_.object = type_.object;
  }
  // One in quotes; a list of fields; a pair of a type and the shape of an array of it.
  numpy_type parse_type(int depth) {
    if (depth > deepest) fail("the type is nested deeper than 16 levels");
    numpy_type whole;
    if (accept('[')) {
      while (!accept(']')) {
        add(whole, parse_field(depth), 1);
        if (accept(',')) continue;
        expect(']');
        break;
      }
      return whole;
    }
    if (accept('(')) {
      const numpy_type one = parse_type(depth + 1);
      expect(',');
      add(whole, one, count_in(parse_shape()));
      accept(',');
      expect(')');
      return whole;
    }
    const std::string descr = parse_string("the type");
    const auto named = type_called(descr);
    if (!named) refuse(descr);
    if (depth == 0) header_.descr = descr;
    return *named;
  }
  // (name, type) or (name, type, shape); a name may be a pair of a title and a name.
  numpy_type parse_field(int depth) {
    expect('(');
    if (accept('(')) {
      static_cast<void>(parse_string("a title"));
      expect(',');
      static_cast<void>(parse_string("a field"));
      expect(')');
    } else {
      static_cast<void>(parse_string("a field"));
    }
    expect(',');
    const numpy_type one = parse_type(depth + 1);
    std::uint64_t times = 1;
    if (accept(',') && !is_next(')')) {
      times = count_in(parse_shape());
      accept(',');
    }
    expect(')');
    numpy_type whole;
    add(whole, one, times);
    return whole;
  }
  void add(numpy_type& whole, const numpy_type& part, std::uint64_t times) const {
    const auto bytes = checked_mul(part.size, times);
    const auto sum = bytes ? checked_add(whole.size, *bytes) : std::nullopt;
    if (!sum) fail("the type has more bytes than 64 bits can count");
    whole.size = *sum;
    whole.object = whole.object || part.object;
  }
  std::uint64_t count_in(const std::vector<std::uint64_t>& shape) const {
    const auto count = checked_product(shape);
    if (!count) fail("a shape holds more values than 64 bits can count");
    return *count;
  }
  [[noreturn]] void refuse(const std::string& descr) const {
    const bool narrow = descr.ends_with("f1");
    where_.fail(in_quotes(descr) + " is not a numpy type" +
                (narrow ? ", which has no float8; save float32 or safetensors" : "; the file is damaged"));
  }

  void parse_order() {
    header_.by_columns = accept("True");
    if (!header_.by_columns && !accept("False")) fail("True or False is expected");
  }

  std::vector<std::uint64_t> parse_shape() {
    std::vector<std::uint64_t> shape;
    expect('(');
    bool comma = false;
    while (!accept(')')) {
      if (!shape.empty() && !comma) fail("',' or ')' is expected");
      shape.push_back(parse_dimension());
      if (shape.size() > most_dimensions) fail("more than 64 dimensions");
      comma = accept(',');
    }
    if (shape.size() == 1 && !comma) fail("a shape of one dimension is written (n,)");
    return shape;
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
  numpy_type type_;
};

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
                        .numel = header.numel,
                        .row_by_row = !header.by_columns || header.shape.size() < 2});
    if (const std::string how = how_read(header); !how.empty()) notes_.push_back(how);
  }

  [[nodiscard]] const std::vector<tensor>& tensors() const override { return tensors_; }
  [[nodiscard]] const std::vector<std::string>& ignored() const override { return ignored_; }
  [[nodiscard]] std::vector<std::string> notes() const override { return notes_; }
  [[nodiscard]] std::unique_ptr<byte_stream> open(std::size_t /*index*/) override {
    return std::make_unique<file_stream>(file_, data_, file_.size() - data_);
  }

 private:
  file_reader file_;
  std::uint64_t data_ = 0;
  std::vector<tensor> tensors_;
  std::vector<std::string> ignored_;
  std::vector<std::string> notes_;
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
  const std::string text = take(length);
  literal_parser parser(text, where);
  npy_header header = parser.parse();
  if (header.object) return header;
  const auto numel = checked_product(header.shape);
  const auto needed = numel ? checked_mul(*numel, parser.value_size()) : std::nullopt;
  if (!needed) where.fail("the shape holds more values than 64 bits can count");
  header.numel = *numel;
  check_length(*needed, in.left(), where);
  return header;
}

std::optional<std::string> name_of_array(const zip_archive& archive, const zip_member& member) {
  constexpr std::string_view suffix = ".npy";
  if (member.name.ends_with(suffix)) return member.name.substr(0, member.name.size() - suffix.size());
  std::string start(std::min<std::uint64_t>(magic.size(), member.size), '\0');
  archive.open(member)->read({reinterpret_cast<std::uint8_t*>(start.data()), start.size()});
  return start == magic ? std::optional(member.name) : std::nullopt;
}

std::string npy_header_bytes(const std::string& descr, bool by_columns, const std::vector<std::uint64_t>& shape) {
  std::string dict = "{'descr': '" + descr + "', 'fortran_order': " + (by_columns ? "True" : "False") + ", 'shape': (";
  for (std::size_t i = 0; i < shape.size(); ++i)
    dict += (i == 0 ? "" : " ") + std::to_string(shape[i]) + (i + 1 < shape.size() || i == 0 ? "," : "");
  dict += "), }";
  // The values begin at a multiple of 64 bytes. 64 dimensions of 20 digits are no longer than version 1 can say.
  constexpr std::size_t alignment = 64;
  const std::size_t fixed = magic.size() + 4;
  const std::size_t length = (fixed + dict.size() + 1 + alignment - 1) / alignment * alignment - fixed;
  dict.resize(length - 1, ' ');
  return std::string(magic) + '\1' + '\0' + static_cast<char>(length & 0xFF) + static_cast<char>(length >> 8) + dict +
         '\n';
}

std::string why_ignored(const npy_header& header) {
  if (header.object) return "an object array is a Python pickle, which can run any code; it is never unpacked";
  if (header.descr.empty()) return "a structured type";
  return header.descr;
}

std::string how_read(const npy_header& header) {
  if (!header.descr.ends_with("V2")) return "";
  return header.descr + " is read as bfloat16: numpy saves that type of ml_dtypes without its name";
}

dump_kind npy_kind() {
  return {.name = "npy",
          .globs = "*.npy",
          .begins = [](const std::string& /*path*/, std::string_view start,
                       const read_limits& /*limits*/) { return start.starts_with(magic); },
          .open = [](const std::string& path, const read_limits& /*limits*/) -> std::unique_ptr<dump_reader> {
            return std::make_unique<npy_reader>(path);
          }};
}

}  // namespace ulp::io
