// ASCII characters, whatever the locale.
#ifndef ULP_IO_BYTES_ASCII_HPP
#define ULP_IO_BYTES_ASCII_HPP

#include <string>
#include <string_view>

namespace ulp::io {

[[nodiscard]] constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
[[nodiscard]] constexpr bool is_letter(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
[[nodiscard]] constexpr char small(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

[[nodiscard]] inline std::string in_small_letters(std::string_view text) {
  std::string all{text};
  for (char& c : all) c = small(c);
  return all;
}

}  // namespace ulp::io

#endif
