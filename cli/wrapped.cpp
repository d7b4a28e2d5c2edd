#include "wrapped.hpp"

#include <algorithm>

namespace ulp::cli {
namespace {

// Of UTF-8: all bytes but those that continue a character.
std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

}  // namespace

std::string wrapped(std::string_view lead, std::string_view text, std::size_t columns) {
  std::string all{lead};
  if (columns == 0) return all.append(text);
  const std::size_t indent = characters(lead);
  // What the text itself begins with stays, as the indentation of a list.
  const std::size_t spaces = std::min(text.find_first_not_of(' '), text.size());
  all.append(text.substr(0, spaces));
  text.remove_prefix(spaces);
  std::size_t at = indent + spaces;
  bool begins = true;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' ', 1), text.size());
    std::string_view word = text.substr(0, end);
    text.remove_prefix(end);
    if (!begins && at + characters(word) > columns) {
      all += '\n';
      all.append(indent + spaces, ' ');
      at = indent + spaces;
      word.remove_prefix(word.front() == ' ' ? 1 : 0);
    }
    all.append(word);
    at += characters(word);
    begins = false;
  }
  return all;
}

}  // namespace ulp::cli
