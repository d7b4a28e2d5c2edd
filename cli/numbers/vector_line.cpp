#include "vector_line.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <ulp/formats/names.hpp>
#include <ulp/formats/random_bits.hpp>
#include <ulp/io/bytes/error.hpp>
#include <ulp/report/tables/table.hpp>

#include "command.hpp"
#include "interrupt.hpp"
#include "output.hpp"

namespace ulp::cli {
namespace {

constexpr std::size_t block_size = std::size_t{1} << 20;
constexpr std::size_t longest_line = std::size_t{1} << 16;
constexpr int flag_bits = 5;

// The value of a hexadecimal digit; not_a_digit, or what ends a field.
constexpr std::uint8_t not_a_digit = 16;
constexpr std::uint8_t blank = 17;
constexpr auto digit_values = [] {
  std::array<std::uint8_t, 256> values{};
  values.fill(not_a_digit);
  for (std::size_t i = 0; i < 10; ++i) values['0' + i] = static_cast<std::uint8_t>(i);
  for (std::size_t i = 0; i < 6; ++i) values['A' + i] = values['a' + i] = static_cast<std::uint8_t>(10 + i);
  for (const char c : {' ', '\t', '\r'}) values[static_cast<unsigned char>(c)] = blank;
  return values;
}();
std::uint8_t kind_of(char c) { return digit_values[static_cast<unsigned char>(c)]; }

int digits_of(int bits) { return (bits + 3) / 4; }

void append_hex(std::uint64_t value, int digits, std::string& out) {
  const std::size_t at = out.size();
  out.resize(at + static_cast<std::size_t>(digits));
  for (int i = digits - 1; i >= 0; --i, value >>= 4)
    out[at + static_cast<std::size_t>(i)] = "0123456789ABCDEF"[value & 15];
}

std::string_view field_at(std::string_view text) {
  std::size_t n = 0;
  while (n < text.size() && kind_of(text[n]) != blank) ++n;
  return text.substr(0, n);
}

void skip_blanks(std::string_view& text) {
  while (!text.empty() && kind_of(text.front()) == blank) text.remove_prefix(1);
}

enum class problem : std::uint8_t { none, missing, not_hexadecimal, too_large };

void skip_prefix(std::string_view& text) {
  if (text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X') && kind_of(text[2]) != blank)
    text.remove_prefix(2);
}

// Takes the next field off the text: a number below 2^64.
problem take(std::string_view& text, std::uint64_t& value) {
  skip_blanks(text);
  if (text.empty()) return problem::missing;
  skip_prefix(text);
  value = 0;
  std::uint64_t lost = 0;
  std::size_t i = 0;
  for (; i < text.size(); ++i) {
    const std::uint8_t digit = kind_of(text[i]);
    if (digit >= not_a_digit) {
      if (digit == not_a_digit) return problem::not_hexadecimal;
      break;
    }
    lost |= value >> 60;
    value = value << 4 | digit;
  }
  text.remove_prefix(i);
  return lost != 0 ? problem::too_large : problem::none;
}

// Takes the digits of a bit string: its first digit are the first four bits.
problem take_bits(std::string_view& text, vector_line& line) {
  skip_blanks(text);
  if (text.empty()) return problem::missing;
  skip_prefix(text);
  line.random_words.clear();
  std::size_t i = 0;
  for (; i < text.size(); ++i) {
    const std::uint8_t digit = kind_of(text[i]);
    if (digit == not_a_digit) return problem::not_hexadecimal;
    if (digit == blank) break;
    if (i % 8 == 0) line.random_words.push_back(0);
    line.random_words.back() |= std::uint32_t{digit} << (28 - 4 * (i % 8));
  }
  line.random_digits = i;
  text.remove_prefix(i);
  return problem::none;
}

// What is wrong with the number of fields, or nothing.
std::string wrong_count(const vector_kind& kind, std::string_view whole, line_content content) {
  std::size_t found = 0;
  for (skip_blanks(whole); !whole.empty(); skip_blanks(whole), ++found) whole.remove_prefix(field_at(whole).size());
  std::string wanted = kind.operands() == 1 ? "1 operand" : fmt::format("{} operands", kind.operands());
  std::size_t least = kind.operands();
  std::size_t most = least;
  if (content != line_content::operands) {
    if (kind.stochastic()) wanted += ", random bits";
    wanted += content == line_content::result ? ", result, flags or not" : ", result, flags";
    most += kind.stochastic() ? 3 : 2;
    least = content == line_content::result ? most - 1 : most;
  } else if (kind.stochastic()) {
    wanted += ", random bits or not";
    ++most;
  }
  if (found >= least && found <= most) return "";
  if (found == 0) return fmt::format("is empty: expected {}", wanted);
  const bool lacks_flags = content == line_content::everything && found + 1 == most;
  return fmt::format("has {} field{}, not {}: {}{}", found, found == 1 ? "" : "s",
                     least == most ? std::to_string(least) : fmt::format("{} or {}", least, most), wanted,
                     lacks_flags ? " (--ignore-flags compares results alone)" : "");
}

// A field as it can be printed on one line.
std::string printable(std::string_view field) {
  constexpr std::size_t longest = 40;
  std::string text;
  for (const char c : field.substr(0, longest))
    text += c > ' ' && c < 0x7F ? std::string{c} : fmt::format("\\x{:02X}", static_cast<unsigned char>(c));
  return field.size() > longest ? text + "..." : text;
}

// A wrong number of fields is told first: then each is taken for another.
std::string describe(problem p, const vector_kind& kind, std::string_view whole, line_content content,
                     std::string_view field, const std::string& name, const std::string& limit) {
  if (std::string count = wrong_count(kind, whole, content); !count.empty()) return count;
  return fmt::format("{} '{}' {}", name, printable(field),
                     p == problem::not_hexadecimal ? "is not hexadecimal" : limit);
}

// Bits after the last kept one that the exact result may have, at most.
int tail_bits(const vector_kind& kind, const operand_codes& operands) {
  struct extent {
    int top = 0;  // exponents of the first and of the last bit
    int last = 0;
    bool any = false;  // not zero, infinity or NaN
  };
  const auto extent_of = [&](std::size_t i) -> extent {
    const unpacked x =
        integer_operand(kind.operation).bits != 0
            ? exact_result(kind.operation, kind.to, kind.from, operands)
            : decode(operand_format(kind.operation, kind.to, kind.from, static_cast<int>(i)), operands[i]);
    if (x.kind != number_class::finite) return {};
    return {x.exponent, x.exponent - 63 + std::countr_zero(x.significand), true};
  };
  const auto product = [](const extent& x, const extent& y) -> extent {
    return {x.top + y.top + 1, x.last + y.last, x.any && y.any};
  };
  const auto sum = [](const extent& x, const extent& y) -> extent {
    if (!x.any || !y.any) return x.any ? x : y;
    return {std::max(x.top, y.top) + 1, std::min(x.last, y.last), true};
  };
  extent result = extent_of(0);
  switch (kind.operation) {
    case operation::add:
    case operation::sub: result = sum(result, extent_of(1)); break;
    case operation::rem: {
      // Less than either operand's next binade.
      const extent y = extent_of(1);
      const int top = y.any ? std::min(result.top, y.top) + 1 : result.top;
      result = sum(result, y);
      result.top = top;
      break;
    }
    case operation::mul: result = product(result, extent_of(1)); break;
    case operation::fma:
    case operation::mac: result = sum(product(result, extent_of(1)), extent_of(2)); break;
    case operation::div:
    case operation::sqrt: return 32;  // no end: what exact_probability means there
    default: break;
  }
  if (!result.any) return 0;
  if (rounds_to_integer(kind.operation)) return std::max(-result.last, 0);
  int kept = result.top - kind.to.fraction_bits;
  if (kind.to.has_subnormals()) kept = std::max(kept, kind.to.min_quantum_exponent());
  return std::max(kept - result.last, 0);
}

}  // namespace

std::string_view option_of_vectors(const vector_options& options) {
  if (!options.operation.empty()) return "--op";
  if (!options.format_name.empty()) return "--format";
  if (!options.from_name.empty()) return "--from";
  if (options.exact) return "--exact";
  rounding_text rounding = options.rounding;
  rounding.seed = 0;
  return rounding.given() ? "--rounding" : "";
}

void add_vectors_of(command& to, vector_options& options) {
  to.add("--op", &options.operation, fmt::format("{}", fmt::join(operation_names(), " ")), {.type = "OP"});
  to.add("--format", &options.format_name, "the format of the result", {.type = "F"});
  to.add("--from", &options.from_name, "the format of the operands (default: that of the result; required for convert)",
         {.type = "F"});
  to.add("--exact", &options.exact,
         "rint and to_*: raise inexact where the operand is not an integer, as TestFloat's -exact");
  to.add(
      "--nan", &options.nan,
      "canonical: every NaN that results is the one of NVIDIA's processors, all ones but the sign, 7FFF in float16 and "
      "bfloat16, and ulp verify compares its code; any: it has the operand's sign and payload, and to ulp verify "
      "every NaN is right",
      {.type = "any|canonical", .show_default = true, .one_of = {"any", "canonical"}});
  add_rounding(to, options.rounding);
}

vector_kind::vector_kind(const vector_options& options)
    : to_name(options.format_name),
      from_name(options.from_name.empty() ? options.format_name : options.from_name),
      seed(options.rounding.seed) {
  if (options.operation.empty() || options.format_name.empty())
    throw usage_error(options.operation.empty() ? "--op is required" : "--format is required");
  const auto parsed = parse_operation(options.operation);
  if (!parsed)
    throw usage_error(
        fmt::format("--op: unknown '{}': one of {}", options.operation, fmt::join(operation_names(), ", ")));
  operation = *parsed;
  if (operation == ulp::operation::convert && options.from_name.empty())
    throw usage_error("--op convert also needs --from F, the format of the operand");
  to = format_named(to_name);
  from = format_named(from_name);
  exact = options.exact;
  if (exact && !rounds_to_integer(operation))
    throw usage_error(fmt::format("--exact: {} does not round to an integer", options.operation));
  if (has_one_format(operation) && to != from)
    throw usage_error(fmt::format("--op {} has one format: remove --from", options.operation));
  if (!is_defined(operation, to, from)) {
    const bool result = !to.has_sign || !to.has_zero();
    throw usage_error(
        fmt::format("{} has no sign and no zero: convert is its only operation", result ? to_name : from_name));
  }
  rounding = options.rounding.value(to);
  if (options.nan == "canonical") {
    if (is_comparison(operation) || integer_result(operation).bits != 0 || !to.has_nan())
      throw usage_error(fmt::format("--nan canonical: no result of {} in {} is NaN", options.operation, to_name));
    canonical_nan = true;
  }
  if (is_comparison(operation) && stochastic())
    throw usage_error(fmt::format("--op {} does not round: remove --rounding", options.operation));
  if (options.rounding.is_preset() && (operation != ulp::operation::convert || from != binary32))
    note(fmt::format("{} is documented for conversions from float32; here it is {}", options.rounding.direction,
                     to_string(rounding)));
}

void draw_random(const vector_kind& kind, std::uint64_t index, vector_line& line) {
  line.random_words.clear();
  if (kind.rounding.random_bits != exact_probability) {
    line.random_words.push_back(random_bits(kind.seed, 0, index, kind.rounding.random_bits));
    return;
  }
  line.random_digits = static_cast<std::size_t>(std::max(digits_of(tail_bits(kind, line.operands)), 1));
  for (std::size_t i = 0; 8 * i < line.random_digits; ++i)
    line.random_words.push_back(random_word(kind.seed, 0, index, i));
  // Digits that are not written are zero.
  if (const std::size_t rest = line.random_digits % 8; rest != 0)
    line.random_words.back() &= ~std::uint32_t{0} << (32 - 4 * rest);
}

std::string parse_line(const vector_kind& kind, std::string_view text, line_content content, vector_line& line,
                       bool& has_random) {
  const std::string_view whole = text;
  has_random = kind.stochastic() && content != line_content::operands;
  std::string_view field;
  // Takes a field whose value has no bit outside the mask.
  const auto take_code = [&](std::uint64_t mask, std::uint64_t& value) {
    skip_blanks(text);
    field = text;
    problem p = take(text, value);
    if (p == problem::none && (value & ~mask) != 0) p = problem::too_large;
    return p;
  };
  const auto too_wide = [](int width, const std::string& name) {
    return fmt::format("does not fit {} of {}", width == 1 ? "the bit" : fmt::format("the {} bits", width), name);
  };
  for (std::size_t i = 0; i < kind.operands(); ++i) {
    const int width = kind.operand_width(i);
    if (const problem p = take_code(mask_of_bits(width), line.operands[i]); p != problem::none) [[unlikely]] {
      const bool addend = kind.operation == operation::mac && i == 2;
      return describe(p, kind, whole, content, field_at(field),
                      kind.operands() == 1 ? "operand" : fmt::format("operand {}", i + 1),
                      too_wide(width, integer_operand(kind.operation).bits != 0 ? "the integer"
                                      : addend                                  ? kind.to_name
                                                                                : kind.from_name));
    }
  }

  if (kind.stochastic()) {
    skip_blanks(text);
    if (content == line_content::operands) has_random = !text.empty();
    if (has_random) {
      const int bits = kind.rounding.random_bits;
      std::uint64_t value = 0;
      problem p = problem::none;
      if (bits == exact_probability) {
        field = text;
        p = take_bits(text, line);
      } else {
        p = take_code((std::uint64_t{1} << bits) - 1, value);
        line.random_words.assign(1, static_cast<std::uint32_t>(value));
      }
      if (p != problem::none)
        return describe(p, kind, whole, content, field_at(field), "the random number",
                        fmt::format("is not below 2^{}", bits));
    }
  }
  if (content != line_content::operands) {
    const int width = kind.result_width();
    if (const problem p = take_code(mask_of_bits(width), line.result.code); p != problem::none) [[unlikely]]
      return describe(p, kind, whole, content, field_at(field), "result",
                      too_wide(width, is_comparison(kind.operation)              ? "a comparison"
                                      : integer_result(kind.operation).bits != 0 ? "the integer"
                                                                                 : kind.to_name));
    std::uint64_t flags = 0;
    if (const problem p = take_code((1u << flag_bits) - 1, flags);
        p != problem::none && (p != problem::missing || content == line_content::everything)) [[unlikely]]
      return describe(p, kind, whole, content, field_at(field), "flags", "exceed 1F, all five flags");
    line.result.flags = static_cast<status>(flags);
  }
  skip_blanks(text);
  return text.empty() ? "" : wrong_count(kind, whole, content);
}

void append_line(const vector_kind& kind, const vector_line& line, std::string& out) {
  for (std::size_t i = 0; i < kind.operands(); ++i) {
    append_hex(line.operands[i], digits_of(kind.operand_width(i)), out);
    out += ' ';
  }
  if (kind.stochastic()) {
    if (kind.rounding.random_bits == exact_probability) {
      for (std::size_t i = 0; i < line.random_digits; ++i) {
        const std::uint32_t word = i / 8 < line.random_words.size() ? line.random_words[i / 8] : 0;
        append_hex(word >> (28 - 4 * (i % 8)) & 15, 1, out);
      }
    } else {
      append_hex(line.random_words[0], digits_of(kind.rounding.random_bits), out);
    }
    out += ' ';
  }
  append_hex(line.result.code, digits_of(kind.result_width()), out);
  out += ' ';
  append_hex(static_cast<unsigned>(line.result.flags), digits_of(flag_bits), out);
  out += '\n';
}

// ---------------------------------------------------------------------------------------------------------------------

line_reader::line_reader(const std::string& path, std::function<void()> before_waiting)
    : name_(path == "-" ? "standard input" : path),
      before_waiting_(std::move(before_waiting)),
      file_(path == "-" ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC)),
      buffer_(block_size) {
  if (file_ < 0) throw input_error(name_, "", std::strerror(errno));
}

line_reader::~line_reader() {
  if (file_ > STDIN_FILENO) close(file_);
}

void line_reader::reject(const std::string& reason) const {
  throw input_error(name_, fmt::format("line {}", number_), reason);
}

bool line_reader::read_more() {
  before_waiting_();
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  while (true) {
    const ssize_t n = read(file_, buffer_.data() + end_, buffer_.size() - end_);
    if (n < 0 && errno == EINTR && !progress::interrupted()) continue;
    if (n < 0) throw input_error(name_, "", std::string{"cannot be read: "} + std::strerror(errno));
    end_ += static_cast<std::size_t>(n);
    return n > 0;
  }
}

bool line_reader::next(std::string_view& line) {
  std::size_t searched = 0;
  while (true) {
    const char* const start = buffer_.data() + begin_;
    const std::size_t size = end_ - begin_;
    const void* const found = std::memchr(start + searched, '\n', size - searched);
    if (found != nullptr) {
      line = {start, static_cast<std::size_t>(static_cast<const char*>(found) - start)};
      begin_ += line.size() + 1;
      break;
    }
    searched = size;
    if (size > longest_line) {
      ++number_;
      reject(fmt::format("is longer than {} characters", grouped(longest_line)));
    }
    if (read_more()) continue;
    // The last line may lack its end.
    if (size == 0) return false;
    line = {buffer_.data() + begin_, size};
    begin_ += size;
    break;
  }
  ++number_;
  return true;
}

line_writer::line_writer() { text_.reserve(2 * large); }

void line_writer::flush() {
  const std::size_t written = std::fwrite(text_.data(), 1, text_.size(), stdout);
  if (written != text_.size() || std::fflush(stdout) != 0)
    throw std::runtime_error("standard output: cannot be written");
  text_.clear();
}

}  // namespace ulp::cli
