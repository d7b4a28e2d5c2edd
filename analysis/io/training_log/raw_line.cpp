#include "raw_line.hpp"

#include <algorithm>
#include <array>

#include "bytes/ascii.hpp"

namespace ulp::io {
namespace {

bool is_blank(char c) noexcept { return c == ' ' || c == '\t' || c == '\v' || c == '\f' || c == '\b'; }
bool is_of_word(char c) noexcept {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-' || c == '.';
}

// How an escape character is written out: by terminals, by C, by Python and by JSON.
constexpr std::array escapes{std::string_view{"\x1B"},        std::string_view{"^["},    std::string_view{"\\x1b"},
                             std::string_view{"\\x1B"},       std::string_view{"\\033"}, std::string_view{"\\u001b"},
                             std::string_view{"\xE2\x90\x9B"}};

// How long the colour or movement is that begins there, ESC [ ... letter; of a colour, ESC may be lost: "[32m".
std::size_t escape_length(std::string_view text) noexcept {
  const auto end_of = [&](std::size_t at) {
    while (at < text.size() && (text[at] < '@' || text[at] > '~')) ++at;
    return std::min(at + 1, text.size());
  };
  for (const std::string_view escape : escapes) {
    if (!text.starts_with(escape)) continue;
    const bool has_bracket = text.substr(escape.size()).starts_with('[');
    if (has_bracket) return end_of(escape.size() + 1);
    if (escape.size() == 1) return 1;
  }
  constexpr std::size_t longest = 8;
  const std::size_t digits = text.starts_with('[') ? text.find_first_not_of("0123456789;", 1) : std::string_view::npos;
  const bool is_colour = digits != std::string_view::npos && digits > 1 && digits < longest && text[digits] == 'm' &&
                         (text[1] == '0' || text[1] == '1' || text[1] == '3' || text[1] == '9');
  return is_colour ? digits + 1 : 0;
}

}  // namespace

void remove_escapes(std::string_view raw, std::string& into) {
  into.clear();
  for (std::size_t i = 0; i < raw.size();) {
    const char c = raw[i];
    const bool may_begin = c == '\x1B' || c == '^' || c == '\\' || c == '[' || c == '\xE2';
    const std::size_t length = may_begin ? escape_length(raw.substr(i)) : 0;
    if (length == 0) into += c;
    i += std::max<std::size_t>(length, 1);
  }
}

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

std::int64_t second_of(std::string_view line) noexcept {
  constexpr std::size_t longest_front = 40;  // as "[rank0]: INFO:"
  constexpr std::string_view time = "dd:dd:dd";
  constexpr std::array<std::string_view, 2> dates{"dddd-dd-dd", "dddd/dd/dd"};
  const auto has = [&](std::size_t at, std::string_view shape) {
    if (at + shape.size() > line.size()) return false;
    return std::ranges::equal(line.substr(at, shape.size()), shape,
                              [](char c, char of) { return of == 'd' ? is_digit(c) : c == of; });
  };
  for (std::size_t at = 0; at < std::min(line.size(), longest_front); ++at) {
    if (!has(at, time)) continue;
    const bool is_first = line.find_first_not_of(" \t[(") == at;
    const bool has_date =
        at > dates[0].size() && std::ranges::any_of(dates, [&](auto d) { return has(at - 1 - d.size(), d); });
    if (!is_first && !has_date) continue;
    const auto number = [&](std::size_t from) { return (line[from] - '0') * 10 + line[from + 1] - '0'; };
    return (number(at) * 60 + number(at + 3)) * 60 + number(at + 6);
  }
  return -1;
}

std::int64_t last_second_in(std::string_view text) noexcept {
  constexpr std::size_t date = 11;  // and a blank
  constexpr std::size_t length = date + 8;
  for (std::size_t at = text.size() < length ? 0 : text.size() - length + 1; at-- > 0;)
    if (text[at] == '2' && text[at + date + 2] == ':')
      if (const std::int64_t second = second_of(text.substr(at, length)); second >= 0) return second;
  return -1;
}

std::size_t next_label(std::string_view line, std::size_t from) noexcept {
  for (std::size_t at = line.find('[', from); at != std::string_view::npos; at = line.find('[', at + 1))
    for (const std::string_view word : {"[rank", "[default"}) {
      if (!line.substr(at).starts_with(word)) continue;
      const std::size_t end = line.find_first_not_of("0123456789", at + word.size());
      if (end != std::string_view::npos && end > at + word.size() && line.substr(end).starts_with("]:")) return at;
    }
  return line.size();
}

std::size_t columns_of(std::string_view line) noexcept {
  constexpr std::size_t tab = 8;
  std::size_t n = 0;
  for (const char c : line) {
    const bool goes_on = (static_cast<unsigned char>(c) & 0xC0U) == 0x80;  // of a character of several bytes
    n = c == '\t' ? (n / tab + 1) * tab : n + (goes_on ? 0 : 1);
  }
  return n;
}

bool may_be_rest_of(std::string_view line, std::string_view before, std::size_t widest) noexcept {
  constexpr std::array<std::size_t, 8> usual{72, 80, 100, 120, 132, 140, 160, 200};
  constexpr std::size_t few = 6;
  if (std::ranges::find(usual, widest) == usual.end() || columns_of(before) % widest != 0) return false;
  const auto is_rule = [](std::string_view of) { return of.find_first_not_of(of.front()) == std::string_view::npos; };
  if (line.empty() || is_rule(before) || is_rule(line)) return false;
  const auto shape = [](char c) { return is_digit(c) ? '0' : c; };
  return !std::ranges::equal(before.substr(0, few), line.substr(0, few), {}, shape, shape);
}

bool goes_on_in(std::string_view line, std::string_view before) noexcept {
  constexpr std::string_view blanks = " \t";
  constexpr std::string_view digits = "0123456789.";
  constexpr std::string_view opens = ":=|([{,-+/";
  const std::size_t last = before.find_last_not_of(blanks);
  const std::size_t first = line.find_first_not_of(blanks);
  if (last == std::string_view::npos || first == std::string_view::npos) return false;
  const auto is_letter = [](char c) { return is_of_word(c) && !is_digit(c) && c != '.' && c != '-'; };
  // A word and a number behind it, as of a value with its key.
  const auto has_value = [&](std::string_view rest) {
    const std::size_t word = rest.find_first_not_of(" \t|,;");
    if (word == std::string_view::npos || !is_letter(rest[word])) return false;
    std::size_t end = word;
    while (end < rest.size() && is_of_word(rest[end])) ++end;
    const std::size_t value = rest.find_first_not_of(" \t:='\"", end);
    return value != std::string_view::npos && value > end &&
           (is_digit(rest[value]) || rest[value] == '-' || rest.substr(value).starts_with("nan") ||
            rest.substr(value).starts_with("inf"));
  };
  const char from = before[last];
  const char to = line[first];
  const bool is_apart = last + 1 < before.size() || first > 0;
  if (opens.find(from) != std::string_view::npos) return true;
  const std::string_view rest = line.substr(first);
  if (is_letter(from))
    return is_digit(to) || rest.starts_with("nan") || rest.starts_with("inf") || (is_letter(to) && !is_apart);
  if (!is_apart && from == '.' && is_digit(to)) return true;
  if (is_apart || !is_digit(from) || digits.find(to) == std::string_view::npos) return has_value(line);
  // Any two words and numbers may stand in a line of its own.
  constexpr std::array<std::string_view, 6> keys{"loss", "norm", "scale", "lr", "time", "mem"};
  const std::size_t end = line.find_first_not_of(digits);
  if (end == std::string_view::npos || std::string_view{"|,;)]}%/"}.find(line[end]) != std::string_view::npos)
    return true;
  const std::size_t behind = line.find_first_not_of(blanks, end);
  if (behind == std::string_view::npos) return true;
  if (behind == end) return false;
  const std::string_view word = line.substr(behind, line.find_first_of(" \t:=", behind) - behind);
  return line[behind] == '|' || line[behind] == '(' ||
         (has_value(line.substr(behind)) &&
          std::ranges::any_of(keys, [&](std::string_view key) { return word.find(key) != std::string_view::npos; }));
}

blankless without_blanks(std::string_view line) {
  blankless all;
  bool blank = false;
  for (const char c : line) {
    if (is_blank(c)) {
      blank = true;
      continue;
    }
    if (blank && !all.text.empty() && is_digit(c) && is_digit(all.text.back())) all.text += ' ';
    if (blank) all.blanks.push_back(all.text.size());
    blank = false;
    all.text += c;
  }
  return all;
}

}  // namespace ulp::io
