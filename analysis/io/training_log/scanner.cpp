#include "scanner.hpp"

#include <algorithm>
#include <cassert>
#include <map>
#include <utility>

#include "dialects/rows.hpp"

namespace ulp::io {
namespace {

constexpr std::size_t most_lines = 16;     // that one record is wrapped over
constexpr std::size_t longest_words = 48;  // of a record_start, and some more
constexpr std::size_t most_labels = 4096;

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
bool is_blank(char c) noexcept { return c == ' ' || c == '\t' || c == '\v' || c == '\f' || c == '\b'; }
bool is_of_word(char c) noexcept {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-' || c == '.';
}

// Colours and cursor movements: ESC [ ... letter.
void remove_escapes(std::string_view raw, std::string& into) {
  into.clear();
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\x1B') {
      into += raw[i];
      continue;
    }
    if (i + 1 < raw.size() && raw[i + 1] == '[')
      for (i += 2; i < raw.size() && (raw[i] < '@' || raw[i] > '~');) ++i;
  }
}

// What stands in front of a line and says whose it is: how many characters, of which `name` is the rank.
struct line_label {
  std::size_t length = 0;
  std::string_view name;
};
line_label label_of(std::string_view line) noexcept {
  std::size_t at = 0;
  while (at < line.size() && is_blank(line[at])) ++at;
  const bool in_brackets = at < line.size() && line[at] == '[';
  const std::size_t begin = at + (in_brackets ? 1 : 0);
  std::size_t end = begin;
  while (end < line.size() && is_of_word(line[end])) ++end;
  if (end == begin) return {};
  const std::string_view name = line.substr(begin, end - begin);
  if (in_brackets) {  // "[rank3]:"
    const bool is_rank = is_digit(name.back()) && line.substr(end).starts_with("]:");
    return is_rank ? line_label{end + 2, name} : line_label{};
  }
  if (!line.substr(end).starts_with(": ")) return {};
  const bool is_number = std::ranges::all_of(name, is_digit);  // srun --label
  const std::string_view rest = line.substr(end + 2);
  const bool is_counter = name == "Epoch" || name == "Train";  // "Epoch: [115]  [1298/1299]"
  const bool is_host = (rest.starts_with('[') && !is_counter) || rest.starts_with(" iteration");  // pdsh, deepspeed
  return is_number || is_host ? line_label{end + 2, name} : line_label{};
}

std::string without_blanks(std::string_view line) {
  std::string text;
  bool blank = false;
  for (const char c : line) {
    if (is_blank(c)) {
      blank = true;
      continue;
    }
    if (blank && !text.empty() && is_digit(c) && is_digit(text.back())) text += ' ';
    blank = false;
    text += c;
  }
  return text;
}

const std::vector<log_dialect>& all_dialects() {
  static const std::vector<log_dialect> all{
#define ULP_ROW(NAME) NAME##_dialect(),
      ULP_LOG_DIALECTS(ULP_ROW)
#undef ULP_ROW
  };
  return all;
}

struct dialect_start {
  record_start start;
  const log_dialect* from;
};
const std::vector<dialect_start>& all_starts() {
  static const std::vector<dialect_start> all = [] {
    std::vector<dialect_start> joined;
    for (const log_dialect& dialect : all_dialects())
      for (const record_start& start : dialect.starts) joined.push_back({start, &dialect});
    assert(std::ranges::all_of(joined, [](const dialect_start& s) { return s.start.words.size() < longest_words; }));
    return joined;
  }();
  return all;
}

// Where records may begin in a text, from front to back: each place of each word is looked for once.
class record_finder {
 public:
  explicit record_finder(std::string_view text) : text_(text), next_(all_starts().size(), 0) {
    for (std::size_t i = 0; i < next_.size(); ++i) next_[i] = text_.find(all_starts()[i].start.words);
  }
  // At or after an offset, which never falls; npos for nowhere.
  [[nodiscard]] std::size_t next(std::size_t from) {
    std::size_t first = std::string_view::npos;
    for (std::size_t i = 0; i < next_.size(); ++i) {
      if (next_[i] < from) next_[i] = text_.find(all_starts()[i].start.words, from);
      first = std::min(first, next_[i]);
    }
    return first;
  }

