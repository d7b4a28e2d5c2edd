// The tokens of a Python file, as its reference has them (docs.python.org/3/reference/lexical_analysis): comments and joined
// lines are read over, and a line ends only outside of brackets.
#ifndef ULP_IO_CONFIG_SYNTAX_PYTHON_TOKENS_HPP
#define ULP_IO_CONFIG_SYNTAX_PYTHON_TOKENS_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ulp::io {

struct python_token {
  enum class kind : std::uint8_t { name, number, text, sign, line_end };

  kind what = kind::line_end;
  std::size_t begin = 0;  // in bytes of the file
  std::size_t end = 0;
  std::size_t line = 1;
};

// Ends with a line_end. Throws input_error where a text does not end.
[[nodiscard]] std::vector<python_token> python_tokens(const std::string& file, std::string_view text);

// Whether a token that is a text holds values of names: f"{x}".
[[nodiscard]] bool is_formatted(std::string_view token);
// What a text stands for, without quotes and with the usual escapes.
[[nodiscard]] std::string text_of_token(std::string_view token);
// The real number that a token stands for: 1_000, 0x10, 1e-5.
[[nodiscard]] std::optional<double> number_of_token(std::string_view token);

}  // namespace ulp::io

#endif
