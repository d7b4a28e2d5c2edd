// The line of Berkeley TestFloat that eval, vectors and verify share: operands, the random bits where rounding is
// stochastic, result, flags; upper-case hexadecimal, as many digits as the format's codes have.
//   3C00 3C01 4000 01
// Read leniently: lower case, a leading 0x, any blanks, missing leading zeros, CR LF.
#ifndef ULP_CLI_VECTOR_LINE_HPP
#define ULP_CLI_VECTOR_LINE_HPP

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <ulp/formats/operation.hpp>

#include "options.hpp"

namespace ulp::cli {

struct vector_options {
  std::string operation;
  std::string format_name;
  std::string from_name;  // empty: format_name
  rounding_text rounding;
  bool exact = false;
  std::string nan = "any";
};
void add_vectors_of(command& to, vector_options& options);
// One that was given, but --seed, or "".
[[nodiscard]] std::string_view option_of_vectors(const vector_options& options);

// What lines are about.
struct vector_kind {
  ulp::operation operation = ulp::operation::add;
  format to;
  format from;
  std::string to_name;
  std::string from_name;
  ulp::rounding rounding;
  std::uint64_t seed = 0;
  bool exact = false;          // rounding to an integer raises inexact
  bool canonical_nan = false;  // a result that is NaN is canonical_nan_code(to), and no other NaN is

  // Throws usage_error, also where the operation is not defined between the formats.
  explicit vector_kind(const vector_options& options);

  [[nodiscard]] bool stochastic() const { return rounding.direction == direction::stochastic; }
  [[nodiscard]] std::size_t operands() const { return static_cast<std::size_t>(operand_count(operation)); }
  [[nodiscard]] int operand_width(std::size_t i) const {
    return ulp::operand_width(operation, to, from, static_cast<int>(i));
  }
  [[nodiscard]] int result_width() const { return ulp::result_width(operation, to); }
};

struct vector_line {
  operand_codes operands{};
  // Stochastic only. The value of N bits is random_words[0]; of exact_probability the words are as random_input takes
  // them, and random_digits how many hexadecimal digits of them are written.
  std::vector<std::uint32_t> random_words;
  std::size_t random_digits = 0;
  encoded result;

  [[nodiscard]] random_input random(const vector_kind& kind) const {
    if (!kind.stochastic()) return {};
    if (kind.rounding.random_bits == exact_probability) return random_input{std::span{random_words}};
    return random_words[0];
  }
};

// The NaN that NVIDIA's processors give for every NaN, measured for 16, 8 and, in 32 bits, 19-bit formats: all ones but
// the sign. Precondition: f.has_nan().
[[nodiscard]] constexpr std::uint64_t canonical_nan_code(const format& f) noexcept {
  return f.nan_is_negative_zero() ? f.nan_code() : f.magnitude_mask();
}

// The result of a line's operands with its random bits. Rounding to integers raises inexact, NaNs keep their payload.
[[nodiscard]] inline encoded full_result_of(const vector_kind& kind, const vector_line& line) {
  return evaluate(kind.operation, kind.to, kind.from, line.operands, kind.rounding, line.random(kind));
}

// That as a line has it.
[[nodiscard]] inline encoded as_written(const vector_kind& kind, const encoded& full) {
  encoded result = kind.exact ? full : without_inexact(kind.operation, full);
  if (kind.canonical_nan && decode(kind.to, result.code).kind == number_class::nan)
    result.code = code{canonical_nan_code(kind.to)};
  return result;
}

[[nodiscard]] inline encoded result_of(const vector_kind& kind, const vector_line& line) {
  return as_written(kind, full_result_of(kind, line));
}

// Draws the random bits of a line, numbered from 0 on: random_bits(seed, 0, index, N); of exact_probability word i is
// random_word(seed, 0, index, i), and there are as many as the exact result can need.
void draw_random(const vector_kind& kind, std::uint64_t index, vector_line& line);

// What a line has to hold.
enum class line_content : std::uint8_t {
  operands,  // and random bits, if it likes
  result,    // everything, or everything but the flags, which are then none
  everything
};

// Reads a line. Returns what is wrong with it, or nothing; `has_random` tells whether there were random bits.
[[nodiscard]] std::string parse_line(const vector_kind& kind, std::string_view text, line_content content,
                                     vector_line& line, bool& has_random);

void append_line(const vector_kind& kind, const vector_line& line, std::string& out);

// A file, or standard input, line by line, in big blocks. A file of lines without end is rejected.
class line_reader {
 public:
  // "-" is standard input. before_waiting is called before each read. Throws input_error.
  explicit line_reader(
      const std::string& path, std::function<void()> before_waiting = [] {});
  ~line_reader();
  line_reader(const line_reader&) = delete;
  line_reader& operator=(const line_reader&) = delete;

  // The next line without its end, valid until the next call; false after the last. Throws input_error.
  bool next(std::string_view& line);
  // Of the line that next gave, from 1 on.
  [[nodiscard]] std::uint64_t number() const { return number_; }
  // For people.
  [[nodiscard]] const std::string& name() const { return name_; }
  // Throws input_error that names the file and the line.
  [[noreturn]] void reject(const std::string& reason) const;

 private:
  bool read_more();

  std::string name_;
  std::function<void()> before_waiting_;
  int file_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;  // of what was not given out yet
  std::size_t end_ = 0;
  std::uint64_t number_ = 0;
};

// Standard output through a large buffer, whose text is appended to.
class line_writer {
 public:
  line_writer();
  std::string& text() { return text_; }
  void flush_if_large() {
    if (text_.size() > large) flush();
  }
  // Throws std::runtime_error.
  void flush();

 private:
  static constexpr std::size_t large = std::size_t{1} << 18;
  std::string text_;
};

}  // namespace ulp::cli

#endif
