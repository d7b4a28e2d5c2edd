// The command line, as data. Only command_line.cpp includes the library that reads it: compiling that takes longer than
// all the rest of a command.
#ifndef ULP_CLI_COMMAND_LINE_HPP
#define ULP_CLI_COMMAND_LINE_HPP

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace ulp::cli {

// Where an option puts its value. bool: a flag, which has none. A list takes one value each time it is named, and all
// there are where it is known by its place.
using option_value = std::variant<bool*, std::string*, std::vector<std::string>*, std::int64_t*, std::uint64_t*,
                                  std::optional<std::uint32_t>*>;

// Further properties of an option.
struct option_details {
  std::string type = {};   // what --help shows for the value; empty: what it is
  std::string group = {};  // the heading in --help; empty: the usual one
  bool required = false;
  bool show_default = false;             // in --help
  bool split_at_commas = false;          // of a list
  std::vector<std::string> one_of = {};  // all that is taken
  // Tells what is wrong with a value, or nothing.
  std::function<std::string(const std::string&)> check = nullptr;
  std::string excludes = {};  // an option before this one that cannot be given with it
};

struct option {
  std::string name;  // "--format", "-o,--output"; without dashes, "FILE": known by its place
  option_value value;
  std::string help;
  option_details details;
};

struct command {
  std::string name;
  std::string help;
  std::string footer = {};
  std::function<int()> run = nullptr;  // returns the exit code
  std::vector<option> options = {};
  std::vector<std::string>* words = nullptr;  // instead of options: takes all that follows, unread
  std::vector<command> commands = {};         // instead of options: one of these follows

  void add(std::string option_name, option_value value, std::string option_help, option_details details = {});
};

// nullptr where there is none of this name.
[[nodiscard]] const command* find_command(const std::vector<command>& commands, const std::string& name);

struct program {
  std::string name;
  std::string help;
  std::string version;
  std::string footer;
  std::vector<command> commands;
};

// Checks: integers from 0 to 2^63 - 1 without sign; positive numbers; names of files, which are empty where a variable of
// a script is not set.
[[nodiscard]] std::string whole_number(const std::string& text);
[[nodiscard]] std::string positive(const std::string& text);
[[nodiscard]] std::string a_name(const std::string& text);

// Runs the command that was chosen, or prints --help or --version; returns the exit code. Throws usage_error.
[[nodiscard]] int run(const program& all, int argc, char** argv);

}  // namespace ulp::cli

#endif
