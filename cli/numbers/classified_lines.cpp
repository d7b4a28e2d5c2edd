#include "classified_lines.hpp"

#include <filesystem>
#include <system_error>
#include <utility>

namespace ulp::cli {
namespace {

bool can_be_read_again(const std::string& path) {
  std::error_code error;
  return path != "-" && std::filesystem::is_regular_file(path, error);
}

}  // namespace

classified_lines::classified_lines(const vector_kind& kind, std::string path, bool always)
    : kind_(kind), path_(std::move(path)), classifies_(always || !can_be_read_again(path_)) {}

class_set classified_lines::differs(const vector_line& line, const encoded& full) {
  if (!classifies_) read_again();
  ++lines_;
  const class_set found = classes(line, full);
  all_.add(found);
  differing_.add(found);
  return found;
}

void classified_lines::read_again() {
  line_reader lines(path_);
  vector_line line;
  std::string_view text;
  while (lines.number() < lines_ && lines.next(text)) {
    bool has_random = false;
    if (const std::string problem = parse_line(kind_, text, line_content::result, line, has_random); !problem.empty())
      lines.reject(problem);
    all_.add(classes(line, full_result_of(kind_, line)));
  }
  classifies_ = true;
}

}  // namespace ulp::cli
