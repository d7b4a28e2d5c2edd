// What columns without a meaning say in words: "overflow" in one called status, "NaN found" in one of notes.
#ifndef ULP_IO_TABLE_FIELD_WORDS_HPP
#define ULP_IO_TABLE_FIELD_WORDS_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cell_value.hpp"

namespace ulp::io {

// Whether a column is one of remarks by its name: "note", "status", "skip_reason".
[[nodiscard]] bool names_remarks(std::string_view name);

// A field that says that something was not finite, or a step was skipped.
struct said_in_field {
  enum class how : std::uint8_t { words, infinity, nan };  // the last two: the field is nothing else

  std::string path{};  // of its file, where tables were put together
  std::uint64_t line = 0;
  std::size_t row = 0;
  how by = how::words;
  std::string text{};  // shortened
};

inline constexpr std::size_t left_out_row = static_cast<std::size_t>(-1);

// The fields of one column, as they come.
class field_words {
 public:
  // Whether it says something, which keep() then takes for that of a row.
  bool see(std::string_view column, std::string_view text, const cell_value& value);
  void keep(std::uint64_t line, std::size_t row);
  // The row i becomes to[i], or is left out; `rows` are left.
  void renumber(const std::vector<std::size_t>& to, std::size_t rows);
  // Those of another table, whose rows follow so many.
  void append(const field_words& more, const std::string& path, std::size_t rows);

  // Whether it is a column of words; times and dates are none.
  [[nodiscard]] bool any(std::string_view column) const;
  // A text that is the same in each of several rows is a name or a setting; NaN alone may stand for an empty field.
  [[nodiscard]] std::vector<said_in_field> said(std::string_view column) const;

 private:
  std::vector<said_in_field> said_;
  said_in_field here_;
  std::string first_;          // text
  std::uint64_t texts_ = 0;    // fields of words
  std::uint64_t same_ = 0;     // of them those that are as the first
  std::uint64_t numbers_ = 0;  // finite ones
  std::uint64_t infinite_ = 0;
  std::uint64_t nans_ = 0;
  std::uint64_t empty_ = 0;
};

}  // namespace ulp::io

#endif
