#include "scanner.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <iterator>
#include <map>
#include <optional>
#include <unordered_set>
#include <utility>

#include "bytes/text.hpp"
#include "dialects/layout.hpp"
#include "dialects/layouts.hpp"
#include "dialects/rows.hpp"
#include "overflow_words.hpp"
#include "raw_line.hpp"

namespace ulp::io {
namespace {

constexpr std::size_t most_lines = 16;     // that one record is wrapped over
constexpr std::size_t longest_words = 48;  // of a record_start, and some more
constexpr std::size_t most_labels = 4096;

// Those that are functions: frameworks first, then bars, scripts' own lines and bare numbers; rows of data stand between.
const std::vector<log_dialect>& all_dialects() {
  static const std::vector<log_dialect> all = [] {
    const std::array functions{
#define ULP_ROW(NAME) NAME##_dialect(),
        ULP_LOG_DIALECTS(ULP_ROW)
#undef ULP_ROW
    };
    std::vector<log_dialect> joined;
    const auto add = [&](bool is_wanted(const log_dialect&)) {
      for (const log_dialect& d : functions)
        if (is_wanted(d)) joined.push_back(d);
    };
    add([](const log_dialect& d) { return d.is_framework(); });
    std::ranges::copy(layout_dialects(), std::back_inserter(joined));
    std::ranges::copy(script_layouts(), std::back_inserter(joined));
    add([](const log_dialect& d) { return !d.is_framework(); });
    return joined;
  }();
  return all;
}

struct dialect_start {
  std::string_view words;
  record_match (*read)(const record_text& text, std::size_t at, bool last);
  const line_layout* layout;
  const log_dialect* from;
  bool breaks_line;
};
const std::vector<dialect_start>& all_starts() {
  static const std::vector<dialect_start> all = [] {
    std::vector<dialect_start> joined;
    for (const log_dialect& dialect : all_dialects()) {
      for (const record_start& s : dialect.starts)
        joined.push_back({s.words, s.read, nullptr, &dialect, s.breaks_line});
      for (const line_layout& l : dialect.layouts) joined.push_back({l.words, nullptr, &l, &dialect, true});
    }
    assert(std::ranges::all_of(joined, [](const dialect_start& s) { return s.words.size() < longest_words; }));
    return joined;
  }();
  return all;
}

// Where records may begin in a text, from front to back: each place of each word is looked for once.
class record_finder {
 public:
  record_finder(std::string_view text, std::size_t from) : text_(text), next_(all_starts().size(), 0) {
    for (std::size_t i = 0; i < next_.size(); ++i) next_[i] = text_.find(all_starts()[i].words, from);
  }
  // At or after an offset, which never falls, of those that are wanted; npos for nowhere.
  [[nodiscard]] std::size_t next(std::size_t from) {
    std::size_t first = std::string_view::npos;
    for (std::size_t i = 0; i < next_.size(); ++i) {
      if (next_[i] < from) next_[i] = text_.find(all_starts()[i].words, from);
      first = std::min(first, next_[i]);
    }
    return first;
  }

 private:
  std::string_view text_;
  std::vector<std::size_t> next_;
};

record_match read_start(const record_text& text, std::size_t at, bool last, const dialect_start& start) {
  const std::size_t behind = at + start.words.size();
  record_match m =
      start.layout != nullptr ? read_layout(text, behind, last, *start.layout) : start.read(text, behind, last);
  m.record.from = start.from;
  if (m.begin == std::string_view::npos) m.begin = at;
  return m;
}

// The record that begins there; several words may, of which one begins a record.
record_match read_record(const record_text& text, std::size_t at, bool last) {
  for (const dialect_start& start : all_starts()) {
    if (!text.view().substr(at).starts_with(start.words)) continue;
    record_match m = read_start(text, at, last, start);
    if (m.found != record_match::state::none) return m;
  }
  return no_record();
}

// Whether a framework's record begins behind one of a script's own lines: then it is the framework's line. Asked for offsets
// that rise.
class framework_finder {
 public:
  framework_finder(const record_text& text, bool last) : text_(text), last_(last) {}

