// What becomes of each array of a file, and the way of its bytes from one file to the other.
#include <ulp/io/arrays/convert.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>

#include <ulp/formats/names.hpp>
#include <ulp/formats/random_bits.hpp>
#include <ulp/io/bytes/error.hpp>

#include "arrays.hpp"
#include "bytes/grouped_notes.hpp"
#include "bytes/text.hpp"
#include "chunks.hpp"

namespace ulp {
namespace {

using namespace io;

constexpr std::array extensions{std::pair{array_file_kind::npy, std::string_view{".npy"}},
                                std::pair{array_file_kind::npz, std::string_view{".npz"}},
                                std::pair{array_file_kind::safetensors, std::string_view{".safetensors"}}};

array_file_kind kind_of_input(const std::string& path, const file_conversion_options& o) {
  const std::optional<array_file_kind> found = array_kind_by_content(path, o.limits);
  if (found && o.raw)
    throw input_error(
        path, "",
        "is a " + std::string(to_string(*found)) + " file, which says itself of what type it is: remove --dtype");
  if (o.raw) return array_file_kind::raw;
  if (found) return *found;
  // A damaged file gets the error of its own reader.
  if (const array_file_kind named = kind_of_array_file(path); named != array_file_kind::raw) return named;
  throw input_error(path, "",
                    "is not a .npy, .npz or .safetensors file; for a raw file, give the element type with --dtype");
}

std::unique_ptr<array_input> opened(const std::string& path, array_file_kind kind, const file_conversion_options& o) {
  if (o.blocks) return open_blocks(path, kind, *o.blocks, o.limits);
  if (kind == array_file_kind::raw) return open_raw(path, *o.raw, o.from);
  return open_array_file(path, kind, o.from, o.limits);
}

std::unique_ptr<array_output> output_in(array_file_kind kind, atomic_file& to, const std::vector<written_array>& all,
                                        const std::vector<std::pair<std::string, std::string>>& metadata) {
  switch (kind) {
    case array_file_kind::npy: return write_npy(to);
    case array_file_kind::npz: return write_npz(to);
    case array_file_kind::safetensors: return write_safetensors(to, all, metadata);
    case array_file_kind::raw: break;
  }
  return write_raw(to);
}

bool holds_one(array_file_kind kind) { return kind == array_file_kind::npy || kind == array_file_kind::raw; }

bool float32_holds(const format& f) {
  return f.precision() <= binary32.precision() && f.last_exponent() <= binary32.emax() &&
         f.min_quantum_exponent() >= binary32.min_quantum_exponent();
}

std::string place_of(const stored_array& array) { return "array " + in_quotes(array.name); }

// Of two codes in a byte: the dimension that runs fastest is half as long.
std::vector<std::uint64_t> packed_shape(const std::string& path, const stored_array& array) {
  std::vector<std::uint64_t> shape = array.shape;
  if (shape.empty()) return {1};
  std::uint64_t& fastest = array.by_columns ? shape.front() : shape.back();
  if (fastest % 2 != 0 && fastest != array.numel && array.numel != 0)
    throw input_error(path, place_of(array),
                      "its rows have " + std::to_string(fastest) +
                          " elements, so that a byte would hold codes of two rows: leave out --packed, "
                          "or write a raw file");
  fastest = fastest / 2 + fastest % 2;
  return shape;
}

}  // namespace

array_file_kind kind_of_array_file(std::string_view path) noexcept {
  const auto equal_but_for_case = [](char small, char any) {
    return any == small || (small >= 'a' && small <= 'z' && any == small - 'a' + 'A');
  };
  for (const auto& [kind, extension] : extensions)
    if (path.size() >= extension.size() &&
        std::ranges::equal(extension, path.substr(path.size() - extension.size()), equal_but_for_case))
      return kind;
  return array_file_kind::raw;
}

std::string_view to_string(array_file_kind kind) noexcept {
  for (const auto& [of, extension] : extensions)
    if (of == kind) return extension;
  return "raw";
}

struct file_conversion::state {
  std::string path;
  file_conversion_options options;
  array_file_kind from;
  array_file_kind into;
  std::unique_ptr<array_input> input;
  stored_elements elements;  // of the output
  std::vector<array_conversion> arrays;
  std::vector<std::size_t> order;      // of those that are written, as they are
  std::vector<written_array> written;  // in that order
  std::vector<std::string> notes;
  std::uint64_t bytes = 0;

