// The part of TOML that configurations of training use: tables, dotted keys, strings, numbers, booleans, arrays of them. In files
// that are not called so the values may be JSON's, as spaCy writes them.
#include <algorithm>

#include <ulp/io/bytes/error.hpp>

#include "bytes/text.hpp"
#include "tree.hpp"

namespace ulp::io {
namespace {

constexpr std::size_t most_toml_values = 20'000;
constexpr std::size_t deepest_of_toml = 16;

class toml_reader {
 public:
  toml_reader(const std::string& file, std::string_view text)
      : file_(file), text_(text), may_be_json_(!file.ends_with(".toml")) {
    root_.what = config_node::kind::mapping;
  }

  config_node read() {
    config_node* table = &root_;
    for (skip_lines(); at_ < text_.size(); skip_lines()) {
      if (here() == '[') {
        const bool of_array = text_.substr(at_).starts_with("[[");
        at_ += of_array ? 2 : 1;
        const auto path = key();
        expect(of_array ? "]]" : "]");
        if (of_array) fail("has an array of tables, which is not read here; leave it out");
        table = &table_of(root_, path);
      } else {
        auto path = key();
        expect("=");
        const std::string last = std::move(path.back());
        path.pop_back();
        config_node& inner = table_of(*table, path);
        if (const config_entry* const before = inner.find(last))
          fail("the key " + in_quotes(last) + " is given twice, first on line " + std::to_string(before->line));
        if (++values_ > most_toml_values) fail("holds more than " + std::to_string(most_toml_values) + " values");
        const std::size_t line = line_;
        inner.entries.push_back({last, line, value()});
      }
      skip_blanks();
      if (here() == '#') skip_comment();
      if (at_ < text_.size() && here() != '\n' && here() != '\r') fail("has more on the line than a value");
    }
    return std::move(root_);
  }

 private:
  [[nodiscard]] char here() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  [[noreturn]] void fail(const std::string& reason) const {
    const bool says = reason.starts_with("has") || reason.starts_with("holds") || reason.starts_with("the key");
    throw input_error(file_, at_line(line_), says ? reason : "is not TOML: " + reason);
  }

  void skip_blanks() {
    while (here() == ' ' || here() == '\t') ++at_;
  }
  void skip_comment() {
    while (at_ < text_.size() && here() != '\n') ++at_;
  }
  void skip_lines() {
    for (; at_ < text_.size(); ++at_) {
      if (here() == '#') skip_comment();
      if (here() == '\n') ++line_;
      if (here() != ' ' && here() != '\t' && here() != '\r' && here() != '\n') return;
      if (at_ == text_.size()) return;
    }
  }
  void expect(std::string_view what) {
    skip_blanks();
    if (!text_.substr(at_).starts_with(what)) fail(std::string{what} + " is missing");
    at_ += what.size();
    skip_blanks();
  }

  std::vector<std::string> key() {
    std::vector<std::string> path;
    while (true) {
      skip_blanks();
      if (here() == '"' || here() == '\'') {
        path.push_back(quoted());
      } else {
        const std::size_t begin = at_;
        const auto fits = [](char c) {
          return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
                 c == '@';
        };
        while (fits(here())) ++at_;
        if (at_ == begin) fail("a key is missing");
        path.emplace_back(text_.substr(begin, at_ - begin));
      }
      if (path.size() > deepest_of_toml) fail("is nested deeper than " + std::to_string(deepest_of_toml) + " levels");
      skip_blanks();
      if (here() != '.') return path;
      ++at_;
    }
  }

  std::string quoted() {
    const char quote = here();
    if (text_.substr(at_).starts_with(std::string(3, quote)))
      fail("has a string of several lines, which is not read here; leave it out");
    std::string result;
    for (++at_; here() != quote; ++at_) {
      if (at_ >= text_.size() || here() == '\n') fail("a string does not end");
      if (here() == '\\' && quote == '"') ++at_;
      result += here();
    }
    ++at_;
    return result;
  }