  [[nodiscard]] bool is_behind(std::size_t at) {
    const std::size_t line = text_.line_end(at);
    if (!starts_) starts_.emplace(text_.view(), at + 1);
    if (place_ <= at) {
      place_ = starts_->next(at + 1);
      is_record_ = false;
    }
    while (place_ < line && !is_record_) {
      is_record_ = begins(place_);
      if (!is_record_) place_ = starts_->next(place_ + 1);
    }
    return is_record_ && place_ < line;
  }

 private:
  [[nodiscard]] bool begins(std::size_t at) const {
    return std::ranges::any_of(all_starts(), [&](const dialect_start& start) {
      return (start.from->is_framework() || start.from->restarts) && text_.view().substr(at).starts_with(start.words) &&
             read_start(text_, at, last_, start).found != record_match::state::none;
    });
  }

  const record_text& text_;
  bool last_;
  std::optional<record_finder> starts_;
  std::size_t place_ = 0;  // the first that is behind all offsets so far and was not found to be none
  bool is_record_ = false;
};

// Where records begin in a line, and where the words are that they are found by.
struct record_place {
  std::size_t begin = 0;
  std::size_t words = 0;
};
std::vector<record_place> places_in(const record_text& line) {
  std::vector<record_place> places;
  std::unordered_set<std::size_t> known;
  for (const dialect_start& start : all_starts()) {
    if (!start.breaks_line) continue;
    for (std::size_t at = line.view().find(start.words); at != std::string_view::npos;
         at = line.view().find(start.words, at + 1)) {
      if (known.contains(at)) continue;
      const record_match m = start.layout == nullptr ? record_match{.begin = at} : read_start(line, at, true, start);
      if (start.layout != nullptr && m.found != record_match::state::complete) continue;
      places.push_back({m.begin, at});
      known.insert(at);
    }
  }
  std::ranges::sort(places, {}, &record_place::begin);
  return places;
}

bool holds_record(std::string_view line, std::uint64_t number) {
  const blankless whole = without_blanks(line);
  record_text alone;
  alone.append(whole.text, number, whole.blanks);
  record_finder starts(alone.view(), 0);
  for (std::size_t at = starts.next(0); at != std::string_view::npos; at = starts.next(at + 1))
    if (read_record(alone, at, true).found == record_match::state::complete) return true;
  return false;
}

}  // namespace

void add_compactly(std::vector<scale_record>& to, scale_record record) {
  const auto is_step = [&](const scale_record& r) {
    return r.what == scale_record::kind::reached && r.from == record.from && r.part == record.part &&
           r.label == record.label;
  };
  const std::size_t n = to.size();
  if (record.from->is_bare() && n >= 2 && is_step(record) && is_step(to[n - 1]) && is_step(to[n - 2]) &&
      to[n - 2].step < to[n - 1].step && to[n - 1].step < record.step) {
    record.lines = to.back().lines + 1;
    to.back() = std::move(record);
    return;
  }
  to.push_back(std::move(record));
}

void record_scanner::line(std::string_view raw, std::uint64_t number) {
  constexpr std::size_t some = 64;
  remove_escapes(raw, cleaned_);
  const std::size_t columns = columns_of(cleaned_);
  if (columns > widest_) as_wide_ = 0;
  widest_ = std::max(widest_, columns);
  as_wide_ += columns == widest_ ? 1 : 0;
  if (!knows_width_) {
    first_.emplace_back(cleaned_, number);
    if (first_.size() >= some) take_first();
    return;
  }
  join(cleaned_, number);
}

// The first lines are kept until they show how wide the terminal was.
void record_scanner::take_first() {
  knows_width_ = true;
  for (auto& [text, number] : std::exchange(first_, {})) join(text, number);
}

void record_scanner::join(std::string& text, std::uint64_t number) {
  if (!held_.empty() && is_rest(text, number)) {
    held_ += text;
    return;
  }
  if (!held_.empty()) whole_line(held_, held_number_);
  std::swap(held_, text);
  held_number_ = number;
}

// What need not be joined is left apart: lines that are as wide as the widest by chance.
std::vector<std::string> record_scanner::ranks() const {
  std::vector<std::string> names(texts_.size());
  for (const auto& [name, label] : labels_)
    if (label < names.size() && !name.empty()) names[label] = name;
  return names;
}

bool record_scanner::is_rest(std::string_view text, std::uint64_t number) const {
  constexpr std::size_t several = 2;
  if (as_wide_ < several || held_.size() >= longest_record || !may_be_rest_of(text, held_, widest_)) return false;
  return holds_record(held_, held_number_) ? goes_on_in(text, held_) : !holds_record(text, number);
}

void record_scanner::whole_line(std::string_view all, std::uint64_t number) {
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t end = next_label(all, at + 1);
    labelled_line(all.substr(at, end - at), number);
    at = end;
  }
}

