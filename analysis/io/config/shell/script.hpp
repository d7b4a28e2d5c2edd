// The commands of a shell script with the variables in them replaced by what the script itself assigns to them. Nothing is
// run: branches are all taken, one after the other, and what only a run would tell stays as it is written.
#ifndef ULP_IO_CONFIG_SHELL_SCRIPT_HPP
#define ULP_IO_CONFIG_SHELL_SCRIPT_HPP

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace ulp::io {

// A text of which each character knows its line in the file and the assignment that it was written in, 0 for none.
struct traced_text {
  struct origin {
    std::uint32_t line = 0;
    std::uint32_t assignment = 0;
  };
  std::string text;
  std::vector<origin> origins;

  void add(char c, origin from) {
    text += c;
    origins.push_back(from);
  }
  void add(const traced_text& other) {
    text += other.text;
    origins.insert(origins.end(), other.origins.begin(), other.origins.end());
  }
  [[nodiscard]] std::size_t line() const { return origins.empty() ? 0 : origins.front().line; }
  // Of a word that begins with a variable, that of the word.
  [[nodiscard]] std::size_t last_line() const { return origins.empty() ? 0 : origins.back().line; }
};

struct shell_command {
  std::vector<traced_text> words;
  std::set<std::string> variables;  // that were replaced in it, and in those
};

struct shell_script {
  // One after the other: where a variable is assigned twice with different values, in branches as a rule, which one
  // counts is not known.
  struct assignment {
    std::string name;
    std::size_t line = 0;
    std::vector<traced_text> words;  // one, or the elements of an array
    std::string condition;           // a variable that the branch depends on in which it stands
  };
  std::vector<shell_command> commands;  // those in `sh -c "..."` and `eval ...` too
  std::vector<assignment> assignments;  // the number in an origin counts from 1
  std::map<std::string, std::vector<std::size_t>, std::less<>> of_variable;  // indices of them
  std::map<std::string, std::string> written;  // here-documents by the name of the file that they are written to

  // What a variable may hold at the end; more than one where assignments contradict one another (then at most 16).
  [[nodiscard]] std::vector<const assignment*> values_of(std::string_view name) const;
};

// `file` is for messages. Throws input_error where variables make the text grow beyond all measure.
[[nodiscard]] shell_script read_script(const std::string& file, std::string_view text);

// The text of a JSON file that a script writes, with what only a run would tell in quotes: it is no number then.
[[nodiscard]] std::string json_of_script(std::string_view text);

}  // namespace ulp::io

#endif
