// A configuration file as a tree of keys and values with their lines, the same for JSON, YAML, TOML and Python.
#ifndef ULP_IO_CONFIG_SYNTAX_TREE_HPP
#define ULP_IO_CONFIG_SYNTAX_TREE_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ulp::io {

struct config_entry;

struct config_node {
  enum class kind : std::uint8_t { null, scalar, sequence, mapping };

  kind what = kind::null;
  bool quoted = false;                // a scalar that is a text, whatever it looks like
  bool open = false;                  // a scalar that only running the file would tell
  std::string text;                   // of a scalar, as written
  std::vector<config_entry> entries;  // of a sequence (keys are empty) or a mapping

  // The entry of that key, nullptr where there is none.
  [[nodiscard]] const config_entry* find(std::string_view key) const;
};

struct config_entry {
  std::string key;
  std::size_t line = 0;  // of the key, from 1
  config_node value;
};

// It and all below it.
[[nodiscard]] std::size_t nodes_in(const config_node& node);

// Whether only a run would tell what a value is: what is no literal, or holds a variable of a shell.
[[nodiscard]] bool is_open(const config_node& value);

// "line 7".
[[nodiscard]] std::string at_line(std::size_t line);

// These throw input_error for malformed text, keys given twice, and trees too deep or too large to be a configuration.
// Comments are read over in JSON too, as DeepSpeed does.
[[nodiscard]] config_node parse_json(const std::string& file, std::string_view text);
[[nodiscard]] config_node parse_yaml(const std::string& file, std::string_view text);
// Tables, dotted keys, strings of a line, numbers, booleans and arrays of these; other TOML is an input_error too.
[[nodiscard]] config_node parse_toml(const std::string& file, std::string_view text);
// The literals of Python: assignments, and calls as mappings of their arguments, of which "()" is the name of what is called,
// "0" the first that has no name and "**" what is taken in from elsewhere. Nothing is run.
[[nodiscard]] config_node parse_python(const std::string& file, std::string_view text);

// Builds the tree from the events of a parser, and checks it meanwhile.
class tree_builder {
 public:
  explicit tree_builder(const std::string& file) : file_(file) {}

  // Whether a key is next.
  [[nodiscard]] bool expects_key() const noexcept;
  void key(const std::string& text, std::size_t line);
  void open(config_node::kind what, std::size_t line);
  // In the mapping that is open, takes the keys that it does not have itself from what the key "<<" holds, as YAML 1.1
  // has it: a mapping, or a list of them of which the first counts.
  void merge();
  // These return the node where it is now, until the next call.
  const config_node& close();
  const config_node& put(config_node node, std::size_t line);

  [[nodiscard]] config_node take() { return std::move(root_); }

 private:
  struct level {
    config_node node;
    std::string key;  // of the value to come
    std::size_t key_line = 0;
    bool has_key = false;
    std::size_t line = 0;
  };

  std::string file_;
  std::vector<level> levels_;
  std::size_t nodes_ = 0;
  config_node root_;
};

}  // namespace ulp::io

#endif
