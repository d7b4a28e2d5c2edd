#include "text.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include <ulp/io/bytes/error.hpp>
#include <ulp/io/bytes/printable.hpp>

#include "characters.hpp"

namespace ulp::io {

std::string decimal_text(double x) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), x).ptr};
}

std::string count_text(std::uint64_t n, const std::string& what) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

namespace {

constexpr std::size_t longest_name = 1024;
constexpr std::size_t longest_quote = 80;
constexpr std::size_t longest_item = 200;

// Printable, the rest of a long one as "..."; `quote` stands around what is shown.
std::string shortened(std::string_view text, std::size_t most, const char* quote) {
  std::string result = quote;
  while (!text.empty() && result.size() < most) {
    const std::size_t length = std::max<std::size_t>(first_character(text).length, 1);
    result += printable(text.substr(0, length));
    text.remove_prefix(length);
  }
  return result + (text.empty() ? "" : "...") + quote;
}

}  // namespace

std::string in_quotes(std::string_view text) { return shortened(text, longest_quote, "'"); }

std::string as_utf8(std::string_view text) {
  constexpr std::string_view replacement = "\xEF\xBF\xBD";
  std::string result;
  while (!text.empty()) {
    const std::size_t length = first_character(text).length;
    result += length == 0 ? replacement : text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return result;
}

std::string joined(const std::vector<std::string>& items) {
  constexpr std::size_t shown = 4;
  std::string result;
  for (std::size_t i = 0; i < std::min(items.size(), shown); ++i)
    result += (i == 0 ? "" : ", ") + shortened(items[i], longest_item, "");
  if (items.size() > shown) result += " and " + std::to_string(items.size() - shown) + " more";
  return result;
}

void check_text(const std::string& file, const std::string& place, const std::string& what, std::string_view text) {
  const auto refuse = [&, whole = text](const std::string& reason) {
    throw input_error(file, place, what + " " + in_quotes(whole) + " " + reason);
  };
  if (text.size() > longest_name) refuse("is longer than 1024 bytes");
  while (!text.empty()) {
    const character first = first_character(text);
    if (first.length == 0) refuse("is not UTF-8");
    if (kind_of(first.point) == character_kind::acts) refuse("has control characters");
    text.remove_prefix(first.length);
  }
}

void check_name(const std::string& file, const std::string& place, std::string_view name) {
  check_text(file, place, "the tensor name", name);
}

tensor_kind kind_of_name(std::string_view name) noexcept { return without_prefix(name).second; }

std::pair<std::string_view, tensor_kind> without_prefix(std::string_view name) noexcept {
  constexpr std::array prefixes{std::pair{std::string_view{"wgrad"}, tensor_kind::weight_grad},
                                std::pair{std::string_view{"agrad"}, tensor_kind::activation_grad},
                                std::pair{std::string_view{"weight"}, tensor_kind::weight},
                                std::pair{std::string_view{"update"}, tensor_kind::update},
                                std::pair{std::string_view{"activation"}, tensor_kind::activation}};
  for (const auto& [prefix, kind] : prefixes) {
    if (!name.starts_with(prefix)) continue;
    const std::string_view rest = name.substr(prefix.size());
    if (rest.starts_with('/')) return {rest.substr(1), kind};
    if (rest.starts_with("__")) return {rest.substr(2), kind};
  }
  return {name, tensor_kind::unknown};
}

}  // namespace ulp::io
