// What kind of text a configuration is, by the file's name and its first lines.
#ifndef ULP_IO_CONFIG_FILE_SYNTAX_HPP
#define ULP_IO_CONFIG_FILE_SYNTAX_HPP

#include <initializer_list>
#include <string>
#include <string_view>

#include "config/syntax/tree.hpp"

namespace ulp::io {

// Throws input_error where it is no text of sensible size. "-" is standard input.
[[nodiscard]] std::string text_of(const std::string& file);

// A shell script, or options on bare lines.
[[nodiscard]] bool is_command_line(const std::string& file, std::string_view text);

// The tree of any other: JSON, TOML, Python, else YAML.
[[nodiscard]] config_node parse_config(const std::string& file, std::string_view text);

// Whether a name of a file ends so.
[[nodiscard]] bool is_named(std::string_view file, std::initializer_list<std::string_view> extensions);

}  // namespace ulp::io

#endif
