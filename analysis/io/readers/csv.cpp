#include "csv.hpp"

#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <system_error>

#include <ulp/io/error.hpp>

#include "text.hpp"

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

// All of `text` as a number.
template <typename Number>
std::errc parse(std::string_view text, Number& value) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc()) return error;
  return stop == end ? std::errc() : std::errc::invalid_argument;
}

}  // namespace

std::string_view trimmed(std::string_view text) noexcept {
  constexpr std::string_view blanks = " \t";
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

void csv_reader::closer::operator()(gzFile_s* file) const noexcept { gzclose_r(file); }

csv_reader::csv_reader(const std::string& path) : path_(path), file_(open_text(path)), buffer_(buffer_size) {
  if (!read_line()) throw input_error(path_, "", "is empty");
  if (line_.starts_with("\xEF\xBB\xBF")) line_.erase(0, 3);  // byte order mark
  split();
  for (std::size_t i = 0; i < field_count_; ++i) header_.emplace_back(trimmed(fields_[i]));
}

std::optional<csv_reader::column> csv_reader::find(std::string_view name) const {
  const auto found = std::ranges::find(header_, name);
  if (found == header_.end()) return std::nullopt;
  if (std::find(found + 1, header_.end(), name) != header_.end())
    throw input_error(path_, "line 1", "the column " + in_quotes(name) + " appears twice");
  return column{static_cast<std::size_t>(found - header_.begin()), std::string(name)};
}

std::optional<csv_reader::column> csv_reader::find_any(std::initializer_list<std::string_view> names) const {
  for (const std::string_view name : names)
    if (auto found = find(name)) return found;
  return std::nullopt;
}

csv_reader::column csv_reader::require(std::string_view name) const {
  if (auto found = find(name)) return *std::move(found);
  throw input_error(path_, "line 1", "the column " + in_quotes(name) + " is missing");
}

bool csv_reader::next() {
  do {
    if (!read_line()) return false;
  } while (trimmed(line_).empty());
  split();
  if (field_count_ > header_.size())
    fail("has " + std::to_string(field_count_) + " fields, but the header names " + std::to_string(header_.size()));
  return true;
}

bool csv_reader::fill() {
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

bool csv_reader::read_line() {
  line_.clear();
  bool any = false;
  for (;;) {
    if (begin_ == end_ && !fill()) break;
    if (!any) ++line_number_;
    any = true;
    const auto first = buffer_.begin() + static_cast<std::ptrdiff_t>(begin_);
    const auto last = buffer_.begin() + static_cast<std::ptrdiff_t>(end_);
    const auto newline = std::find(first, last, '\n');
    line_.append(first, newline);
    if (line_.size() > longest_line) fail("is longer than 1 MiB; this is not a CSV file");
    begin_ = static_cast<std::size_t>(newline - buffer_.begin());
    if (newline == last) continue;
    ++begin_;
    break;
  }
  if (line_.ends_with('\r')) line_.pop_back();
  return any;
}

// RFC 4180, but a field does not run over the end of its line.
void csv_reader::split() {
  field_count_ = 0;
  std::size_t at = 0;
  for (;;) {
    if (field_count_ == fields_.size()) fields_.emplace_back();
    std::string& field = fields_[field_count_++];
    field.clear();
    if (at < line_.size() && line_[at] == '"') {
      for (++at;; ++at) {
        if (at >= line_.size()) fail("a quote is not closed");
        if (line_[at] == '"' && line_.compare(at, 2, "\"\"") != 0) break;
        if (line_[at] == '"') ++at;
        field += line_[at];
      }
      ++at;
      if (at < line_.size() && line_[at] != ',') fail("a closing quote must end its field");
    } else {
      const std::size_t comma = std::min(line_.find(',', at), line_.size());
      field.assign(line_, at, comma - at);
      at = comma;
    }
    if (at >= line_.size()) return;
    ++at;
  }
}

const std::string& csv_reader::text(const column& at) const {
  if (at.index >= field_count_) fail(at, "the field is missing; the line has " + std::to_string(field_count_));
  return fields_[at.index];
}

bool csv_reader::is_blank(const column& at) const { return trimmed(text(at)).empty(); }

double csv_reader::number(const column& at) const {
  double value = 0;
  const std::errc error = parse(trimmed(text(at)), value);
  if (error == std::errc::result_out_of_range) fail(at, in_quotes(text(at)) + " is beyond the range of float64");
  if (error != std::errc()) fail(at, in_quotes(text(at)) + " is not a number");
  return value;
}

std::int64_t csv_reader::integer(const column& at) const {
  std::int64_t value = 0;
  if (parse(trimmed(text(at)), value) != std::errc()) fail(at, in_quotes(text(at)) + " is not an integer");
  return value;
}

std::uint64_t csv_reader::count(const column& at) const {
  std::uint64_t value = 0;
  if (parse(trimmed(text(at)), value) != std::errc()) fail(at, in_quotes(text(at)) + " is not a count");
  return value;
}

bool csv_reader::flag(const column& at) const {
  const std::string_view value = trimmed(text(at));
  // 1.0 is how a float tensor prints, True how Python does.
  for (const std::string_view yes : {"1", "true", "True", "1.0"})
    if (value == yes) return true;
  for (const std::string_view no : {"0", "false", "False", "0.0"})
    if (value == no) return false;
  fail(at, in_quotes(text(at)) + " is none of 0, 1, true, false");
}

std::int64_t csv_reader::step(const column& at, std::optional<std::int64_t> previous) const {
  const std::int64_t value = integer(at);
  if (value < 0) fail(at, "the step " + std::to_string(value) + " is below zero");
  if (previous && value <= *previous)
    fail(at, "step " + std::to_string(value) + " follows step " + std::to_string(*previous) + "; steps must ascend");
  return value;
}

void csv_reader::fail(const std::string& reason) const {
  throw input_error(path_, "line " + std::to_string(line_number_), reason);
}

void csv_reader::fail(const column& at, const std::string& reason) const {
  throw input_error(path_, "line " + std::to_string(line_number_) + ", column " + in_quotes(at.name), reason);
}

}  // namespace ulp::io
