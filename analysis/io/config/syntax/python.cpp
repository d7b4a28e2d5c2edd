// The literals of a Python file, as a tree: assignments, calls with their arguments, dictionaries, lists, numbers, texts.
// Nothing is run. What is no literal is kept as its text and marked as open: only running it would tell what it is. Branches
// and bodies of functions are read like any other line.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include <ulp/io/bytes/error.hpp>

#include "bytes/text.hpp"
#include "tree.hpp"

namespace ulp::io {
namespace {

constexpr std::size_t most_values = 20'000;
constexpr std::size_t deepest = 64;

bool begins_name(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_of_name(char c) { return begins_name(c) || is_digit(c); }

std::string text_of_number(double x) {
  std::array<char, 64> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), x).ptr;
  return {buffer.data(), end};
}

class python_reader {
 public:
  python_reader(const std::string& file, std::string_view text) : file_(file), text_(text) {
    root_.what = config_node::kind::mapping;
  }

  config_node read() {
    while (at_ < text_.size()) {
      skip_space(true);
      if (at_ >= text_.size()) break;
      const std::size_t before = at_;
      statement();
      skip_statement();
      if (at_ == before) ++at_;
    }
    return std::move(root_);
  }

 private:
  [[nodiscard]] char here(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  [[noreturn]] void fail(const std::string& reason) const { throw input_error(file_, at_line(line_), reason); }

  void step() {
    if (here() == '\n') ++line_;
    ++at_;
  }
  // Blanks, comments and continued lines; line ends too where brackets are open.
  void skip_space(bool lines) {
    for (; at_ < text_.size(); step()) {
      const char c = here();
      if (c == '#') {
        while (at_ < text_.size() && here() != '\n') ++at_;
        if (!lines) return;
      }
      if (c == '\\' && (here(1) == '\n' || here(1) == '\r')) {
        ++at_;
        continue;
      }
      if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || (lines && (c == '\n' || c == ';' || here() == '\n')))
        continue;
      return;
    }
  }

  std::string name() {
    const std::size_t begin = at_;
    while (begins_name(here()) || (at_ > begin && is_of_name(here())) ||
           (here() == '.' && at_ > begin && begins_name(here(1))))
      ++at_;
    return std::string{text_.substr(begin, at_ - begin)};
  }

  // The rest of a line that is no literal, over brackets and texts.
  void skip_statement() {
    for (std::size_t open = 0; at_ < text_.size();) {
      const char c = here();
      if (c == '\n' && open == 0) return;
      if (c == '"' || c == '\'') {
        static_cast<void>(quoted());
        continue;
      }
      if (c == '#') {
        while (at_ < text_.size() && here() != '\n') ++at_;
        continue;
      }
      if (c == '\\' && here(1) == '\n') ++at_;
      if (c == '(' || c == '[' || c == '{') ++open;
      if ((c == ')' || c == ']' || c == '}') && open > 0) --open;
      step();
    }
  }

  void statement() {
    if (!begins_name(here())) return;
    std::size_t line = line_;
    std::string target = name();
    if (target == "return") {
      skip_space(false);
      if (!begins_name(here())) return;
      target = name();
    }
    skip_space(false);
    if (here() == ':' && here(1) != '=') {  // an annotation
      const std::size_t end = std::min(text_.find('\n', at_), text_.size());
      const std::size_t equals = text_.substr(at_, end - at_).find('=');
      if (equals == std::string_view::npos) return;
      at_ += equals;
    }
    if (here() == '=' && here(1) != '=') {
      ++at_;
      const std::size_t begin = at_;
      config_node value = expression(false);
      skip_space(false);
      if (at_ < text_.size() && here() != '\n' && here() != ';' && here() != '#') {
        skip_statement();
        value = open(begin);
      }
      assign(target, line, std::move(value));
    } else if (here() != '\0' && here(1) == '=' && std::string_view{"+-*/|&"}.find(here()) != std::string_view::npos) {
      assign(target, line, open(at_));
    } else if (here() == '(') {
      root_.entries.push_back({target, line, call(target, 1)});
    }
  }

