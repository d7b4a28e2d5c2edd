// The first line is an expression of a user, the rest a name or path that it is searched in.
#include <ulp/io/bytes/regex.hpp>

#include <algorithm>
#include <stdexcept>
#include <string_view>

#include "bytes/text.hpp"
#include "support.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input{reinterpret_cast<const char*>(data), size};
  const std::size_t end = std::min(input.find('\n'), size);
  constexpr std::size_t longest_path = 4096;
  const std::string_view text = input.substr(std::min(end + 1, size)).substr(0, longest_path);
  try {
    const ulp::regex expression(input.substr(0, end));
    const auto group = expression.last_group(text);
    if (group && !expression.matches(text)) ulp::fuzz::wrong("a group of no match");
    if (group && ulp::io::as_utf8(text).find(*group) == std::string::npos)
      ulp::fuzz::wrong("a group that the text does not hold");
  } catch (const std::invalid_argument& problem) {
    const std::string_view line = problem.what();
    if (line.empty() || line.size() > 500 || !std::ranges::all_of(line, [](char c) { return c < 0 || c >= ' '; }))
      ulp::fuzz::wrong("the error is no short line");
  }
  return 0;
}
