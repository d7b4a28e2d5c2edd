// What looks like a record of a step, wherever it is: a log of which such a thing is not read may not be called healthy.
#ifndef ULP_IO_TRAINING_LOG_UNREAD_HPP
#define ULP_IO_TRAINING_LOG_UNREAD_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dialects/record.hpp"

namespace ulp::io {

// A word that only records have, with the number that it has there: a loss, a norm, a loss scale, an overflow.
struct record_sign {
  std::size_t offset = 0;
  std::uint64_t line = 0;
  std::uint8_t word = 0;
  bool is_taken = false;  // by a record

  [[nodiscard]] bool is_overflow() const noexcept;
};

// Adds the signs in the text from an offset on, which is the beginning of a line.
void add_signs(const record_text& text, std::size_t from, std::uint64_t line, std::vector<record_sign>& to);

// Signs that no record took, by lines: a line with a loss and a norm is one record, one with two losses is two.
class unread_records {
 public:
  // Signs of one line one after the other.
  void add(const record_sign& sign);

  [[nodiscard]] std::uint64_t count() const noexcept { return count_ + of_line(); }
  [[nodiscard]] std::uint64_t first_line() const noexcept { return first_line_; }

 private:
  static constexpr std::size_t kinds = 4;

  [[nodiscard]] std::uint64_t of_line() const noexcept;

  std::uint64_t count_ = 0;  // of lines before the last
  std::uint64_t first_line_ = 0;
  std::uint64_t line_ = 0;
  std::uint64_t of_kind_[kinds]{};
};

// Lines that tell of an overflow in words, "Loss is nan, stopping training", with no record between them: see overflow_words.hpp.
struct nonfinite_words {
  std::uint64_t line = 0;  // the first
  std::uint64_t count = 1;
  std::string text;  // of the first, shortened
};

// Those that no record tells: the line itself has none, and those before and after are of finite steps. Records by lines.
[[nodiscard]] std::vector<nonfinite_words> untold(std::span<const nonfinite_words> all,
                                                  std::span<const scale_record> records);

}  // namespace ulp::io

#endif
