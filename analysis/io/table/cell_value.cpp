#include "cell_value.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <string>
#include <system_error>

#include <ulp/model/cells/cell_table.hpp>

#include "bytes/ascii.hpp"

namespace ulp::io {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

struct known_word {
  std::string_view word;  // in small letters
  cell_value value;
};
// Python, pandas, JavaScript, R, Excel, and C of Microsoft.
constexpr std::array known_words{
    known_word{"", {}},
    known_word{"none", {}},
    known_word{"null", {}},
    known_word{"na", {}},
    known_word{"n/a", {}},
    known_word{"<na>", {}},
    known_word{"#n/a", {}},
    known_word{"-", {}},
    known_word{"--", {}},
    known_word{"nat", {}},
    known_word{"undefined", {}},
    known_word{"nan", {cell_value::kind::number, not_known}},
    known_word{"nan(ind)", {cell_value::kind::number, not_known}},
    known_word{"1.#ind", {cell_value::kind::number, not_known}},
    known_word{"1.#qnan", {cell_value::kind::number, not_known}},
    known_word{"inf", {cell_value::kind::number, infinity}},
    known_word{"infinity", {cell_value::kind::number, infinity}},
    known_word{"1.#inf", {cell_value::kind::number, infinity}},
    known_word{"\xE2\x88\x9E", {cell_value::kind::number, infinity}},
    known_word{"true", {cell_value::kind::number, 1}},
    known_word{"yes", {cell_value::kind::number, 1}},
    known_word{"false", {cell_value::kind::number, 0}},
    known_word{"no", {cell_value::kind::number, 0}},
};

std::string_view without_blanks(std::string_view text) noexcept {
  constexpr std::string_view blanks = " \t\r";
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

// What Python prints around a number: tensor(2.3, device='cuda:0'), np.float64(2.3), [2.3].
std::string_view unwrapped(std::string_view text) noexcept {
  for (const std::string_view start : {"tensor(", "np.float64(", "np.float32(", "array(", "["})
    if (text.starts_with(start)) {
      text.remove_prefix(start.size());
      return without_blanks(text.substr(0, text.find_first_of(",)]")));
    }
  return text;
}

// All of it.
bool parse(std::string_view text, double& into) noexcept {
  if (text.starts_with('+')) text.remove_prefix(1);
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, into);
  return error == std::errc() && stop == end && !text.empty();
}

// "1,234,567": groups of three behind one of at most three, without a zero in front.
bool is_grouped(std::string_view whole, char comma) noexcept {
  if (whole.starts_with('-') || whole.starts_with('+')) whole.remove_prefix(1);
  const std::size_t first = whole.find(comma);
  if (first == 0 || first > 3 || whole.front() == '0') return false;
  for (std::size_t i = first; i < whole.size(); i += 4) {
    if (whole[i] != comma || i + 3 >= whole.size()) return false;
    if (!is_digit(whole[i + 1]) || !is_digit(whole[i + 2]) || !is_digit(whole[i + 3])) return false;
  }
  return std::ranges::all_of(whole.substr(0, first), is_digit);
}

// A number with commas: those part thousands, or stand for the point.
cell_value with_commas(std::string_view text, bool decimal_comma) {
  const auto number = [&](char thousands, char point) -> cell_value {
    std::string plain;
    for (const char c : text)
      if (c != thousands) plain += c == point ? '.' : c;
    double value = 0;
    if (!parse(plain, value)) return {cell_value::kind::text};
    return {cell_value::kind::number, value};
  };
  const std::size_t comma = text.rfind(',');
  const std::size_t point = text.rfind('.');
  if (point != std::string_view::npos) {  // the last of the two stands for the point
    const bool is_point = point > comma;
    if (!is_grouped(text.substr(0, is_point ? point : comma), is_point ? ',' : '.')) return {cell_value::kind::text};
    return is_point ? number(',', '.') : number('.', ',');
  }
  const bool one = text.find(',') == comma;
  if (!is_grouped(text, ',') || (decimal_comma && one))
    return one ? number('\0', ',') : cell_value{cell_value::kind::text};
  cell_value value = number(',', '.');
  if (one) value.what = cell_value::kind::ambiguous;
  return value;
}

}  // namespace

cell_value value_of(std::string_view text, bool decimal_comma) {
  text = without_blanks(text);
  while (text.size() >= 2 && (text.front() == '"' || text.front() == '\'') && text.back() == text.front())
    text = without_blanks(text.substr(1, text.size() - 2));
  if (text.size() > 2 && text.find_first_not_of("-:") == std::string_view::npos) return {};  // a line below a heading
  text = unwrapped(text);
  double value = 0;
  if (!text.empty() && (is_digit(text.back()) || text.back() == '.') && parse(text, value))
    return {cell_value::kind::number, value};

  constexpr std::size_t longest_word = 16;
  if (text.size() <= longest_word) {
    std::string word = in_small_letters(text);
    const bool is_signed = word.size() > 1 && (word.front() == '-' || word.front() == '+');
    const bool is_negative = is_signed && word.front() == '-';
    for (const known_word& k : known_words) {
      if (word == k.word) return k.value;
      if (is_signed && k.value.what == cell_value::kind::number && std::string_view(word).substr(1) == k.word)
        return {cell_value::kind::number, is_negative ? -k.value.number : k.value.number};
    }
  }
  if (text.find(',') != std::string_view::npos) return with_commas(text, decimal_comma);
  return {cell_value::kind::text};
}

}  // namespace ulp::io
