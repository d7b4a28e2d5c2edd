#include "characters.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace ulp::io {
namespace {

struct range {
  std::uint32_t first;
  std::uint32_t last;
};

// Controls; U+2028 and U+2029; Bidi_Control of Unicode's PropList.txt.
constexpr std::array acting{
    range{0x00, 0x1F},     range{0x7F, 0x9F},     range{0x061C, 0x061C},
    range{0x200E, 0x200F}, range{0x2028, 0x202E}, range{0x2066, 0x2069},
};
// Default_Ignorable_Code_Point of DerivedCoreProperties.txt, annotations, and the noncharacters of Arabic forms.
constexpr std::array unseen{
    range{0x00AD, 0x00AD}, range{0x034F, 0x034F},   range{0x115F, 0x1160},   range{0x17B4, 0x17B5},
    range{0x180B, 0x180F}, range{0x200B, 0x200D},   range{0x2060, 0x206F},   range{0x3164, 0x3164},
    range{0xFDD0, 0xFDEF}, range{0xFE00, 0xFE0F},   range{0xFEFF, 0xFEFF},   range{0xFFA0, 0xFFA0},
    range{0xFFF0, 0xFFFB}, range{0x1BCA0, 0x1BCA3}, range{0x1D173, 0x1D17A}, range{0xE0000, 0xE0FFF},
};

bool is_in(const auto& ranges, std::uint32_t point) noexcept {
  return std::ranges::any_of(ranges, [&](const range& r) { return r.first <= point && point <= r.last; });
}

}  // namespace

character first_character(std::string_view text) noexcept {
  const auto lead = static_cast<std::uint8_t>(text.front());
  if (lead < 0x80) return {lead, 1};
  const auto length = static_cast<std::size_t>(std::countl_one(lead));
  if (length < 2 || length > 4 || text.size() < length) return {};
  std::uint32_t point = lead & (0x7FU >> length);
  for (const char c : text.substr(1, length - 1)) {
    const auto byte = static_cast<std::uint8_t>(c);
    if ((byte & 0xC0) != 0x80) return {};
    point = point << 6 | (byte & 0x3FU);
  }
  const std::uint32_t smallest = length == 2 ? 0x80 : length == 3 ? 0x800 : 0x10000;
  const bool surrogate = point >= 0xD800 && point <= 0xDFFF;
  if (point < smallest || point > 0x10FFFF || surrogate) return {};
  return {point, length};
}

character_kind kind_of(std::uint32_t point) noexcept {
  if (point >= 0x20 && point < 0x7F) return character_kind::plain;
  if (is_in(acting, point)) return character_kind::acts;
  const bool last_of_plane = (point & 0xFFFE) == 0xFFFE;
  return last_of_plane || is_in(unseen, point) ? character_kind::invisible : character_kind::plain;
}

}  // namespace ulp::io
