#include "arguments.hpp"

#include <algorithm>
#include <set>

namespace ulp::io {
namespace {

bool is_name_character(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

struct word {
  std::string text;
  std::size_t line = 0;
};

std::vector<word> words_in(std::string_view text) {
  constexpr std::string_view separators = " \t\r\n\"'()[],;&|<>`";
  std::vector<word> words;
  word now;
  std::size_t line = 1;
  const auto finish = [&] {
    if (!now.text.empty()) words.push_back(std::move(now));
    now = {};
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool backslash = c == '\\';
    if (separators.find(c) != std::string_view::npos || backslash) {
      finish();
    } else if (c == '#' && now.text.empty()) {
      i = std::min(text.find('\n', i), text.size()) - 1;
    } else {
      if (now.text.empty()) now.line = line;
      now.text += c;
    }
    if (i < text.size() && text[i] == '\n') ++line;
  }
  finish();
  return words;
}

// NAME of "NAME=..." at the start of a word.
std::string assigned_name(const std::string& word) {
  const auto end = std::ranges::find_if_not(word, is_name_character);
  const std::string_view rest(end, word.end());
  const bool assigns = end != word.begin() && (rest.starts_with('=') || rest.starts_with("+="));
  return assigns ? std::string(word.begin(), end) : "";
}

// NAME of "$NAME" or "${NAME...".
std::string variable_in(std::string_view word) {
  if (!word.starts_with('$')) return "";
  word.remove_prefix(word.starts_with("${") ? 2 : 1);
  return {word.begin(), std::ranges::find_if_not(word, is_name_character)};
}

bool seems_to_hold_arguments(const std::string& variable) {
  return variable.find("ARG") != std::string::npos || variable.find("OPT") != std::string::npos;
}

}  // namespace

bool is_option(std::string_view word) {
  return word.size() > 2 && word.starts_with("--") &&
         ((word[2] >= 'a' && word[2] <= 'z') || (word[2] >= 'A' && word[2] <= 'Z'));
}

argument_list read_arguments(std::string_view text) {
  argument_list list;
  std::set<std::string> assigned;
  std::set<std::string> used;
  for (const word& w : words_in(text)) {
    if (const std::string name = assigned_name(w.text); !name.empty()) assigned.insert(name);
    if (const std::string name = variable_in(w.text); seems_to_hold_arguments(name)) used.insert(name);
    if (!is_option(w.text)) {
      if (!list.arguments.empty()) list.arguments.back().values.push_back(w.text);
      continue;
    }
    const std::size_t equals = w.text.find('=');
    argument a{.name = w.text.substr(0, equals), .line = w.line};
    if (equals != std::string::npos && equals + 1 < w.text.size()) a.values.push_back(w.text.substr(equals + 1));
    list.arguments.push_back(std::move(a));
  }
  for (const std::string& name : used)
    if (!assigned.contains(name)) list.unset.push_back("$" + name);
  return list;
}

}  // namespace ulp::io
