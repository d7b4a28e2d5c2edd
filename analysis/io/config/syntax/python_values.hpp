// The expressions of a Python file whose value can be read without running it: literals, calls as mappings of their
// arguments, arithmetic of numbers, and names to which such a value was assigned.
#ifndef ULP_IO_CONFIG_SYNTAX_PYTHON_VALUES_HPP
#define ULP_IO_CONFIG_SYNTAX_PYTHON_VALUES_HPP

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "python_tokens.hpp"
#include "tree.hpp"

namespace ulp::io {

constexpr std::size_t deepest_of_python = 64;

class python_values {
 public:
  python_values(const std::string& file, std::string_view text)
      : file_(file), text_(text), tokens_(python_tokens(file, text)) {
    assigned.what = config_node::kind::mapping;
  }

  std::size_t at = 0;           // the token that is next
  config_node assigned;         // what names stand for
  std::set<std::string> names;  // to which a value was assigned, not only an attribute
  std::set<std::string> bound;  // names that a function or a loop binds: what they stand for is open

  [[nodiscard]] const std::vector<python_token>& tokens() const { return tokens_; }
  [[nodiscard]] bool ends() const { return at + 1 >= tokens_.size(); }
  [[nodiscard]] const python_token& token() const { return tokens_[std::min(at, tokens_.size() - 1)]; }
  [[nodiscard]] std::string_view word(std::size_t of) const;
  [[nodiscard]] std::string_view word() const { return word(at); }
  [[nodiscard]] bool is(std::string_view sign) const { return word() == sign; }
  [[nodiscard]] bool is(python_token::kind what) const { return token().what == what; }
  // Blanks before the first token of a line.
  [[nodiscard]] std::size_t indent() const;

  [[noreturn]] void fail(const std::string& reason) const;
  // A file that holds, or copies, too many values is no configuration.
  void count();

  // Up to what ends an expression: a comma, an equals sign, a bracket that closes, the end of the line. Of a key of a
  // dictionary also a colon.
  config_node expression(std::size_t depth = 1, bool is_key = false);
  // The call of what is named, whose bracket is next.
  config_node call(const std::string& callee, std::size_t depth = 1);
  // "a.b.c", empty where no name is next.
  std::string path();
  // What stands from a token up to the next, as it is written.
  [[nodiscard]] config_node open(std::size_t from) const;

 private:
  std::optional<config_node> sum(std::size_t depth);
  std::optional<config_node> product(std::size_t depth);
  std::optional<config_node> power(std::size_t depth);
  std::optional<config_node> atom(std::size_t depth);
  std::optional<config_node> texts();
  std::optional<config_node> named(std::size_t depth);
  std::optional<config_node> looked_up(const std::string& name);
  config_node sequence(std::size_t depth);
  config_node dictionary(std::size_t depth);
  void take_in(config_node& node, std::size_t depth);
  void next_item(std::string_view close);
  void skip_value(bool is_key);
  [[nodiscard]] bool ends_value(bool is_key) const;
  void count_copy(const config_node& node);

  std::string file_;
  std::string_view text_;
  std::vector<python_token> tokens_;
  std::size_t values_ = 0;
};

}  // namespace ulp::io

#endif