  state(const std::string& input_path, const std::string& output, file_conversion_options given)
      : path(input_path), options(std::move(given)), from(kind_of_input(path, options)) {
    into = output == "-" ? from : kind_of_array_file(output);
    check_options();
    elements = options.values   ? stored_elements{.of = binary32}
               : options.packed ? stored_elements{.of = options.to, .bytes = 0}
                                : stored_elements{.of = options.to, .bytes = bytes_of_code(options.to)};
    input = opened(path, from, options);
    expect_metadata();
    choose();
    check_choice();
    arrange();
  }

  void check_options() const {
    const auto fail = [&](const std::string& reason) { throw input_error(path, "", reason); };
    const std::string to = to_string(options.to);
    if (options.to.width() > 32)
      fail("codes of " + to + " have " + std::to_string(options.to.width()) + " bits: files of codes have at most 32");
    if (options.values && !float32_holds(options.to))
      fail("float32 does not hold all numbers of " + to + ": leave out --values, and write its codes");
    if (options.packed && options.to.width() > 4)
      fail("codes of " + to + " have " + std::to_string(options.to.width()) + " bits: two in a byte have at most 4");
    if (options.from && options.from->width() > 32)
      fail("--from: codes of " + to_string(*options.from) + " have " + std::to_string(options.from->width()) +
           " bits; at most 32 are read");
    if (options.blocks && from == array_file_kind::raw)
      fail("blocks are codes and scales, which a raw file does not hold");
    if (!options.raw) return;
    const bool numbers = *options.raw == raw_type::f32 || *options.raw == raw_type::f64;
    if (numbers && options.from) fail("elements of --dtype f32 and f64 are numbers, not codes: remove --from");
    if (!numbers && !options.from) fail("elements of --dtype u8, u16 and u32 are codes: say of which format by --from");
    const int bits = *options.raw == raw_type::u8 ? 8 : *options.raw == raw_type::u16 ? 16 : 32;
    if (options.from && options.from->width() > bits)
      fail("codes of " + to_string(*options.from) + " have " + std::to_string(options.from->width()) +
           " bits, more than elements of --dtype u" + std::to_string(bits));
  }

  // Which arrays are converted, copied, left out.
  void choose() {
    const auto is_converted = [&](const stored_array& array) {
      return array.numbers && (!options.selects || options.selects(array.name));
    };
    for (const stored_array& array : input->arrays()) {
      if (into == array_file_kind::npz || into == array_file_kind::safetensors) check_name(path, "", array.name);
      // Whoever reads the output would multiply by its scales once more.
      const bool is_used_up = array.goes_into && is_converted(input->arrays()[*array.goes_into]);
      const bool converted = is_converted(array) && !is_used_up;
      arrays.push_back({.name = array.name,
                        .from = array.type,
                        .to = converted ? type_in(into, elements) : array.type,
                        .shape = array.shape,
                        .numel = array.numel,
                        .converted = converted,
                        .left_out = is_used_up || (!converted && (from != into || holds_one(into) || options.blocks))});
    }
  }

  void check_choice() {
    std::vector<std::string> converted;
    std::vector<std::string> copied;
    std::vector<std::string> left_out;
    grouped_notes read_so;
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      const array_conversion& a = arrays[i];
      if (a.converted) converted.push_back(in_quotes(a.name));
      if (const std::string& how = input->arrays()[i].how; a.converted && !how.empty()) read_so.add(a.name, how);
      // What is not selected is what was asked for.
      const bool is_used_up = input->arrays()[i].goes_into && arrays[*input->arrays()[i].goes_into].converted;
      const bool is_noted =
          !a.converted && !is_used_up && !options.blocks && (!input->arrays()[i].numbers || a.left_out);
      if (is_noted) (a.left_out ? left_out : copied).push_back(in_quotes(a.name) + " (" + a.from + ")");
    }
    if (converted.empty()) refuse_nothing();
    if (holds_one(into) && converted.size() > 1)
      throw input_error(path, "",
                        "holds " + std::to_string(converted.size()) + " arrays that can be converted, and a " +
                            std::string(to_string(into)) +
                            " file holds one: name the output .npz or .safetensors, or " +
                            "choose one by --tensor, of " + joined(converted));
    if (options.from && std::ranges::none_of(input->arrays(), &stored_array::by_from))
      notes.push_back("--from is not used: there are no unsigned integers of " +
                      std::to_string(8 * bytes_of_code(*options.from)) + " bits, which codes of " +
                      to_string(*options.from) + " are");
    for (const std::string& note : read_so.all()) notes.push_back(note);
    if (!copied.empty()) notes.push_back("copied as they are: " + joined(copied));
    if (!options.from && !copied.empty() && !said_format().empty()) notes.push_back(said_format());
    if (!left_out.empty())
      notes.push_back("left out, since a " + std::string(to_string(from)) + " file becomes a " +
                      std::string(to_string(into)) + " file: " + joined(left_out));
  }

