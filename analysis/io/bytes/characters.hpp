// Characters of UTF-8 text, and which of them are not what they seem.
#ifndef ULP_IO_BYTES_CHARACTERS_HPP
#define ULP_IO_BYTES_CHARACTERS_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ulp::io {

struct character {
  std::uint32_t point = 0;
  std::size_t length = 0;  // in bytes; 0 where the text does not begin with UTF-8
};
// That `text`, which is not empty, begins with. RFC 3629: no surrogates, no overlong forms, nothing above U+10FFFF.
[[nodiscard]] character first_character(std::string_view text) noexcept;

enum class character_kind {
  plain,
  acts,       // controls, separators of lines, bidirectional controls: what moves other text about
  invisible,  // default ignorable characters, noncharacters
};
[[nodiscard]] character_kind kind_of(std::uint32_t point) noexcept;

}  // namespace ulp::io

#endif