  // At a path of attributes. Two different values are none that is known.
  void assign(const std::string& target, std::size_t line, config_node value) {
    config_node* node = &root_;
    std::string_view rest = target;
    for (std::size_t level = 0; level < deepest; ++level) {
      const std::size_t dot = std::min(rest.find('.'), rest.size());
      const std::string key{rest.substr(0, dot)};
      const auto found = std::ranges::find(node->entries, key, &config_entry::key);
      const bool is_last = dot == rest.size();
      if (found == node->entries.end()) {
        node->entries.push_back({key, line, {.what = config_node::kind::mapping}});
        count();
        if (is_last) {
          node->entries.back().value = std::move(value);
          return;
        }
        node = &node->entries.back().value;
      } else if (is_last) {
        if (!(found->value.text == value.text && found->value.what == value.what && value.entries.empty() &&
              found->value.entries.empty()))
          found->value = {.what = config_node::kind::scalar,
                          .open = true,
                          .text = found->line == line ? "assigned twice on line " + std::to_string(line)
                                                      : "assigned on lines " + std::to_string(found->line) + " and " +
                                                            std::to_string(line)};
        return;
      } else {
        if (found->value.what != config_node::kind::mapping) found->value = {.what = config_node::kind::mapping};
        node = &found->value;
      }
      rest.remove_prefix(dot + 1);
    }
  }

  // What is copied counts again: names that stand for names multiply.
  void count_in(const config_node& node) {
    for (const config_entry& e : node.entries) {
      count();
      count_in(e.value);
    }
  }

  void count() {
    if (++values_ > most_values) fail("holds more than " + std::to_string(most_values) + " values");
  }

  // What stands between, as it is written.
  [[nodiscard]] config_node open(std::size_t begin) const {
    constexpr std::size_t longest = 80;
    std::string text;
    for (const char c : text_.substr(begin, at_ - begin)) {
      const bool blank = c == ' ' || c == '\n' || c == '\t' || c == '\r';
      if (!blank || (!text.empty() && text.back() != ' ')) text += blank ? ' ' : c;
    }
    while (text.ends_with(' ')) text.pop_back();
    if (text.size() > longest) text = text.substr(0, longest) + "...";
    return {.what = config_node::kind::scalar, .open = true, .text = std::move(text)};
  }

  // To what ends a value: a comma, a bracket or colon that closes, the end of the line outside of brackets.
  void skip_value(bool inside) {
    for (std::size_t open_ones = 0; at_ < text_.size();) {
      const char c = here();
      if (open_ones == 0 && (c == ',' || c == ')' || c == ']' || c == '}' || (c == '\n' && !inside))) return;
      if (c == '"' || c == '\'') {
        static_cast<void>(quoted());
        continue;
      }
      if (c == '#') {
        while (at_ < text_.size() && here() != '\n') ++at_;
        continue;
      }
      if (c == '(' || c == '[' || c == '{') ++open_ones;
      if (c == ')' || c == ']' || c == '}') --open_ones;
      step();
    }
  }

  [[nodiscard]] bool ends_value(bool inside, bool is_key) {
    skip_space(inside);
    const char c = here();
    return at_ >= text_.size() || c == ',' || c == ')' || c == ']' || c == '}' || c == '\n' || c == ';' || c == '#' ||
           (is_key && c == ':');
  }

  config_node expression(bool inside, std::size_t depth = 1, bool is_key = false) {
    if (depth > deepest) fail("is nested deeper than " + std::to_string(deepest) + " levels");
    count();
    skip_space(inside);
    const std::size_t begin = at_;
    if (auto number = sum()) {
      if (ends_value(inside, is_key)) return {.what = config_node::kind::scalar, .text = text_of_number(*number)};
      skip_value(inside);
      return open(begin);
    }
    config_node value = literal(depth);
    if (!ends_value(inside, is_key)) {
      skip_value(inside);
      return open(begin);
    }
    return value;
  }

