// What a field of a table holds, as people and their tools spell it.
#ifndef ULP_IO_TABLE_CELL_VALUE_HPP
#define ULP_IO_TABLE_CELL_VALUE_HPP

#include <cstdint>
#include <string_view>

namespace ulp::io {

struct cell_value {
  enum class kind : std::uint8_t {
    nothing,    // empty, None, null, N/A
    number,     // NaN and infinities too; true is 1
    ambiguous,  // 1,234: a thousand and more, or a little more than one. `number` is the thousand
    text,
  };
  kind what = kind::nothing;
  double number = 0;
};

// decimal_comma: where fields are parted by semicolons, "0,5" is a half and "1,234" no thousand.
[[nodiscard]] cell_value value_of(std::string_view text, bool decimal_comma = false);

}  // namespace ulp::io

#endif
