// A line of a log as it was printed: colours, labels of ranks, blanks.
#ifndef ULP_IO_TRAINING_LOG_RAW_LINE_HPP
#define ULP_IO_TRAINING_LOG_RAW_LINE_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ulp::io {

// Without colours and cursor movements, however their escape character is written.
void remove_escapes(std::string_view raw, std::string& into);

// What stands in front of a line and says whose it is: how many characters, of which `name` is the rank.
struct line_label {
  std::size_t length = 0;
  std::string_view name;
};
[[nodiscard]] line_label label_of(std::string_view line) noexcept;
// The second of the day that a time stamp in front of the line says, "2021-05-01 10:00:10 | ", "[10:00:10] "; -1 without one.
[[nodiscard]] std::int64_t second_of(std::string_view line) noexcept;
// That of the last date and time in a text, however blanks are left out of it; -1 without one.
[[nodiscard]] std::int64_t last_second_in(std::string_view text) noexcept;
// Where the label of another rank begins behind the first, where line breaks were lost: "... 13.99%[rank1]:[titan] ...".
[[nodiscard]] std::size_t next_label(std::string_view line, std::size_t from) noexcept;

// How many columns of a terminal it takes.
[[nodiscard]] std::size_t columns_of(std::string_view line) noexcept;
// Whether it may go on with what a terminal of a usual width broke the line before at: that is as long as the terminal is wide,
// no line is longer, neither is a rule of one character, and this one does not begin as it does.
[[nodiscard]] bool may_be_rest_of(std::string_view line, std::string_view before, std::size_t widest) noexcept;

// Whether a line ends inside of a word, a number or a key and its value, by what the next one begins with. Two numbers that touch
// are one only where what follows is more of the record: "2.9", "1 | norm 1.5", but not "2.91", "77 workers alive".
[[nodiscard]] bool goes_on_in(std::string_view line, std::string_view before) noexcept;

// A line without blanks; one stays between two digits.
struct blankless {
  std::string text;
  std::vector<std::size_t> blanks;  // offsets in front of which some were
};
[[nodiscard]] blankless without_blanks(std::string_view line);

}  // namespace ulp::io

#endif
