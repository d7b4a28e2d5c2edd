#include "text.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>

#include <ulp/io/error.hpp>

namespace ulp::io {
namespace {

constexpr std::size_t longest_name = 1024;
constexpr std::size_t longest_quote = 80;

bool is_control(char c) noexcept { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

// The length of the UTF-8 sequence that begins `text`, 0 where it is none (RFC 3629: no surrogates, no overlong forms,
// nothing above U+10FFFF).
std::size_t sequence_length(std::string_view text) noexcept {
  const auto lead = static_cast<std::uint8_t>(text.front());
  if (lead < 0x80) return 1;
  const auto length = static_cast<std::size_t>(std::countl_one(lead));
  if (length < 2 || length > 4 || text.size() < length) return 0;
  std::uint32_t point = lead & (0x7FU >> length);
  for (const char c : text.substr(1, length - 1)) {
    const auto byte = static_cast<std::uint8_t>(c);
    if ((byte & 0xC0) != 0x80) return 0;
    point = point << 6 | (byte & 0x3FU);
  }
  const std::uint32_t smallest = length == 2 ? 0x80 : length == 3 ? 0x800 : 0x10000;
  const bool surrogate = point >= 0xD800 && point <= 0xDFFF;
  return point < smallest || point > 0x10FFFF || surrogate ? 0 : length;
}

bool is_utf8(std::string_view text) noexcept {
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace

std::string in_quotes(std::string_view text) {
  constexpr std::string_view hex = "0123456789ABCDEF";
  std::string result = "'";
  while (!text.empty() && result.size() < longest_quote) {
    const std::size_t length = std::max<std::size_t>(sequence_length(text), 1);
    const auto byte = static_cast<std::uint8_t>(text.front());
    if (is_control(text.front()) || (length == 1 && byte >= 0x80))
      result += {'\\', 'x', hex[byte >> 4], hex[byte & 15]};
    else
      result += text.substr(0, length);
    text.remove_prefix(length);
  }
  return result + (text.empty() ? "'" : "...'");
}

std::string as_utf8(std::string_view text) {
  constexpr std::string_view replacement = "\xEF\xBF\xBD";
  std::string result;
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    result += length == 0 ? replacement : text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return result;
}

std::string joined(const std::vector<std::string>& items) {
  constexpr std::size_t shown = 4;
  std::string result;
  for (std::size_t i = 0; i < std::min(items.size(), shown); ++i) result += (i == 0 ? "" : ", ") + items[i];
  if (items.size() > shown) result += " and " + std::to_string(items.size() - shown) + " more";
  return result;
}

void check_text(const std::string& file, const std::string& place, const std::string& what, std::string_view text) {
  const auto fail = [&](const std::string& reason) {
    throw input_error(file, place, what + " " + in_quotes(text) + " " + reason);
  };
  if (text.size() > longest_name) fail("is longer than 1024 bytes");
  if (std::any_of(text.begin(), text.end(), is_control)) fail("has control characters in it");
  if (!is_utf8(text)) fail("is not UTF-8");
}

void check_name(const std::string& file, const std::string& place, std::string_view name) {
  check_text(file, place, "the tensor name", name);
}

tensor_kind kind_of_name(std::string_view name) noexcept {
  const std::string_view prefix = name.substr(0, 5);
  const std::string_view rest = name.substr(prefix.size());
  if (!rest.starts_with('/') && !rest.starts_with("__")) return tensor_kind::unknown;
  if (prefix == "wgrad") return tensor_kind::weight_grad;
  if (prefix == "agrad") return tensor_kind::activation_grad;
  return tensor_kind::unknown;
}

}  // namespace ulp::io
