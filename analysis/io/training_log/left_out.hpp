// What a log says without a record: that lines of it were left out, or that the run goes on in lines which nothing here reads.
#ifndef ULP_IO_TRAINING_LOG_LEFT_OUT_HPP
#define ULP_IO_TRAINING_LOG_LEFT_OUT_HPP

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dialects/record.hpp"

namespace ulp::io {

// "...", "[...]", "<snip>", "... many lines omitted ...": whoever quoted the log left lines out there.
[[nodiscard]] bool leaves_lines_out(std::string_view line);

// Such lines between records.
class quoted_gaps {
 public:
  void line(std::string_view text, std::uint64_t number);
  // What to doubt for the first of them; empty where there is none.
  [[nodiscard]] std::string doubt(std::span<const scale_record> records) const;

 private:
  std::vector<std::pair<std::uint64_t, std::string>> all_;
};

// Lines with several decimals behind the last record.
class measured_lines {
 public:
  void line(std::string_view text, std::uint64_t number);
  // What to doubt of a run whose last step is lost; empty where hardly any such line follows.
  [[nodiscard]] std::string doubt(std::span<const scale_record> records) const;

 private:
  std::deque<std::uint64_t> last_;  // so many at most as are counted
};

}  // namespace ulp::io

#endif
