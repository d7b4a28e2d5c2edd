#include "typeset.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include <ulp/io/bytes/printable.hpp>

namespace ulp {
namespace {

constexpr std::array<std::string_view, 10> raised_digits{"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

std::string raised(std::string_view number) {
  std::string text;
  for (const char c : number) {
    if (is_digit(c))
      text += raised_digits[static_cast<std::size_t>(c - '0')];
    else
      text += c == '-' ? "⁻" : "˙";  // U+02D9: Unicode has no raised point
  }
  return text;
}

// The exponent that `text` begins with: digits, perhaps signed, perhaps with a fraction.
std::size_t exponent_size(std::string_view text) {
  std::size_t at = text.starts_with('-') ? 1 : 0;
  const std::size_t first = at;
  while (at < text.size() && is_digit(text[at])) ++at;
  if (at == first) return 0;
  if (at + 1 < text.size() && text[at] == '.' && is_digit(text[at + 1]))
    for (++at; at < text.size() && is_digit(text[at]);) ++at;
  return at < text.size() && is_word(text[at]) ? 0 : at;
}

// Whether the number that begins there belongs to prose.
bool is_prose(std::string_view before) {
  if (before.empty()) return true;
  const std::size_t word = before.find_last_of(" (") + 1;  // npos + 1 is 0
  constexpr std::string_view of_names = "./-:";
  if (is_word(before.back()) || of_names.find(before.back()) != of_names.npos ||
      before.substr(word).find('=') != before.npos)
    return false;
  if (word < 2) return true;
  const std::string_view earlier = before.substr(0, word - 1);
  const std::string_view last = earlier.substr(earlier.find_last_of(" (") + 1);
  return !last.starts_with("--");
}

constexpr const char* ellipsis = "…";

// Where each begins.
std::vector<std::size_t> characters_of(std::string_view text) {
  std::vector<std::size_t> begins;
  for (std::size_t i = 0; i < text.size(); ++i)
    if ((static_cast<unsigned char>(text[i]) & 0xC0U) != 0x80U) begins.push_back(i);
  return begins;
}

}  // namespace

std::string typeset(std::string_view text) {
  std::string result;
  std::size_t done = 0;
  for (std::size_t at = text.find('^'); at != text.npos; at = text.find('^', at + 1)) {
    std::size_t base = at;
    while (base > done && is_digit(text[base - 1])) --base;
    const std::size_t size = exponent_size(text.substr(at + 1));
    if (base == at || size == 0 || !is_prose(text.substr(0, base))) continue;
    result += text.substr(done, at - done);
    result += raised(text.substr(at + 1, size));
    done = at + 1 + size;
  }
  return result + std::string{text.substr(done)};
}

std::string power_of_two(double exponent) { return "2" + raised(fmt::format("{:g}", exponent + 0.0)); }

std::string power_of_ten(double exponent) { return "10" + raised(fmt::format("{:g}", exponent + 0.0)); }

std::string elided(std::string_view name, std::size_t most) {
  const std::string text = printable(name);
  const std::vector<std::size_t> begins = characters_of(text);
  if (begins.size() <= most || most < 3) return text;
  const std::size_t head = (most - 1) / 2;
  const std::size_t tail = most - 1 - head;
  return text.substr(0, begins[head]) + ellipsis + text.substr(begins[begins.size() - tail]);
}

std::vector<std::string> elided(const std::vector<std::string>& names, std::size_t most) {
  std::vector<std::string> all;
  std::optional<std::string> common;  // of the long ones
  std::size_t many = 0;
  for (const std::string& name : names) {
    const std::string text = all.emplace_back(printable(name));
    if (characters_of(text).size() <= most) continue;
    ++many;
    if (!common) common = text;
    common->resize(static_cast<std::size_t>(std::ranges::mismatch(*common, text).in1 - common->begin()));
  }
  // Whole parts of names only.
  const std::size_t cut = many > 1 ? common->find_last_of("./") + 1 : 0;  // npos + 1 is 0
  for (std::string& text : all) {
    if (characters_of(text).size() <= most) continue;
    text = cut > 1 ? ellipsis + elided(text.substr(cut), most - 1) : elided(text, most);
  }
  return all;
}

}  // namespace ulp
