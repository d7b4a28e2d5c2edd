#include <ulp/io/bytes/printable.hpp>

#include <algorithm>
#include <cstdint>

#include "characters.hpp"

namespace ulp {
namespace {

// At least `least` digits.
std::string hex(std::uint32_t value, std::size_t least) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string text;
  for (; value > 0 || text.size() < least; value >>= 4) text.insert(text.begin(), digits[value & 15]);
  return text;
}

// Control characters of two bytes too: it is as one byte that old terminals take them.
std::string in_text(std::uint32_t point) {
  return point < 0x100 && point != 0xAD ? "\\x" + hex(point, 2) : "\\u{" + hex(point, 4) + "}";
}

std::string in_json(std::uint32_t point) {
  if (point == '\n') return "\n";
  if (point < 0x10000) return "\\u" + hex(point, 4);
  const std::uint32_t offset = point - 0x10000;
  return "\\u" + hex(0xD800 + (offset >> 10), 4) + "\\u" + hex(0xDC00 + (offset & 0x3FF), 4);
}

std::string with_escapes(std::string_view text, std::string (*escape)(std::uint32_t)) {
  std::string result;
  result.reserve(text.size());
  const auto is_special = [](char c) { return static_cast<unsigned char>(c - ' ') >= 0x7F - ' '; };
  while (!text.empty()) {
    const auto run = static_cast<std::size_t>(std::ranges::find_if(text, is_special) - text.begin());
    result += text.substr(0, run);
    text.remove_prefix(run);
    if (text.empty()) break;
    const io::character first = io::first_character(text);
    const std::size_t length = first.length == 0 ? 1 : first.length;
    if (first.length == 0)
      result += escape(static_cast<std::uint8_t>(text.front()));
    else if (io::kind_of(first.point) == io::character_kind::plain)
      result += text.substr(0, length);
    else
      result += escape(first.point);
    text.remove_prefix(length);
  }
  return result;
}

}  // namespace

std::string printable(std::string_view text) { return with_escapes(text, in_text); }
std::string printable_json(std::string_view json) { return with_escapes(json, in_json); }

}  // namespace ulp