  config_node literal(std::size_t depth) {
    const std::size_t begin = at_;
    const char c = here();
    if (c == '"' || c == '\'') return quoted();
    if (c == '(' || c == '[') return sequence(depth);
    if (c == '{') return dictionary(depth);
    if (!begins_name(c)) return open(begin);
    const std::string word = name();
    if ((here() == '"' || here() == '\'') && word.size() <= 2) {
      config_node text = quoted();
      if (word.find_first_of("fF") != std::string::npos && text.text.find('{') != std::string::npos) return open(begin);
      return text;
    }
    if (word == "None") return {};
    if (here() == '(') return call(word, depth);
    // What the file has assigned to it, where that is one value.
    const config_entry* const assigned = root_.find(word);
    if (assigned != nullptr) {
      count_in(assigned->value);
      return assigned->value;
    }
    return {.what = config_node::kind::scalar, .text = word};
  }

  // Texts that stand beside one another are one.
  config_node quoted() {
    config_node node{.what = config_node::kind::scalar, .quoted = true};
    while (here() == '"' || here() == '\'') {
      const char mark = here();
      const bool thrice = here(1) == mark && here(2) == mark;
      at_ += thrice ? 3 : 1;
      for (;; step()) {
        if (at_ >= text_.size() || (here() == '\n' && !thrice)) fail("is not Python: a text does not end");
        if (here() == '\\' && at_ + 1 < text_.size()) {
          step();
          node.text += here();
          continue;
        }
        if (here() == mark && (!thrice || (here(1) == mark && here(2) == mark))) break;
        node.text += here();
      }
      at_ += thrice ? 3 : 1;
      while (here() == ' ') ++at_;
    }
    return node;
  }

  config_node sequence(std::size_t depth) {
    const char close = here() == '(' ? ')' : ']';
    config_node node{.what = config_node::kind::sequence};
    bool commas = close == ']';
    for (++at_;;) {
      skip_space(true);
      if (here() == close) break;
      if (at_ >= text_.size()) fail("is not Python: a bracket does not close");
      const std::size_t line = line_;
      node.entries.push_back({"", line, expression(true, depth + 1)});
      skip_space(true);
      if (here() == ',') {
        commas = true;
        ++at_;
      } else if (here() != close) {
        fail("is not Python: " + in_quotes(std::string{close}) + " is missing");
      }
    }
    ++at_;
    if (!commas && node.entries.size() == 1) {
      config_node only = std::move(node.entries.front().value);
      return only;
    }
    return node;
  }

  config_node dictionary(std::size_t depth) {
    config_node node{.what = config_node::kind::mapping};
    for (++at_;;) {
      skip_space(true);
      if (here() == '}') break;
      if (at_ >= text_.size()) fail("is not Python: a bracket does not close");
      const std::size_t line = line_;
      if (here() == '*') {
        take_in(node, line);
      } else {
        const config_node key = expression(true, depth + 1, true);
        skip_space(true);
        config_node value;
        if (here() == ':') {
          ++at_;
          value = expression(true, depth + 1);
        }
        add(node, key.text, line, std::move(value));
      }
      skip_space(true);
      if (here() == ',')
        ++at_;
      else if (here() != '}')
        fail("is not Python: '}' is missing");
    }
    ++at_;
    return node;
  }

  // Arguments without a name are numbered; "()" is the name of what is called, but of dict.
  config_node call(const std::string& callee, std::size_t depth) {
    if (depth > deepest) fail("is nested deeper than " + std::to_string(deepest) + " levels");
    config_node node{.what = config_node::kind::mapping};
    if (callee != "dict") node.entries.push_back({"()", line_, {.what = config_node::kind::scalar, .text = callee}});
    std::size_t position = 0;
    for (++at_;;) {
      skip_space(true);
      if (here() == ')') break;
      if (at_ >= text_.size()) fail("is not Python: a bracket does not close");
      const std::size_t line = line_;
      if (here() == '*') {
        take_in(node, line);
      } else {
        std::string key = argument_name();
        if (key.empty()) key = std::to_string(position++);
        config_node value = expression(true, depth + 1);
        add(node, key, line, std::move(value));
      }
      skip_space(true);
      if (here() == ',')
        ++at_;
      else if (here() != ')')
        fail("is not Python: ')' is missing");
    }
    ++at_;
    return node;
  }