void record_scanner::labelled_line(std::string_view line, std::uint64_t number) {
  const line_label label = label_of(line);
  auto known = labels_.find(label.name);
  if (known == labels_.end()) {
    const auto index = static_cast<std::uint32_t>(labels_.size() < most_labels ? labels_.size() : 0);
    known = labels_.emplace(labels_.size() < most_labels ? std::string{label.name} : std::string{}, index).first;
    if (index == texts_.size()) texts_.emplace_back();
  }
  rank_text& rank = texts_[known->second];
  const std::size_t signs = rank.signs.size();
  add(rank, line.substr(label.length), number);
  if (rank.signs.size() == signs) note_words(line, number);
  scan(rank, known->second, false);
}

void record_scanner::note_words(std::string_view line, std::uint64_t number) {
  constexpr std::size_t longest = 4096;
  constexpr std::size_t shown = 120;
  line = line.substr(0, longest);
  if (!says_nonfinite(line)) return;
  if (!nonfinite_.empty() && std::exchange(kept_at_words_, kept_) == kept_) {
    ++nonfinite_.back().count;
    return;
  }
  kept_at_words_ = kept_;
  nonfinite_.push_back({.line = number, .text = as_utf8(line.substr(0, shown))});
}

// Takes the line apart where further records begin, as where line breaks were lost.
void record_scanner::add(rank_text& to, std::string_view line, std::uint64_t number) {
  const blankless whole = without_blanks(line);
  if (whole.text.empty()) return;
  if (const std::int64_t second = second_of(line); second >= 0) to.seconds[number] = second;
  record_text alone;
  alone.append(whole.text, number, whole.blanks);
  const std::vector<record_place> places = places_in(alone);
  const std::size_t base = to.text.size();
  for (const record_place& p : places)
    if (p.begin < p.words) to.found.push_back({base + p.begin, base + p.words});
  auto blank = whole.blanks.begin();
  std::size_t begin = 0;
  const auto append_until = [&](std::size_t end) {
    if (end == begin) return;
    std::vector<std::size_t> blanks;
    for (; blank != whole.blanks.end() && *blank < end; ++blank) blanks.push_back(*blank - begin);
    const std::size_t from = to.text.size();
    to.text.append(std::string_view{whole.text}.substr(begin, end - begin), number, blanks);
    add_signs(to.text, from, number, to.signs);
    begin = end;
  };
  for (const record_place& p : places) append_until(p.begin);
  append_until(whole.text.size());
}

// Signs that are gone with the text were not taken.
void record_scanner::drop(rank_text& from, std::size_t offset) {
  std::erase_if(from.signs, [&](record_sign& sign) {
    if (sign.offset < offset) {
      if (!sign.is_taken) unread_.add(sign);
      return true;
    }
    sign.offset -= offset;
    return false;
  });
  std::erase_if(from.found, [&](found_layout& f) {
    const bool gone = f.words < offset;
    f.begin -= std::min(f.begin, offset);
    f.words -= std::min(f.words, offset);
    return gone;
  });
  from.text.drop(offset);
  from.seconds.erase(from.seconds.begin(), from.seconds.lower_bound(from.text.line_at(0)));
}

