// How each framework writes a chosen format and loss scale: one row for each way to write it.
#ifndef ULP_IO_CONFIG_LINES_ROWS_HPP
#define ULP_IO_CONFIG_LINES_ROWS_HPP

#include <span>
#include <string_view>
#include <vector>

namespace ulp::io {

// Lines end with "\n" where more follow. Numbers: %d decimal, %i rounded to an integer, %e exponent of the power of two,
// %p and %w a float and an integer of Python.
struct lines_row {
  std::vector<std::string_view> names;  // of frameworks and of scalers
  std::string_view bfloat16 = {};
  std::string_view float32 = {};
  std::string_view cbfloat16 = {};  // these two stand before what follows
  std::string_view type_of_float16 = {};
  // What turns float16 on where the scale is no setting: then the lines of the scale are of the program's code, and are said to be.
  std::string_view float16 = {};
  std::string_view dynamic_start = {};  // float16 with a dynamic scale
  std::string_view between = ", ";      // before each argument, but not just behind a bracket
  std::string_view initial = {};
  std::string_view growth = {};
  std::string_view dynamic_end = {};
  std::string_view constant = {};  // float16 with a constant scale
  bool has_constant = true;        // else one that never grows stands in for it
  double ceiling = 0;              // by default; 0: none
  std::string_view raised_ceiling = {};
};

[[nodiscard]] std::vector<lines_row> torch_lines_rows();
[[nodiscard]] std::vector<lines_row> program_lines_rows();
[[nodiscard]] std::span<const lines_row> lines_rows();

}  // namespace ulp::io

#endif
