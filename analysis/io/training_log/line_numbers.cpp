#include "line_numbers.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace ulp::io {
namespace {

constexpr std::size_t most_held = 64;

struct numbered {
  std::int64_t number = -1;  // none
  std::size_t length = 0;    // of the number and what parts it from the line
};

numbered number_of(std::string_view line) {
  const std::size_t first = std::min(line.find_first_not_of(" \t"), line.size());
  const std::size_t begin = first + (line.substr(first).starts_with('L') ? 1 : 0);
  numbered n;
  const auto [stop, error] = std::from_chars(line.data() + begin, line.data() + line.size(), n.number);
  const auto end = static_cast<std::size_t>(stop - line.data());
  const bool is_number = error == std::errc() && line.substr(begin).find_first_of("0123456789") == 0;
  if (!is_number || end == line.size() || (line[end] != ':' && line[end] != '\t')) return {};
  n.length = end + 1;
  // "243413: 2.5" and "1 2.5 65536": the numbers are those of steps; "12:30:01": of hours.
  const std::string_view rest = line.substr(n.length);
  const bool is_time =
      rest.size() > 2 && line[end] == ':' && rest.find_first_not_of("0123456789") == 2 && rest[2] == ':';
  const bool has_words = std::ranges::any_of(rest, [](char c) { return (c >= 'a' && c <= 'z' && c != 'e'); }) &&
                         rest.find_first_not_of(" \t") != std::string_view::npos &&
                         !rest.substr(rest.find_first_not_of(" \t")).starts_with("nan");
  return has_words && !is_time ? n : numbered{};
}

}  // namespace

void line_numbers::line(const std::string& text, std::uint64_t number) {
  const bool says_nothing = text.empty() && held_.empty();
  if (state_ == state::plain || says_nothing) return pass_(text, number);
  const numbered n = number_of(text);
  if (state_ == state::numbered) {
    const bool ascends = n.number > last_;
    if (ascends) last_ = n.number;
    return pass_(std::string_view(text).substr(ascends ? n.length : 0), number);
  }
  held_.emplace_back(text, number);
  const bool can_be = n.number > std::max<std::int64_t>(last_, 0);  // ranks begin at 0
  if (!can_be) return decide(state::plain);
  last_ = n.number;
  if (held_.size() == most_held) decide(state::numbered);
}

void line_numbers::finish() {
  constexpr std::size_t fewest = 3;
  if (state_ == state::open) decide(held_.size() >= fewest ? state::numbered : state::plain);
}

void line_numbers::decide(state now) {
  state_ = now;
  last_ = -1;
  for (const auto& [text, number] : std::exchange(held_, {})) line(text, number);
}

}  // namespace ulp::io
