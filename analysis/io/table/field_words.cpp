#include "field_words.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "bytes/text.hpp"
#include "column_names.hpp"
#include "training_log/overflow_words.hpp"

namespace ulp::io {
namespace {

constexpr std::size_t shown = 120;

template <std::size_t N>
bool has_any(std::string_view name, const std::array<std::string_view, N>& words) {
  return std::ranges::any_of(words, [&](std::string_view word) { return has_word(name, word); });
}

bool names_times(std::string_view name) {
  constexpr std::array<std::string_view, 9> words{"time", "timestamp", "date",    "datetime", "eta",
                                                  "wall", "elapsed",   "created", "duration"};
  return has_any(name, words);
}

bool is_any_letter(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80;
}

}  // namespace

bool names_remarks(std::string_view name) {
  constexpr std::array<std::string_view, 18> words{"note",    "notes",    "status",  "state",  "event",   "events",
                                                   "reason",  "comment",  "msg",     "remark", "remarks", "comments",
                                                   "message", "messages", "warning", "info",   "flag",    "outcome"};
  return has_any(name, words);
}

bool field_words::see(std::string_view column, std::string_view text, const cell_value& value) {
  using how = said_in_field::how;
  bool says = true;
  how by = how::words;
  if (value.what == cell_value::kind::nothing) {
    ++empty_;
    return false;
  }
  if (value.what == cell_value::kind::text) {
    const bool is_of_words = !text.empty() && is_any_letter(text.front());  // not "12:30 PM", "3 GB"
    if (is_of_words && texts_++ == 0) first_ = text.substr(0, shown);
    same_ += is_of_words && text.substr(0, shown) == first_ ? 1 : 0;
    says = field_says_nonfinite(column, text);
  } else if (std::isfinite(value.number)) {
    ++numbers_;
    return false;
  } else {
    by = std::isnan(value.number) ? how::nan : how::infinity;
    ++(by == how::nan ? nans_ : infinite_);
  }
  if (says) here_ = {.by = by, .text = as_utf8(text.substr(0, shown))};
  return says;
}

void field_words::keep(std::uint64_t line, std::size_t row) {
  here_.line = line;
  here_.row = row;
  said_.push_back(std::move(here_));
}

void field_words::renumber(const std::vector<std::size_t>& to, std::size_t rows) {
  for (said_in_field& s : said_) s.row = s.row < to.size() ? to[s.row] : rows;
  std::erase_if(said_, [](const said_in_field& s) { return s.row == left_out_row; });
}

void field_words::append(const field_words& more, const std::string& path, std::size_t rows) {
  if (texts_ == 0) first_ = more.first_;
  same_ += more.first_ == first_ ? more.same_ : 0;
  texts_ += more.texts_;
  numbers_ += more.numbers_;
  infinite_ += more.infinite_;
  nans_ += more.nans_;
  empty_ += more.empty_;
  for (said_in_field one : more.said_) {
    if (one.path.empty()) one.path = path;
    one.row += rows;
    said_.push_back(std::move(one));
  }
}

bool field_words::any(std::string_view column) const {
  return (texts_ > numbers_ || (names_remarks(column) && texts_ + infinite_ + nans_ > numbers_)) &&
         !names_times(column);
}

std::vector<said_in_field> field_words::said(std::string_view column) const {
  using how = said_in_field::how;
  constexpr std::uint64_t several = 4;
  if (texts_ >= several && same_ == texts_ && empty_ + numbers_ + infinite_ + nans_ == 0) return {};
  std::vector<said_in_field> all = said_;
  // What many rows say in a column that is none of remarks is a name, such as that of a machine, or a setting.
  const auto by_words = static_cast<std::uint64_t>(std::ranges::count(all, how::words, &said_in_field::by));
  if (!names_remarks(column) && texts_ >= several && 3 * by_words > texts_) return {};
  const bool is_of_words = any(column);
  const bool nan_is_empty = empty_ == 0 && texts_ <= nans_;
  std::erase_if(all, [&](const said_in_field& s) {
    return (s.by != how::words && !is_of_words) || (s.by == how::nan && nan_is_empty);
  });
  return all;
}

}  // namespace ulp::io
