#include "left_out.hpp"

#include <algorithm>
#include <array>

#include "bytes/ascii.hpp"
#include "bytes/text.hpp"

namespace ulp::io {
namespace {

constexpr std::size_t several = 2;
constexpr std::size_t most_counted = 64;

std::size_t decimals_in(std::string_view text) {
  std::size_t n = 0;
  for (std::size_t i = 1; i + 1 < text.size(); ++i)
    n += text[i] == '.' && is_digit(text[i - 1]) && is_digit(text[i + 1]) ? 1 : 0;
  return n;
}

}  // namespace

bool leaves_lines_out(std::string_view line) {
  constexpr std::size_t longest = 80;
  constexpr std::string_view sign = "\xE2\x80\xA6";
  constexpr std::array<std::string_view, 15> words{"snip", "snipped", "cut",  "omitted", "truncated",
                                                   "skip", "skipped", "many", "more",    "lines",
                                                   "log",  "output",  "of",   "some",    "several"};
  constexpr std::array<std::string_view, 5> alone{"snip", "snipped", "cut", "omitted", "truncated"};
  if (line.size() > longest) return false;
  bool is_elided = line.find("...") != std::string_view::npos || line.find(sign) != std::string_view::npos;
  for (std::size_t at = 0; at < line.size();) {
    if (line.substr(at).starts_with(sign)) {
      at += sign.size();
      continue;
    }
    if (!is_letter(line[at])) {
      constexpr std::string_view frame = ".[](){}<>-*=#~: \t";
      if (frame.find(line[at]) == std::string_view::npos) return false;
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < line.size() && is_letter(line[end])) ++end;
    const std::string_view word = line.substr(at, end - at);
    if (std::ranges::find(words, word) == words.end()) return false;
    is_elided = is_elided || std::ranges::find(alone, word) != alone.end();
    at = end;
  }
  return is_elided;
}

void quoted_gaps::line(std::string_view text, std::uint64_t number) {
  if (leaves_lines_out(text)) all_.emplace_back(number, text);
}

std::string quoted_gaps::doubt(std::span<const scale_record> records) const {
  if (records.empty()) return "";
  const auto [first, last] = std::ranges::minmax(records, {}, &scale_record::line);
  const auto gap = std::ranges::upper_bound(all_, first.line, {}, &std::pair<std::uint64_t, std::string>::first);
  if (gap == all_.end() || gap->first >= last.line) return "";
  return "line " + std::to_string(gap->first) + ", " + in_quotes(gap->second) + ", stands for lines that were left out";
}

void measured_lines::line(std::string_view text, std::uint64_t number) {
  if (decimals_in(text) < several) return;
  last_.push_back(number);
  if (last_.size() > most_counted) last_.pop_front();
}

std::string measured_lines::doubt(std::span<const scale_record> records) const {
  std::uint64_t end = 0;
  for (const scale_record& r : records) end = std::max(end, r.line);
  const auto first = std::ranges::upper_bound(last_, end);
  const auto n = static_cast<std::size_t>(last_.end() - first);
  if (n < several) return "";
  return (n == most_counted ? "many lines" : std::to_string(n) + " lines") + " with numbers follow, from line " +
         std::to_string(*first) + " on, and are not read";
}

}  // namespace ulp::io