  // What an earlier conversion left in the metadata; empty where none did.
  [[nodiscard]] std::string said(std::string_view key) const {
    for (const auto& [name, value] : input->metadata())
      if (name == key) return value;
    return "";
  }
  [[nodiscard]] std::string said_format() const {
    const std::string format = said("ulp.format");
    if (format.empty()) return "";
    return "its metadata says that it holds numbers of " + format + ": if integers are their codes, give --from " +
           format;
  }

  // Codes are not read against what the file says of them.
  void expect_metadata() const {
    if (!options.from) return;
    const std::string format = said("ulp.format");
    if (said("ulp.holds") == "packed codes")
      throw input_error(path, "",
                        "its metadata says that it holds codes of " + format +
                            ", two in a byte, which are not read: write it without --packed");
    if (said("ulp.holds") == "codes" && format != to_string(*options.from))
      throw input_error(path, "",
                        "its metadata says that it holds codes of " + format + ", not of " + to_string(*options.from) +
                            ": give --from " + format);
  }

  // By what the numbers were multiplied in all, as far as the metadata tells.
  [[nodiscard]] double scale_in_all() const {
    const std::string before = said("ulp.scale");
    double scale = 1;
    const auto [end, error] = std::from_chars(before.data(), before.data() + before.size(), scale);
    const bool known = error == std::errc{} && end == before.data() + before.size() && scale > 0;
    return options.how.scale * (known ? scale : 1);
  }

  [[noreturn]] void refuse_nothing() const {
    if (options.selects)
      throw input_error(path, "",
                        "--tensor selects nothing that can be converted" + what_there_is() +
                            (options.from || said_format().empty() ? "" : "; " + said_format()));
    if (options.from)
      throw input_error(path, "",
                        "holds neither floating-point numbers nor unsigned integers of " +
                            std::to_string(8 * bytes_of_code(*options.from)) + " bits, which codes of " +
                            to_string(*options.from) + " are" + what_there_is());
    const std::string said = said_format();
    throw input_error(path, "",
                      "holds no floating-point numbers" + what_there_is() + "; " +
                          (said.empty() ? "if integers are codes, say of which format by --from" : said));
  }

  [[nodiscard]] std::string what_there_is() const {
    std::vector<std::string> all;
    for (const stored_array& array : input->arrays()) all.push_back(in_quotes(array.name) + " (" + array.type + ")");
    return all.empty() ? ": it is empty" : ": it holds " + joined(all);
  }

