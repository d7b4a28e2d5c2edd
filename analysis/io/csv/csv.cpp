#include "csv.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>

#include <ulp/io/bytes/error.hpp>

#include "bytes/text.hpp"

namespace ulp::io {
namespace {

// All of `text` as a number.
template <typename Number>
std::errc parse(std::string_view text, Number& value) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc()) return error;
  return stop == end ? std::errc() : std::errc::invalid_argument;
}

// "(30 rows)": what psql prints below a table.
bool counts_rows(std::string_view line) {
  line = trimmed(line);
  return line.starts_with('(') && (line.ends_with(" rows)") || line == "(1 row)");
}

}  // namespace

bool is_rule(std::string_view line) noexcept {
  return line.find_first_not_of(" \t\r-+=:|") == std::string_view::npos &&
         line.find_first_of("-=") != std::string_view::npos;
}

std::string_view trimmed(std::string_view text) noexcept {
  constexpr std::string_view blanks = " \t";
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

csv_reader::csv_reader(line_reader lines, char separator) : lines_(std::move(lines)), separator_(separator) {
  if (!read_line()) throw input_error(path(), "", "is empty");
  if (line_.starts_with("\xEF\xBB\xBF")) line_.erase(0, 3);  // byte order mark
  split();
  // pandas leaves the first of them, an index, without a name.
  const bool may_lack_one = separator_ == ' ' && line_.starts_with(' ');
  for (std::size_t i = 0; i < field_count_; ++i) header_.emplace_back(trimmed(fields_[i]));
  if (!may_lack_one) return;
  line_ = lines_.peek();
  split();
  if (field_count_ == header_.size() + 1) header_.insert(header_.begin(), "");
}

std::optional<csv_reader::column> csv_reader::find(std::string_view name) const {
  const auto found = std::ranges::find(header_, name);
  if (found == header_.end()) return std::nullopt;
  if (std::find(found + 1, header_.end(), name) != header_.end())
    throw input_error(path(), "line 1", "the column " + in_quotes(name) + " appears twice");
  return column{static_cast<std::size_t>(found - header_.begin()), std::string(name)};
}

std::optional<csv_reader::column> csv_reader::find_any(std::initializer_list<std::string_view> names) const {
  for (const std::string_view name : names)
    if (auto found = find(name)) return found;
  return std::nullopt;
}

csv_reader::column csv_reader::require(std::string_view name) const {
  if (auto found = find(name)) return *std::move(found);
  throw input_error(path(), "line 1", "the column " + in_quotes(name) + " is missing");
}

bool csv_reader::next() {
  do {
    if (!read_line()) return false;
  } while (trimmed(line_).empty() || (separator_ == '|' && (is_rule(line_) || counts_rows(line_))));
  split();
  if (field_count_ > header_.size())
    fail("has " + std::to_string(field_count_) + " fields, but the header names " + std::to_string(header_.size()));
  return true;
}

bool csv_reader::repeats_header() const {
  return field_count_ == header_.size() &&
         std::equal(header_.begin(), header_.end(), fields_.begin(),
                    [](const std::string& name, const std::string& field) { return name == trimmed(field); });
}

bool csv_reader::read_line() { return lines_.next(line_, "CSV file"); }

// RFC 4180, but a field does not run over the end of its line.
void csv_reader::split() {
  field_count_ = 0;
  if (separator_ == ' ') return split_at_blanks();
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
      if (at < line_.size() && line_[at] != separator_) fail("a closing quote must end its field");
    } else {
      const std::size_t end = std::min(line_.find(separator_, at), line_.size());
      field.assign(line_, at, end - at);
      at = end;
    }
    if (at >= line_.size()) return;
    ++at;
  }
}

void csv_reader::split_at_blanks() {
  for (std::string_view rest = trimmed(line_); !rest.empty(); rest = trimmed(rest)) {
    const bool is_last = last_takes_rest_ && field_count_ + 1 == header_.size();
    const std::size_t end = is_last ? rest.size() : std::min(rest.find_first_of(" \t"), rest.size());
    if (field_count_ == fields_.size()) fields_.emplace_back();
    fields_[field_count_++] = rest.substr(0, end);
    rest.remove_prefix(end);
  }
  if (!last_takes_rest_ || field_count_ + 1 != header_.size()) return;
  if (field_count_ == fields_.size()) fields_.emplace_back();
  fields_[field_count_++].clear();
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
  fail(at, in_quotes(text(at)) + " is not one of 0, 1, true, false");
}

std::int64_t csv_reader::step(const column& at, std::optional<std::int64_t> previous) const {
  const std::int64_t value = integer(at);
  if (value < 0) fail(at, "the step " + std::to_string(value) + " is below zero");
  if (previous && value <= *previous)
    fail(at, "step " + std::to_string(value) + " follows step " + std::to_string(*previous) + "; steps must ascend");
  return value;
}

void csv_reader::fail(const std::string& reason) const { lines_.fail(reason); }

void csv_reader::fail(const column& at, const std::string& reason) const {
  throw input_error(path(), "line " + std::to_string(lines_.number()) + ", column " + in_quotes(at.name), reason);
}

}  // namespace ulp::io
