// CSV with a header line, plain or gzip-compressed, read line by line; fields may also be parted by semicolons,
// tabs, strokes or any number of blanks. Numbers do not depend on the locale.
#ifndef ULP_IO_CSV_CSV_HPP
#define ULP_IO_CSV_CSV_HPP

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bytes/lines.hpp"

namespace ulp::io {

class csv_reader {
 public:
  struct column {
    std::size_t index = 0;
    std::string name;
  };

  // Reads the header line; "-" is standard input.
  explicit csv_reader(const std::string& path, const read_limits& limits = {})
      : csv_reader(first_text_of(path, limits)) {}
  explicit csv_reader(line_reader lines, char separator = ',');

  [[nodiscard]] const std::string& path() const noexcept { return lines_.path(); }
  [[nodiscard]] const std::vector<std::string>& header() const noexcept { return header_; }
  // A column by its name; throws where two have it, `require` also where none has.
  [[nodiscard]] std::optional<column> find(std::string_view name) const;
  // The first of several names that is there.
  [[nodiscard]] std::optional<column> find_any(std::initializer_list<std::string_view> names) const;
  [[nodiscard]] column require(std::string_view name) const;

  // Leaves what was not read yet, and the line that was read last, to another reader.
  [[nodiscard]] std::pair<line_reader, std::string> release() && { return {std::move(lines_), std::move(line_)}; }

  // Where blanks part the fields: those of the last column may hold some, or be missing.
  void last_takes_rest() noexcept { last_takes_rest_ = true; }

  // The next row that is not blank, nor a rule between strokes; false at the end.
  [[nodiscard]] bool next();
  [[nodiscard]] std::uint64_t line() const noexcept { return lines_.number(); }
  [[nodiscard]] std::size_t field_count() const noexcept { return field_count_; }
  // Whether the row is the last and has no line break.
  [[nodiscard]] bool is_cut() const noexcept { return !lines_.ended(); }
  [[nodiscard]] bool repeats_header() const;

  // Fields of the row; each throws where the field is missing or is not what is asked for.
  [[nodiscard]] const std::string& text(const column& at) const;
  [[nodiscard]] bool is_blank(const column& at) const;
  [[nodiscard]] double number(const column& at) const;  // nan and inf too
  [[nodiscard]] std::int64_t integer(const column& at) const;
  [[nodiscard]] std::uint64_t count(const column& at) const;
  [[nodiscard]] bool flag(const column& at) const;  // 0, 1, true, false
  // A step's number; throws unless it is above `previous`, where there is one.
  [[nodiscard]] std::int64_t step(const column& at, std::optional<std::int64_t> previous) const;

  [[noreturn]] void fail(const std::string& reason) const;  // of the line
  [[noreturn]] void fail(const column& at, const std::string& reason) const;

 private:
  bool read_line();
  void split();
  void split_at_blanks();

  line_reader lines_;
  char separator_;
  bool last_takes_rest_ = false;
  std::string line_;
  std::vector<std::string> header_;
  std::vector<std::string> fields_;  // of the row; those from field_count_ on are left over
  std::size_t field_count_ = 0;
};

// A line drawn between rows, as Markdown and psql have them: "|---|---|", "------+------".
[[nodiscard]] bool is_rule(std::string_view line) noexcept;

// Without blanks at both ends.
[[nodiscard]] std::string_view trimmed(std::string_view text) noexcept;

}  // namespace ulp::io

#endif
