// JSON as Python writes it: NaN, Infinity and -Infinity are numbers.
#ifndef ULP_IO_TABLE_JSON_VALUES_HPP
#define ULP_IO_TABLE_JSON_VALUES_HPP

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace ulp::io {

struct json_value {
  enum class kind : std::uint8_t { null, boolean, number, text, array, object };
  kind what = kind::null;
  double number = 0;  // 1 is true
  std::string text;
  std::vector<std::string> keys;  // of an object, in its order
  std::vector<json_value> items;  // of these, or of an array
  std::size_t line = 0;           // of the text, from 1 on; of objects and arrays

  [[nodiscard]] bool is(kind k) const noexcept { return what == k; }
  [[nodiscard]] const json_value* find(std::string_view key) const noexcept;
};

// what() says what is wrong, and at which byte.
class json_error : public std::runtime_error {
 public:
  json_error(const std::string& reason, std::size_t line) : std::runtime_error(reason), line(line) {}
  std::size_t line;
};

// All of the text as one value, nested at most 32 deep. Throws json_error, also for more than `most` values.
[[nodiscard]] json_value parse_json(std::string_view text, std::size_t most);

}  // namespace ulp::io

#endif
