// Lines of a text, plain or gzip-compressed, of a file or standard input. Needs no more memory than its longest line.
#ifndef ULP_IO_BYTES_LINES_HPP
#define ULP_IO_BYTES_LINES_HPP

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <ulp/io/bytes/limits.hpp>

namespace ulp::io {

class text_input;

class line_reader {
 public:
  // "-" is standard input.
  explicit line_reader(const std::string& path, const read_limits& limits = {});
  line_reader(line_reader&&) noexcept;
  line_reader& operator=(line_reader&&) noexcept;
  ~line_reader();

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  // The text up to the first line break, as far as it is at hand (64 KiB); nothing is consumed.
  [[nodiscard]] std::string_view peek();
  [[nodiscard]] bool at_end();

  // Lines without text are passed and counted, those at hand.
  void skip_blank_lines();

  // From here on a carriage return ends a line too, as in the output of progress bars.
  void break_at_returns() noexcept { breaks_at_returns_ = true; }

  // Without its break; false at the end. Throws where a line is longer than 1 MiB: `kind` says what the file then is not.
  [[nodiscard]] bool next(std::string& into, std::string_view kind);

  // Of the line read last, from 1 on; carriage returns do not count.
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }

  // Whether that line had a break; the last line of a file that was cut has none.
  [[nodiscard]] bool ended() const noexcept { return ended_; }

  [[noreturn]] void fail(const std::string& reason) const;  // of that line

 private:
  bool fill();

  std::string path_;
  std::unique_ptr<text_input> input_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;  // of the unread part of the buffer
  std::size_t end_ = 0;
  std::uint64_t number_ = 0;
  bool ended_ = false;
  bool ended_line_ = true;  // by a line feed
  bool breaks_at_returns_ = false;
};

// A reader at the first line that has any text.
[[nodiscard]] line_reader first_text_of(const std::string& path, const read_limits& limits);

}  // namespace ulp::io

#endif
