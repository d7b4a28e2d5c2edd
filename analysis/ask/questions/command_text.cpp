#include <ulp/ask/questions/command_text.hpp>

#include <string_view>
#include <ulp/io/bytes/printable.hpp>

namespace ulp {
namespace {

// $'...' of bash, zsh and POSIX.1-2024, every byte of what is not printable in three octal digits: \x has no end there.
std::string ansi_quoted(const std::string& word) {
  std::string text = "$'";
  for (const char c : word) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\'' || c == '\\')
      text += {'\\', c};
    else if (byte >= 0x20 && byte < 0x7F)
      text += c;
    else
      text += {'\\', static_cast<char>('0' + (byte >> 6)), static_cast<char>('0' + (byte >> 3 & 7)),
               static_cast<char>('0' + (byte & 7))};
  }
  return text + "'";
}

}  // namespace

std::string shell_quoted(const std::string& word) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./,:=+@%^";
  if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) return word;
  if (printable(word) != word) return ansi_quoted(word);
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? "'\\''" : std::string(1, c);
  return text + "'";
}

std::string file_argument(const std::string& path) {
  return shell_quoted(path.size() > 1 && path.front() == '-' ? "./" + path : path);
}

std::string option_text(const std::string& name, const std::string& value) {
  return " " + name + (value.starts_with('-') ? "=" : " ") + shell_quoted(value);
}

}  // namespace ulp