  // "fp16" of "fp16=True", read over; empty where none is here.
  std::string argument_name() {
    if (!begins_name(here())) return "";
    std::size_t end = at_;
    while (end < text_.size() && is_of_name(text_[end])) ++end;
    std::size_t equals = end;
    while (equals < text_.size() && text_[equals] == ' ') ++equals;
    if (equals + 1 >= text_.size() || text_[equals] != '=' || text_[equals + 1] == '=') return "";
    std::string key{text_.substr(at_, end - at_)};
    at_ = equals + 1;
    return key;
  }

  // *args and **kwargs.
  void take_in(config_node& node, std::size_t line) {
    const std::size_t begin = at_;
    while (here() == '*') ++at_;
    skip_value(true);
    node.entries.push_back({"**", line, open(begin)});
  }

  void add(config_node& node, const std::string& key, std::size_t line, config_node value) {
    if (const config_entry* const before = node.find(key))
      fail("the key " + in_quotes(key) + " is given twice, first on line " + std::to_string(before->line));
    node.entries.push_back({key, line, std::move(value)});
  }

  // Of numbers alone: 2**16, 4 * 1024, 1 - 0.5. Nothing is read where there is none.
  std::optional<double> sum() {
    const std::size_t begin = at_;
    auto result = product();
    while (result && (blank_then('+') || blank_then('-'))) {
      const bool minus = here() == '-';
      ++at_;
      const auto more = product();
      result = more ? std::optional{minus ? *result - *more : *result + *more} : std::nullopt;
    }
    if (!result || !std::isfinite(*result)) {
      at_ = begin;
      return {};
    }
    return result;
  }
  std::optional<double> product() {
    auto result = power();
    while (result && ((blank_then('*') && here(1) != '*') || (blank_then('/') && here(1) != '/'))) {
      const bool divides = here() == '/';
      ++at_;
      const auto more = power();
      result = more ? std::optional{divides ? *result / *more : *result * *more} : std::nullopt;
    }
    return result;
  }
  std::optional<double> power() {
    const auto base = number();
    if (!base || !blank_then('*') || here(1) != '*') return base;
    at_ += 2;
    const auto exponent = number();
    return exponent ? std::optional{std::pow(*base, *exponent)} : std::nullopt;
  }
  bool blank_then(char c) {
    std::size_t to = at_;
    while (to < text_.size() && text_[to] == ' ') ++to;
    if (to >= text_.size() || text_[to] != c) return false;
    at_ = to;
    return true;
  }
  std::optional<double> number() {
    while (here() == ' ') ++at_;
    bool minus = false;
    for (; here() == '-' || here() == '+'; ++at_) minus = minus != (here() == '-');
    if (!is_digit(here()) && !(here() == '.' && is_digit(here(1)))) return {};
    std::string digits;
    for (; is_of_name(here()) || here() == '.' ||
           ((here() == '-' || here() == '+') && (digits.ends_with('e') || digits.ends_with('E')));
         ++at_)
      if (here() != '_') digits += here();
    double value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    const bool is_whole = error == std::errc{} && (end == digits.data() + digits.size() ||
                                                   (*end == '.' && end + 1 == digits.data() + digits.size()));
    if (!is_whole) return {};
    return minus ? -value : value;
  }

  std::string file_;
  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  std::size_t values_ = 0;
  config_node root_;
};

}  // namespace

config_node parse_python(const std::string& file, std::string_view text) { return python_reader(file, text).read(); }

}  // namespace ulp::io
