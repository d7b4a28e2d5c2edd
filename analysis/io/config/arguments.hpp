// The options of a command line as they stand in a shell script.
#ifndef ULP_IO_CONFIG_ARGUMENTS_HPP
#define ULP_IO_CONFIG_ARGUMENTS_HPP

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config/syntax/tree.hpp"

namespace ulp::io {

struct argument {
  std::string name;                 // "--loss-scale"; "actor.grad_clip" of "actor.grad_clip=1.0"
  std::size_t line = 0;             // from 1
  std::vector<std::string> values;  // the words up to the next option, or what stands behind "="
  std::string doubt;                // why it may be another one when the script runs; empty: none
};

struct argument_list {
  std::vector<argument> arguments;
  std::vector<argument> perhaps;      // those that only other branches of the script have; each with its doubt
  std::vector<std::string> unset;     // what may hold arguments and is not in this text: "$GPT_ARGS", "$@", "args.json"
  std::vector<std::string> plain;     // what stands before the first of them
  std::string program;                // "pretrain_gpt.py", or empty where the text is arguments only
  std::vector<argument> of_launcher;  // what stands before the program
  std::vector<std::string> words;     // of the command that counts, or of all commands
  std::map<std::string, std::string> files;  // that the script writes, with their texts
};

// Of the command that starts a Python program and has an option among `telling` (names without dashes, '_' for '-'), with
// the variables in it replaced where the script assigns them; what is before the program, and all other commands, are not
// its arguments. Where no command starts a program, all options of the text, on bare lines, in NAME="...", in
// NAME=( ... ) or in lists of Python. Throws input_error where several commands differ in telling options.
[[nodiscard]] argument_list read_arguments(const std::string& file, std::string_view text,
                                           const std::vector<std::string_view>& telling);

// Whether a word begins as an option does: two dashes and a letter.
[[nodiscard]] bool is_option(std::string_view word);
// Whether a line of text has one.
[[nodiscard]] bool has_option(std::string_view line);

// "loss_scale" of "--loss-scale".
[[nodiscard]] std::string bare_name(std::string_view option);

// A mapping of bare names to values, the last of each; "true" where there is none.
[[nodiscard]] config_entry tree_of(const std::vector<argument>& arguments);

}  // namespace ulp::io

#endif
