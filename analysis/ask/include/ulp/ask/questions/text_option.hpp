// Options as data: every program that takes one registers the same row, and a command line is written from it.
#ifndef ULP_ASK_QUESTIONS_TEXT_OPTION_HPP
#define ULP_ASK_QUESTIONS_TEXT_OPTION_HPP

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace ulp {

// An option, bound to where its value is kept.
struct text_option {
  using place = std::variant<bool*, std::string*, std::vector<std::string>*, std::int64_t*, std::uint64_t*>;

  std::string name;  // without dashes
  place value;       // bool: a flag; a list takes one value each time the option is given
  std::string type;  // of the value, for people; empty for flags
  std::string help;
  std::string group = {};                // the heading it stands under; empty: the usual one
  std::vector<std::string> one_of = {};  // all that is taken
  std::string excludes = {};             // an option before this one that cannot be given with it
  bool is_file = false;
};

// " --name value" of all that differ from what they are usually: `usual` holds the same options in the same order.
[[nodiscard]] std::string arguments_of(const std::vector<text_option>& given, const std::vector<text_option>& usual);

// The same of an object whose options are options_of(object).
template <typename Text>
[[nodiscard]] std::string arguments_of(Text text) {
  Text usual;
  return arguments_of(options_of(text), options_of(usual));
}

}  // namespace ulp

#endif
