// The options of a command line as they stand in a shell script.
#ifndef ULP_IO_CONFIG_ARGUMENTS_HPP
#define ULP_IO_CONFIG_ARGUMENTS_HPP

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ulp::io {

struct argument {
  std::string name;                 // "--loss-scale"
  std::size_t line = 0;             // from 1
  std::vector<std::string> values;  // the words up to the next option, or what stands behind "="
};

struct argument_list {
  std::vector<argument> arguments;
  std::vector<std::string> unset;  // variables that seem to hold arguments and are not set in this text: "$GPT_ARGS"
};

// Words are separated by blanks, ends of lines, quotes, brackets and ;&|<>, comments are left out: so options are found
// on a bare line, behind backslashes at ends of lines, in NAME="..." and in NAME=( ... ). Nothing is executed or expanded.
[[nodiscard]] argument_list read_arguments(std::string_view text);

// Whether a word begins as an option does: two dashes and a letter.
[[nodiscard]] bool is_option(std::string_view word);

}  // namespace ulp::io

#endif