void record_scanner::scan(rank_text& from, std::uint32_t label, bool last) {
  record_finder starts(from.text.view(), from.scanned);
  framework_finder framework(from.text, last);
  auto layout = from.found.begin();
  std::size_t covered = 0;  // up to there nothing begins but what was found
  for (;;) {
    const std::size_t at = starts.next(from.scanned);
    if (at == std::string_view::npos) {
      // Words that the end of the line cuts may go on in the next; what stands before its number is in the line itself.
      const std::size_t overlap = std::min(from.text.size() - from.scanned, longest_words);
      const std::size_t kept = std::min(from.text.size() - overlap, from.text.line_begin(from.text.size()));
      from.scanned = std::max(from.scanned, from.text.size() - overlap) - kept;
      drop(from, kept);
      return;
    }
    for (; layout != from.found.end() && layout->begin <= at; ++layout) covered = std::max(covered, layout->words);
    if (at < covered) {
      from.scanned = at + 1;
      continue;
    }
    record_match m = read_record(from.text, at, last);
    const bool too_long = from.text.size() - at > longest_record || from.text.lines_from(at + 1) >= most_lines;
    if (m.found == record_match::state::unfinished && too_long) m = read_record(from.text, at, true);
    if (m.found == record_match::state::unfinished) {
      const std::size_t kept = from.text.line_begin(at);
      from.scanned = at - kept;
      drop(from, kept);
      return;
    }
    from.scanned = at + 1;
    const log_dialect& from_whom = *m.record.from;
    const bool is_own = m.found == record_match::state::complete && from_whom.is_own && !from_whom.restarts;
    if (is_own && framework.is_behind(at)) continue;
    if (m.found == record_match::state::complete) {
      m.record.line = from.text.line_at(at);
      if (m.record.label == 0) m.record.label = label;
      if (const auto at_line = from.seconds.find(m.record.line); at_line != from.seconds.end())
        m.record.second = at_line->second;
      // Where line breaks were lost, the nearest.
      const std::size_t before = std::min(from.text.taken(), m.begin);
      if (const auto second = last_second_in(from.text.view().substr(before, m.begin - before)); second >= 0)
        m.record.second = second;
      from.scanned = std::max(from.scanned, m.end);
      take(from, m);
      keep(std::move(m.record));
    }
  }
}

// The words of an overflow stand in front of the number that it is read by.
void record_scanner::take(rank_text& from, const record_match& m) {
  constexpr std::size_t longest = 64;
  const bool is_overflow = m.record.what == scale_record::kind::overflow;
  const std::size_t near = std::max(std::min(from.text.taken(), m.begin), m.begin - std::min(m.begin, longest));
  auto sign = std::ranges::lower_bound(from.signs, near, {}, &record_sign::offset);
  for (; sign != from.signs.end() && sign->offset < m.end; ++sign)
    sign->is_taken = sign->is_taken || sign->offset >= (is_overflow && sign->is_overflow() ? near : m.begin);
  from.text.take(from.scanned);
}

void record_scanner::keep(scale_record record) {
  ++kept_;
  constexpr std::size_t many = 20'000;  // fewer are looked at one by one for those of other ranks first
  if (records_.size() < many)
    records_.push_back(std::move(record));
  else
    add_compactly(records_, std::move(record));
}

void record_scanner::finish(bool cut) {
  take_first();
  if (!held_.empty()) whole_line(std::exchange(held_, {}), held_number_);
  // What touches the end of a log that was cut may have lost its own end.
  for (std::uint32_t i = 0; i < texts_.size(); ++i) {
    scan(texts_[i], i, !cut);
    drop(texts_[i], texts_[i].text.size());
  }
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
