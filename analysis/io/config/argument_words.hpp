// The words of a command as arguments: options, overrides, and the values behind them.
#ifndef ULP_IO_CONFIG_ARGUMENT_WORDS_HPP
#define ULP_IO_CONFIG_ARGUMENT_WORDS_HPP

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arguments.hpp"
#include "config/shell/script.hpp"

namespace ulp::io {

using words = std::vector<traced_text>;

struct placed_argument {
  argument what;
  const traced_text* option = nullptr;
  const traced_text* value = nullptr;  // the first
};

[[nodiscard]] bool is_name_character(char c);
// Words of a text that is no command: separated by quotes, brackets and commas too.
[[nodiscard]] words words_in(std::string_view text);
// All arguments of the script, which are no value of the option before them.
[[nodiscard]] bool is_all_of_caller(std::string_view word);
[[nodiscard]] std::vector<placed_argument> arguments_in(const words& all, std::size_t from, std::size_t to);
// The words before the first option or override.
[[nodiscard]] std::vector<std::string> plain_words(const words& all, std::size_t from);
// Where the program stands among the words; a module of `python -m` where there is no file.
[[nodiscard]] std::optional<std::size_t> program_in(const words& all);

}  // namespace ulp::io

#endif