  // What is written, in which order. In a .safetensors wider elements come first, so that all are aligned.
  void arrange() {
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      if (arrays[i].left_out) continue;
      order.push_back(i);
      const stored_array& array = input->arrays()[i];
      bytes += arrays[i].converted ? array.numel * static_cast<std::uint64_t>(array.numbers->bytes) : array.bytes_as_is;
    }
    const auto width = [&](std::size_t i) {
      const std::uint64_t numel = std::max<std::uint64_t>(1, arrays[i].numel);
      return arrays[i].converted ? bytes_of(numel) / numel : input->arrays()[i].bytes_as_is / numel;
    };
    if (into == array_file_kind::safetensors)
      std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return width(a) > width(b); });
    for (const std::size_t i : order) written.push_back(written_as(i));
  }

  // Of so many elements in the output.
  [[nodiscard]] std::uint64_t bytes_of(std::uint64_t numel) const {
    return elements.bytes == 0 ? numel / 2 + numel % 2 : numel * static_cast<std::uint64_t>(elements.bytes);
  }

  [[nodiscard]] written_array written_as(std::size_t i) const {
    const stored_array& array = input->arrays()[i];
    if (!arrays[i].converted)
      return {.name = array.copied ? array.copied->first : array.name,
              .type = array.type,
              .shape = array.copied ? array.copied->second : array.shape,
              .bytes = array.bytes_as_is,
              .copied = true,
              .member = array.member};
    if (into == array_file_kind::safetensors && array.by_columns)
      throw input_error(path, place_of(array),
                        "is stored by columns (Fortran order), which a .safetensors cannot say: write .npy or .npz, or "
                        "save numpy.ascontiguousarray of it");
    if (into == array_file_kind::safetensors && array.name == "__metadata__")
      throw input_error(path, place_of(array), "has the name that metadata has in a .safetensors: write .npz");
    const bool in_pairs = options.packed && into != array_file_kind::raw;
    return {.name = array.name,
            .type = arrays[i].to,
            .shape = in_pairs ? packed_shape(path, array) : array.shape,
            .by_columns = array.by_columns,
            .bytes = bytes_of(array.numel)};
  }

  // The metadata of the input, and what was done.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> metadata() const {
    auto all = input->metadata();
    std::erase_if(all, [](const auto& entry) { return entry.first.starts_with("ulp."); });
    all.emplace_back("ulp.format", to_string(options.to));
    all.emplace_back("ulp.holds", options.values ? "values" : options.packed ? "packed codes" : "codes");
    all.emplace_back("ulp.rounding", in_full(options.how.rounding));
    all.emplace_back("ulp.scale", decimal_text(scale_in_all()));
    if (options.how.rounding.direction == direction::stochastic)
      all.emplace_back("ulp.seed", std::to_string(options.how.random.seed));
    return all;
  }

  void write(atomic_file& to, const std::function<void(std::uint64_t)>& advance) {
    if (into == array_file_kind::npz && !to.can_go_back())
      throw input_error(path, "", "a .npz cannot be written to standard output or a pipe: name a file");
    const auto out = output_in(into, to, written, metadata());
    chunk_converter chunks(options.to, elements);
    for (std::size_t n = 0; n < order.size(); ++n) {
      const std::size_t i = order[n];
      out->begin(written[n]);
      if (arrays[i].converted)
        convert(i, chunks, *out, advance);
      else
        copy(i, *out, advance);
      out->end();
    }
    out->finish();
  }

  void convert(std::size_t i, chunk_converter& chunks, array_output& out,
               const std::function<void(std::uint64_t)>& advance) {
    const stored_array& array = input->arrays()[i];
    conversion how = options.how;
    how.random.stream = stream_of(array.name, 0);
    how.random.first = 0;
    chunks.start(*array.numbers, how);
    const auto in = input->open(i);
    for (std::uint64_t left = array.numel; left > 0;) {
      const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(left, chunk_elements));
      const auto bytes_in = chunks.input(size);
      in->read(bytes_in);
      const auto bytes_out = chunks.convert();
      if (const auto beyond = chunks.first_beyond_code())
        throw input_error(path, place_of(array) + ", element " + std::to_string(*beyond),
                          "has bits above the " + std::to_string(array.numbers->of.width()) + " of a code of " +
                              to_string(array.numbers->of) + ": is --from right?");
      out.write(bytes_out);
      left -= size;
      advance(bytes_in.size());
    }
    arrays[i].counts = chunks.counts();
    arrays[i].bias = chunks.bias();
  }

  void copy(std::size_t i, array_output& out, const std::function<void(std::uint64_t)>& advance) const {
    constexpr std::uint64_t chunk = 1 << 20;
    const auto in = input->open_as_is(i);
    std::vector<std::uint8_t> buffer(std::min(in->left(), chunk));
    while (in->left() > 0) {
      const auto part = std::span(buffer).first(std::min<std::uint64_t>(buffer.size(), in->left()));
      in->read(part);
      out.write(part);
      advance(part.size());
    }
  }
};

file_conversion::file_conversion(const std::string& input, const std::string& output, file_conversion_options options)
    : state_(std::make_unique<state>(input, output, std::move(options))) {}

file_conversion::~file_conversion() = default;

array_file_kind file_conversion::input_kind() const noexcept { return state_->from; }
array_file_kind file_conversion::output_kind() const noexcept { return state_->into; }
const std::vector<array_conversion>& file_conversion::arrays() const noexcept { return state_->arrays; }
const std::vector<std::string>& file_conversion::notes() const noexcept { return state_->notes; }
std::uint64_t file_conversion::bytes() const noexcept { return state_->bytes; }

void file_conversion::write(atomic_file& to, const std::function<void(std::uint64_t)>& advance) {
  state_->write(to, advance);
}

}  // namespace ulp
