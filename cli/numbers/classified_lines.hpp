// Lines of test vectors by class, all of them and those that differ.
#ifndef ULP_CLI_CLASSIFIED_LINES_HPP
#define ULP_CLI_CLASSIFIED_LINES_HPP

#include <cstdint>
#include <string>

#include "coverage.hpp"
#include "vector_line.hpp"

namespace ulp::cli {

// To find a line's classes takes as long as to check it. So of a regular file this begins with the first line that
// differs, and those before it are read again; what comes from a pipe is there only once, and classified as it comes.
class classified_lines {
 public:
  // `always`: also where no line differs.
  classified_lines(const vector_kind& kind, std::string path, bool always);

  // In the order of the lines; `full` is full_result_of the line.
  void agrees(const vector_line& line, const encoded& full) {
    ++lines_;
    if (classifies_) all_.add(classes(line, full));
  }
  // Throws input_error where the file cannot be read again.
  class_set differs(const vector_line& line, const encoded& full);

  [[nodiscard]] const coverage& all() const { return all_; }
  [[nodiscard]] const coverage& differing() const { return differing_; }

 private:
  [[nodiscard]] class_set classes(const vector_line& line, const encoded& full) const {
    return classes_of(kind_.operation, kind_.to, kind_.from, line.operands, kind_.rounding, full);
  }
  void read_again();

  const vector_kind& kind_;
  std::string path_;
  bool classifies_;
  std::uint64_t lines_ = 0;
  coverage all_;
  coverage differing_;
};

}  // namespace ulp::cli

#endif
