#include "records.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

namespace ulp::io {
namespace {

constexpr std::size_t longest_record = 4096;  // without blanks
constexpr std::size_t most_lines = 16;        // that one record is wrapped over
constexpr std::size_t longest_words = 48;     // of a record_start, and some more
constexpr std::size_t most_labels = 4096;

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
bool is_blank(char c) noexcept { return c == ' ' || c == '\t' || c == '\v' || c == '\f' || c == '\b'; }
bool is_of_number(char c) noexcept { return is_digit(c) || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E'; }
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

// As Python, JSON and C++ spell what is no finite number.
struct nonfinite_word {
  std::string_view text;
  double value;
};
constexpr std::array nonfinite_words{
    nonfinite_word{"nan", not_known},
    nonfinite_word{"NaN", not_known},
    nonfinite_word{"inf", std::numeric_limits<double>::infinity()},
    nonfinite_word{"Infinity", std::numeric_limits<double>::infinity()},
};

// A framework's own records come before those that look like them.
const std::vector<record_start>& all_records() {
  static const std::vector<record_start> all = [] {
    std::vector<record_start> joined;
    for (const auto& starts :
         {megatron_records(), deepspeed_records(), apex_records(), fairseq_records(), colossal_records(),
          trainer_records(), openmmlab_records(), swin_records(), espnet_records(), detectron_records(),
          insightface_records(), llm_c_records(), step_records()})
      joined.insert(joined.end(), starts.begin(), starts.end());
    assert(std::ranges::all_of(joined, [](const record_start& s) { return s.words.size() < longest_words; }));
    return joined;
  }();
  return all;
}

// Where records may begin in a text, from front to back: each place of each word is looked for once.
class record_finder {
 public:
  explicit record_finder(std::string_view text) : text_(text), next_(all_records().size(), 0) {
    for (std::size_t i = 0; i < next_.size(); ++i) next_[i] = text_.find(all_records()[i].words);
  }
  // At or after an offset, which never falls; npos for nowhere.
  [[nodiscard]] std::size_t next(std::size_t from) {
    std::size_t first = std::string_view::npos;
    for (std::size_t i = 0; i < next_.size(); ++i) {
      if (next_[i] < from) next_[i] = text_.find(all_records()[i].words, from);
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
  for (const record_start& s : all_records()) {
    if (!text.view().substr(at).starts_with(s.words)) continue;
    record_match m = s.read(text, at + s.words.size(), last);
    if (m.found != record_match::state::none) return m;
  }
  return no_record();
}

}  // namespace

void scale_record::put(double scale_record::*field, double value) noexcept {
  this->*field = value;
  if (field == &scale_record::loss) loss_is_nan = std::isnan(value);
  if (field == &scale_record::grad_norm) grad_norm_is_nan = std::isnan(value);
}

bool scale_record::is_lost() const noexcept {
  return loss_is_nan || grad_norm_is_nan || std::isinf(loss) || std::isinf(grad_norm);
}

void record_text::append(std::string_view line, std::uint64_t line_number) {
  lines_.push_back({text_.size(), line_number});
  text_ += line;
}

void record_text::drop(std::size_t offset) {
  constexpr std::size_t much = 16 * longest_record;
  text_.erase(0, offset);
  if (text_.capacity() > much && text_.size() < longest_record) text_.shrink_to_fit();
  std::size_t gone = 0;  // lines that end before it
  while (gone + 1 < lines_.size() && lines_[gone + 1].offset <= offset) ++gone;
  lines_.erase(lines_.begin(), lines_.begin() + static_cast<std::ptrdiff_t>(gone));
  for (line_start& l : lines_) l.offset -= std::min(l.offset, offset);
}

std::uint64_t record_text::line_at(std::size_t offset) const noexcept {
  std::uint64_t line = 0;
  for (const line_start& l : lines_)
    if (l.offset <= offset) line = l.number;
  return line;
}

std::size_t record_text::line_begin(std::size_t offset) const noexcept {
  std::size_t begin = 0;
  for (const line_start& l : lines_)
    if (l.offset <= offset) begin = l.offset;
  return begin;
}

std::size_t record_text::line_end(std::size_t offset) const noexcept {
  for (const line_start& l : lines_)
    if (l.offset > offset) return l.offset;
  return text_.size();
}

std::size_t record_text::lines_from(std::size_t offset) const noexcept {
  return static_cast<std::size_t>(
      std::ranges::count_if(lines_, [&](const line_start& l) { return l.offset >= offset; }));
}

std::optional<record_text::number> record_text::number_at(std::size_t offset, std::string_view enders) const {
  const auto end_of_run = [&](std::size_t from, std::size_t before) {
    while (from < before && is_of_number(text_[from])) ++from;
    return from;
  };
  const std::size_t sign = offset < text_.size() && (text_[offset] == '-' || text_[offset] == '+') ? 1 : 0;
  for (const nonfinite_word& word : nonfinite_words) {
    if (!view().substr(std::min(offset + sign, text_.size())).starts_with(word.text)) continue;
    const std::size_t behind = offset + sign + word.text.size();
    return number{.value = sign == 1 && text_[offset] == '-' ? -word.value : word.value,
                  .digits = view().substr(offset, behind - offset),
                  .end = behind,
                  .open = behind == text_.size()};
  }
  std::size_t end = end_of_run(offset, text_.size());
  if (end == text_.size() || enders.find(text_[end]) == std::string_view::npos) {
    end = end_of_run(offset, offset < text_.size() ? line_end(offset) : text_.size());
    while (end < text_.size() && end == line_begin(end)) {  // at the end of its line
      const std::size_t next = line_end(end);
      if (end_of_run(end, next) != next) break;
      end = next;
    }
  }
  number n;
  n.digits = view().substr(offset, end - offset);
  const char* const last = text_.data() + end;
  const auto [stop, error] = std::from_chars(text_.data() + offset, last, n.value);
  if (error != std::errc() || stop == text_.data() + offset) return std::nullopt;
  if (stop != last) {  // "65536.", or letters that only look like an exponent
    end = static_cast<std::size_t>(stop - text_.data());
    n.digits = view().substr(offset, end - offset);
  }
  n.end = end;
  n.open = end == text_.size();
  return n;
}

record_match whole_record(const scale_record& record, std::size_t end) {
  return {record_match::state::complete, end, record};
}

record_match read_trailing(const record_text& text, std::size_t at, bool last, std::string_view separators,
                           const scale_record& record, double scale_record::*into) {
  while (at < text.size() && separators.find(text.view()[at]) != std::string_view::npos) ++at;
  if (at == text.size()) return last ? no_record() : unfinished_record();
  const auto n = text.number_at(at, "");
  if (!n) return no_record();
  // Python prints a decimal point: with it, no power of two is the beginning of another.
  const bool whole = n->digits.find('.') != std::string_view::npos && is_power_of_two(n->value);
  if (n->open && !last && !whole) return unfinished_record();
  scale_record r = record;
  r.*into = n->value;
  return whole_record(r, n->end);
}

std::int64_t step_of(const record_text::number& n) noexcept {
  std::int64_t step = -1;
  const char* const end = n.digits.data() + n.digits.size();
  const auto [stop, error] = std::from_chars(n.digits.data(), end, step);
  constexpr std::int64_t greatest = std::int64_t{1} << 53;
  return error == std::errc() && stop == end && step >= 0 && step <= greatest ? step : -1;
}

bool is_power_of_two(double x) noexcept {
  int exponent = 0;
  return x > 0 && std::isfinite(x) && std::frexp(x, &exponent) == 0.5;
}

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
  rank_text& of = texts_[known->second];
  of.text.append(text, number);
  scan(of, known->second, false);
}

void record_scanner::scan(rank_text& of, std::uint32_t label, bool last) {
  record_finder starts(of.text.view());
  for (;;) {
    const std::size_t at = starts.next(of.scanned);
    if (at == std::string_view::npos) {
      // Words that the end of the line cuts may go on in the next.
      const std::size_t overlap = std::min(of.text.size() - of.scanned, longest_words);
      of.scanned = of.text.size() - overlap;
      of.text.drop(of.scanned);
      of.scanned = 0;
      return;
    }
    record_match m = read_record(of.text, at, last);
    const bool too_long = of.text.size() - at > longest_record || of.text.lines_from(at + 1) >= most_lines;
    if (m.found == record_match::state::unfinished && too_long) m = read_record(of.text, at, true);
    if (m.found == record_match::state::unfinished) {
      of.text.drop(at);
      of.scanned = 0;
      return;
    }
    of.scanned = at + 1;
    if (m.found == record_match::state::complete) {
      m.record.line = of.text.line_at(at);
      m.record.label = label;
      of.scanned = std::max(of.scanned, m.end);
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
  const bool of_script = record.from == scale_record::origin::bar || record.from == scale_record::origin::print;
  if (of_script && n >= 2 && is_step(record) && is_step(records_[n - 1]) && is_step(records_[n - 2]) &&
      records_[n - 2].step < records_[n - 1].step && records_[n - 1].step < record.step) {
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
