#include <ulp/formats/names.hpp>

#include <array>
#include <cstddef>
#include <string_view>

namespace ulp {

std::string to_string(status flags) {
  constexpr std::array<std::string_view, 5> names{"inexact", "underflow", "overflow", "divide-by-zero", "invalid"};
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (any(flags, static_cast<status>(1u << i))) text += (text.empty() ? "" : ", ") + std::string{names[i]};
  return text.empty() ? "none" : text;
}

}  // namespace ulp
