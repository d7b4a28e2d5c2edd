#include "evaluation_loss.hpp"

#include <algorithm>
#include <array>

#include "bytes/ascii.hpp"
#include "bytes/text.hpp"

namespace ulp::io {
namespace {

bool is_of_name(char c) noexcept { return is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '/' || c == '-'; }

bool begins_with(std::string_view text, std::string_view word) {
  return text.size() >= word.size() &&
         std::ranges::equal(text.substr(0, word.size()), word, [](char a, char b) { return small(a) == b; });
}

bool is_nonfinite_at(std::string_view text) {
  constexpr std::array<std::string_view, 3> words{"infinity", "nan", "inf"};
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) text.remove_prefix(1);
  return std::ranges::any_of(words, [&](std::string_view word) {
    return begins_with(text, word) && (text.size() == word.size() || !is_of_name(text[word.size()]));
  });
}

// Whether one of its words is of an evaluation.
bool is_of_evaluation(std::string_view name) {
  constexpr std::array<std::string_view, 5> words{"val", "eval", "valid", "validation", "evaluation"};
  for (std::size_t at = 0; at < name.size();) {
    std::size_t end = at;
    while (end < name.size() && is_letter(name[end])) ++end;
    const std::string_view word = name.substr(at, end - at);
    if (std::ranges::any_of(words, [&](std::string_view w) { return w.size() == word.size() && begins_with(word, w); }))
      return true;
    at = end + 1;
  }
  return false;
}

}  // namespace

std::string_view nonfinite_evaluation(std::string_view line) {
  constexpr std::string_view loss = "loss";
  constexpr std::size_t most_separators = 4;
  for (std::size_t at = 0; at + loss.size() < line.size(); ++at) {
    if (!begins_with(line.substr(at), loss)) continue;
    std::size_t end = at + loss.size();
    while (end < line.size() && is_of_name(line[end])) ++end;
    std::size_t begin = at;
    while (begin > 0 && is_of_name(line[begin - 1])) --begin;
    std::size_t number = end;
    constexpr std::string_view separators = ":=\"' \t(|";
    while (number < line.size() && number - end < most_separators &&
           separators.find(line[number]) != std::string_view::npos)
      ++number;
    if (number == end || !is_nonfinite_at(line.substr(number))) continue;
    // "Validation loss", "valid | loss".
    std::size_t word = begin;
    while (word > 0 && begin - word < most_separators && separators.find(line[word - 1]) != std::string_view::npos)
      --word;
    while (word > 0 && is_letter(line[word - 1])) --word;
    if (is_of_evaluation(line.substr(begin, end - begin))) return line.substr(begin, end - begin);
    if (is_of_evaluation(line.substr(word, begin - word))) return line.substr(word, end - word);
  }
  return {};
}

void nonfinite_evaluations::line(std::string_view text, std::uint64_t number) {
  constexpr std::size_t longest = 4096;
  const std::string_view name = nonfinite_evaluation(text.substr(0, longest));
  if (name.empty()) return;
  if (lines_++ > 0) return;
  first_ = number;
  name_ = name;
}

std::string nonfinite_evaluations::text() const {
  if (lines_ == 0) return "";
  return "the validation loss " + in_quotes(name_) + " is not finite in " + std::to_string(lines_) +
         (lines_ == 1 ? " line, line " : " lines, the first in line ") + std::to_string(first_);
}

}  // namespace ulp::io
