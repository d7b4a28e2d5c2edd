// Finds the records of all dialects in the text of a training log.
#ifndef ULP_IO_TRAINING_LOG_SCANNER_HPP
#define ULP_IO_TRAINING_LOG_SCANNER_HPP

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dialects/record.hpp"
#include "unread.hpp"

namespace ulp::io {

// Of bare steps that go on as expected, the first two of a row and the last tell as much as all of them: no others are kept.
void add_compactly(std::vector<scale_record>& to, scale_record record);

// Takes lines as they come, and puts each rank's together: "[rank3]:", "[default3]:", "3:", "host:" in front of a line
// say whose it is. A line may hold several records, one after the other. Memory grows with the number of records only.
class record_scanner {
 public:
  void line(std::string_view raw, std::uint64_t number);
  // The end of the log; `cut` where its last line has no break.
  void finish(bool cut);
  // In the order of the lines.
  [[nodiscard]] std::vector<scale_record> take();
  // What looked like a record and was not read as one, after finish().
  [[nodiscard]] const unread_records& unread() const noexcept { return unread_; }
  // The names of scale_record::label.
  [[nodiscard]] std::vector<std::string> ranks() const;
  // Lines that say in words that something was not finite.
  [[nodiscard]] const std::vector<nonfinite_words>& nonfinite() const noexcept { return nonfinite_; }

 private:
  // A line of a layout: from where it begins to the words that it is found by, nothing else does.
  struct found_layout {
    std::size_t begin = 0;
    std::size_t words = 0;
  };
  struct rank_text {
    record_text text;
    std::size_t scanned = 0;
    std::vector<record_sign> signs{};                 // in the text, ascending
    std::vector<found_layout> found{};                // in the text, by where they begin
    std::map<std::uint64_t, std::int64_t> seconds{};  // of the lines in the text that have a time stamp
  };
  void take_first();
  void join(std::string& text, std::uint64_t number);
  [[nodiscard]] bool is_rest(std::string_view text, std::uint64_t number) const;
  void whole_line(std::string_view all, std::uint64_t number);
  void add(rank_text& to, std::string_view line, std::uint64_t number);
  void take(rank_text& from, const record_match& m);
  void note_words(std::string_view line, std::uint64_t number);
  void labelled_line(std::string_view text, std::uint64_t number);
  void scan(rank_text& from, std::uint32_t label, bool last);
  void drop(rank_text& from, std::size_t offset);
  void keep(scale_record record);

  std::map<std::string, std::uint32_t, std::less<>> labels_;
  std::vector<rank_text> texts_;
  std::vector<scale_record> records_;
  std::string cleaned_;
  std::string held_;  // the last line, which may go on in the next
  std::uint64_t held_number_ = 0;
  std::size_t widest_ = 0;   // of the lines so far, in columns
  std::size_t as_wide_ = 0;  // how many are
  bool knows_width_ = false;
  std::vector<std::pair<std::string, std::uint64_t>> first_;
  unread_records unread_;
  std::vector<nonfinite_words> nonfinite_;
  std::uint64_t kept_ = 0;           // records so far
  std::uint64_t kept_at_words_ = 0;  // at the last of nonfinite_
};

}  // namespace ulp::io

#endif
