// What may stand for the value of an option, or for an argument known by its place.
#ifndef ULP_CLI_COMPLETION_VALUES_HPP
#define ULP_CLI_COMPLETION_VALUES_HPP

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "command_line.hpp"

namespace ulp::cli {

// What the line says already.
struct typed_line {
  std::string command;                                      // "precision dot"
  std::vector<std::string> arguments;                       // known by their place
  std::vector<std::pair<std::string, std::string>> values;  // of options, by one of their names: "--scaler", "pytorch"

  // What was given last; empty where nothing was.
  [[nodiscard]] std::string value_of(std::string_view name) const;
};

struct candidate {
  std::string word;
  std::string meaning = {};
};

struct choice {
  std::vector<candidate> words;
  bool files = false;
};

// The first value, where the option takes several between commas; `begun` is what is typed of it.
[[nodiscard]] choice values_of(const option& o, const typed_line& line, std::string_view begun);

// The option's names: "-o,--output" has two.
[[nodiscard]] std::vector<std::string> names_of(const option& o);

}  // namespace ulp::cli

#endif
