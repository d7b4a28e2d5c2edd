#include "lines.hpp"

#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include <ulp/io/error.hpp>

namespace ulp::io {
namespace {

constexpr std::size_t longest_line = std::size_t{1} << 20;
constexpr std::size_t buffer_size = std::size_t{1} << 16;

gzFile open_text(const std::string& path) {
  errno = 0;
  // A copy of the descriptor, so that closing the file leaves standard input open.
  const gzFile file = path == "-" ? gzdopen(::dup(STDIN_FILENO), "rb") : gzopen(path.c_str(), "rb");
  if (file == nullptr) throw input_error(path, "", std::generic_category().message(errno));
  return file;
}

}  // namespace

void line_reader::closer::operator()(gzFile_s* file) const noexcept { gzclose_r(file); }

line_reader::line_reader(const std::string& path) : path_(path), file_(open_text(path)), buffer_(buffer_size) {}

std::string_view line_reader::peek() {
  if (at_end()) return {};
  const std::string_view at_hand{buffer_.data() + begin_, end_ - begin_};
  return at_hand.substr(0, at_hand.find_first_of("\r\n"));
}

bool line_reader::at_end() { return begin_ == end_ && !fill(); }

bool line_reader::fill() {
  const int got = gzread(file_.get(), buffer_.data(), static_cast<unsigned>(buffer_.size()));
  begin_ = 0;
  end_ = got > 0 ? static_cast<std::size_t>(got) : 0;
  if (end_ > 0) return true;
  // A gzip stream that was cut short is told at its end only.
  int error = Z_OK;
  gzerror(file_.get(), &error);
  if (error == Z_ERRNO) throw input_error(path_, "", std::generic_category().message(errno));
  if (error == Z_BUF_ERROR) fail("the gzip data ends here; the file was cut short");
  if (error != Z_OK && error != Z_STREAM_END) fail("the gzip data is damaged after this line");
  return false;
}

bool line_reader::next(std::string& into, std::string_view kind) {
  into.clear();
  ended_ = false;
  bool any = false;
  for (;;) {
    if (begin_ == end_ && !fill()) break;
    if (!any && ended_line_) ++number_;
    ended_line_ = false;
    any = true;
    const auto first = buffer_.begin() + static_cast<std::ptrdiff_t>(begin_);
    const auto last = buffer_.begin() + static_cast<std::ptrdiff_t>(end_);
    const auto stop = breaks_at_returns_ ? std::find_if(first, last, [](char c) { return c == '\n' || c == '\r'; })
                                         : std::find(first, last, '\n');
    into.append(first, stop);
    if (into.size() > longest_line) fail("is longer than 1 MiB; this is not a " + std::string(kind));
    begin_ = static_cast<std::size_t>(stop - buffer_.begin());
    if (stop == last) continue;
    ended_line_ = buffer_[begin_++] == '\n';
    ended_ = true;
    break;
  }
  if (into.ends_with('\r')) into.pop_back();
  return any;
}

void line_reader::fail(const std::string& reason) const {
  throw input_error(path_, "line " + std::to_string(number_), reason);
}

}  // namespace ulp::io