  config_node value(std::size_t depth = 0) {
    if (here() == '"' || here() == '\'') return {.what = config_node::kind::scalar, .quoted = true, .text = quoted()};
    if (here() == '{') return table_within_line(depth);
    if (here() == '[') {
      if (depth == deepest_of_toml) fail("is nested deeper than " + std::to_string(deepest_of_toml) + " levels");
      config_node list{.what = config_node::kind::sequence};
      ++at_;
      for (skip_lines(); here() != ']'; skip_lines()) {
        if (at_ >= text_.size()) fail("an array does not end");
        if (++values_ > most_toml_values) fail("holds more than " + std::to_string(most_toml_values) + " values");
        list.entries.push_back({"", line_, value(depth + 1)});
        end_item(']');
      }
      ++at_;
      return list;
    }
    const std::size_t begin = at_;
    while (at_ < text_.size() && std::string_view(" \t\r\n#,]}").find(here()) == std::string_view::npos) ++at_;
    if (text_.substr(begin).starts_with("${")) {
      at_ = std::min(text_.find_first_of("}\n", begin), text_.size() - 1);
      if (here() != '}') fail("${ has no }");
      ++at_;
    }
    if (at_ == begin) fail("a value is missing");
    std::string text{text_.substr(begin, at_ - begin)};
    if (text == "null" && may_be_json_) return {.what = config_node::kind::null};
    if (text == "null") fail("it has no null; leave the key out");
    if (!text.starts_with("${")) std::erase(text, '_');
    return {.what = config_node::kind::scalar, .text = std::move(text)};
  }

  // Behind an item of an array or of a table within a line.
  void end_item(char closing) {
    skip_lines();
    if (here() == ',')
      ++at_;
    else if (at_ < text_.size() && here() != closing)
      fail("a comma is missing between two values");
  }

  // {a = 1}, or as spaCy's files have it {"a": 1}.
  config_node table_within_line(std::size_t depth) {
    if (depth == deepest_of_toml) fail("is nested deeper than " + std::to_string(deepest_of_toml) + " levels");
    config_node table{.what = config_node::kind::mapping};
    ++at_;
    for (skip_lines(); here() != '}'; skip_lines()) {
      if (at_ >= text_.size()) fail("a table does not end");
      if (++values_ > most_toml_values) fail("holds more than " + std::to_string(most_toml_values) + " values");
      const bool is_quoted = here() == '"';
      auto path = key();
      expect(here() == ':' && is_quoted && may_be_json_ ? ":" : "=");
      const std::string last = std::move(path.back());
      path.pop_back();
      config_node& inner = table_of(table, path);
      if (inner.find(last) != nullptr) fail("the key " + in_quotes(last) + " is given twice");
      const std::size_t line = line_;
      config_node held = value(depth + 1);
      inner.entries.push_back({last, line, std::move(held)});
      end_item('}');
    }
    ++at_;
    return table;
  }

  config_node& table_of(config_node& from, const std::vector<std::string>& path) {
    config_node* node = &from;
    for (const std::string& name : path) {
      const auto found = std::ranges::find(node->entries, name, &config_entry::key);
      if (found == node->entries.end()) {
        if (++values_ > most_toml_values) fail("holds more than " + std::to_string(most_toml_values) + " values");
        node->entries.push_back({name, line_, {.what = config_node::kind::mapping}});
        node = &node->entries.back().value;
      } else {
        if (found->value.what != config_node::kind::mapping) fail(in_quotes(name) + " is a value and a table");
        node = &found->value;
      }
    }
    return *node;
  }

  const std::string& file_;
  std::string_view text_;
  bool may_be_json_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  std::size_t values_ = 0;
  config_node root_;
};

}  // namespace

config_node parse_toml(const std::string& file, std::string_view text) { return toml_reader(file, text).read(); }

}  // namespace ulp::io