 private:
  std::string_view text_;
  std::vector<std::size_t> next_;
};

// The record that begins there; several words may, of which one begins a record.
record_match read_record(const record_text& text, std::size_t at, bool last) {
  for (const auto& [start, dialect] : all_starts()) {
    if (!text.view().substr(at).starts_with(start.words)) continue;
    record_match m = start.read(text, at + start.words.size(), last);
    m.record.from = dialect;
    if (m.found != record_match::state::none) return m;
  }
  return no_record();
}

}  // namespace

void record_scanner::line(std::string_view raw, std::uint64_t number) {
  remove_escapes(raw, cleaned_);
  const line_label label = label_of(cleaned_);
  auto known = labels_.find(label.name);
  if (known == labels_.end()) {
    const auto index = static_cast<std::uint32_t>(labels_.size() < most_labels ? labels_.size() : 0);
    known = labels_.emplace(labels_.size() < most_labels ? std::string{label.name} : std::string{}, index).first;
    if (index == texts_.size()) texts_.emplace_back();
  }
  const std::string text = without_blanks(std::string_view{cleaned_}.substr(label.length));
  if (text.empty()) return;
  rank_text& rank = texts_[known->second];
  rank.text.append(text, number);
  scan(rank, known->second, false);
}

void record_scanner::scan(rank_text& from, std::uint32_t label, bool last) {
  record_finder starts(from.text.view());
  for (;;) {
    const std::size_t at = starts.next(from.scanned);
    if (at == std::string_view::npos) {
      // Words that the end of the line cuts may go on in the next.
      const std::size_t overlap = std::min(from.text.size() - from.scanned, longest_words);
      from.scanned = from.text.size() - overlap;
      from.text.drop(from.scanned);
      from.scanned = 0;
      return;
    }
    record_match m = read_record(from.text, at, last);
    const bool too_long = from.text.size() - at > longest_record || from.text.lines_from(at + 1) >= most_lines;
    if (m.found == record_match::state::unfinished && too_long) m = read_record(from.text, at, true);
    if (m.found == record_match::state::unfinished) {
      from.text.drop(at);
      from.scanned = 0;
      return;
    }
    from.scanned = at + 1;
    if (m.found == record_match::state::complete) {
      m.record.line = from.text.line_at(at);
      m.record.label = label;
      from.scanned = std::max(from.scanned, m.end);
      keep(std::move(m.record));
    }
  }
}

void record_scanner::keep(scale_record record) {
  // Of steps that go on as expected, the first two of a row and the last tell as much as all of them.
  const auto is_step = [&](const scale_record& r) {
    return r.what == scale_record::kind::reached && r.from == record.from && r.part == record.part &&
           r.label == record.label;
  };
  const std::size_t n = records_.size();
  if (!record.from->is_framework() && n >= 2 && is_step(record) && is_step(records_[n - 1]) &&
      is_step(records_[n - 2]) && records_[n - 2].step < records_[n - 1].step && records_[n - 1].step < record.step) {
    record.lines = records_.back().lines + 1;
    records_.back() = record;
    return;
  }
  records_.push_back(std::move(record));
}

void record_scanner::finish(bool cut) {
  // What touches the end of a log that was cut may have lost its own end.
  for (std::uint32_t i = 0; i < texts_.size(); ++i) scan(texts_[i], i, !cut);
}

std::vector<scale_record> record_scanner::take() {
  std::multimap<std::uint64_t, scale_record> by_line;  // those of one line as they were found
  for (scale_record& r : records_) by_line.emplace(r.line, std::move(r));
  std::vector<scale_record> sorted;
  for (auto& [line, r] : by_line) sorted.push_back(std::move(r));
  records_.clear();
  return sorted;
}

}  // namespace ulp::io
