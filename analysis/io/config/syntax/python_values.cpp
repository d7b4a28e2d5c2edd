#include "python_values.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include <ulp/io/bytes/error.hpp>

#include "bytes/text.hpp"

namespace ulp::io {
namespace {

constexpr std::size_t most_values = 20'000;

std::optional<config_node> scalar_of(double x) {
  if (!std::isfinite(x)) return {};
  std::array<char, 64> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), x).ptr;
  return config_node{.what = config_node::kind::scalar, .text = {buffer.data(), end}};
}

std::optional<double> number_of(const std::optional<config_node>& node) {
  if (!node || node->what != config_node::kind::scalar || node->quoted || node->open) return {};
  double value = 0;
  const char* const end = node->text.data() + node->text.size();
  const auto [to, error] = std::from_chars(node->text.data(), end, value);
  return error == std::errc{} && to == end ? std::optional{value} : std::nullopt;
}

using operation = double (*)(double, double);

// Of two numbers; nothing where one is none.
std::optional<config_node> combined(const std::optional<config_node>& a, operation of,
                                    const std::optional<config_node>& b) {
  const auto x = number_of(a);
  const auto y = number_of(b);
  return x && y ? scalar_of(of(*x, *y)) : std::nullopt;
}

bool is_closing(std::string_view sign) { return sign == ")" || sign == "]" || sign == "}"; }
bool is_opening(std::string_view sign) { return sign == "(" || sign == "[" || sign == "{"; }

}  // namespace

std::string_view python_values::word(std::size_t of) const {
  return of < tokens_.size() ? text_.substr(tokens_[of].begin, tokens_[of].end - tokens_[of].begin)
                             : std::string_view{};
}

std::size_t python_values::indent() const {
  const std::size_t begin = token().begin;
  const std::size_t before = begin == 0 ? std::string_view::npos : text_.rfind('\n', begin - 1);
  return begin - (before == std::string_view::npos ? 0 : before + 1);
}

void python_values::fail(const std::string& reason) const { throw input_error(file_, at_line(token().line), reason); }

void python_values::count() {
  if (++values_ > most_values) fail("holds more than " + std::to_string(most_values) + " values");
}

// Names that stand for names multiply what they stand for.
void python_values::count_copy(const config_node& node) {
  constexpr std::size_t bytes_of_value = 256;
  for (std::size_t i = 0; i <= node.text.size() / bytes_of_value; ++i) count();
  for (const config_entry& e : node.entries) count_copy(e.value);
}

config_node python_values::open(std::size_t from) const {
  constexpr std::size_t longest = 80;
  if (from >= at) return {.what = config_node::kind::scalar, .open = true};
  const std::size_t begin = tokens_[from].begin;
  std::string text;
  for (const char c : text_.substr(begin, tokens_[at - 1].end - begin)) {
    const bool blank = c == ' ' || c == '\n' || c == '\t' || c == '\r';
    if (!blank || (!text.empty() && text.back() != ' ')) text += blank ? ' ' : c;
    if (text.size() > longest) break;
  }
  // Its end says what was called last.
  constexpr std::size_t shown_of_end = 20;
  if (text.size() > longest) {
    const std::string_view end = text_.substr(0, tokens_[at - 1].end).substr(tokens_[at - 1].end - shown_of_end);
    text = text.substr(0, longest) + "..." + (end.find('\n') == std::string_view::npos ? std::string{end} : "");
  }
  return {.what = config_node::kind::scalar, .open = true, .text = std::move(text)};
}

bool python_values::ends_value(bool is_key) const {
  return is(python_token::kind::line_end) || is(",") || is("=") || is(";") || is_closing(word()) || (is_key && is(":"));
}

void python_values::skip_value(bool is_key) {
  bool in_lambda = false;  // its arguments have commas of their own
  bool in_loop = false;    // what a comprehension loops over belongs to it
  for (std::size_t inner = 0; !is(python_token::kind::line_end); ++at) {
    if (inner == 0 && is_closing(word())) return;
    if (inner == 0 && !in_lambda && !in_loop && ends_value(is_key)) return;
    if (is_opening(word())) ++inner;
    if (is_closing(word())) --inner;
    if (inner > 0) continue;
    in_loop = in_loop || is("for");
    in_lambda = is("lambda") || (in_lambda && !is(":"));
  }
}

config_node python_values::expression(std::size_t depth, bool is_key) {
  if (depth > deepest_of_python) fail("is nested deeper than " + std::to_string(deepest_of_python) + " levels");
  count();
  const std::size_t begin = at;
  if (auto value = sum(depth); value && ends_value(is_key)) return *std::move(value);
  at = std::max(at, begin);
  skip_value(is_key);
  return open(begin);
}

std::optional<config_node> python_values::sum(std::size_t depth) {
  auto result = product(depth);
  while (result && (is("+") || is("-"))) {
    const bool minus = is("-");
    ++at;
    result = combined(
        result, minus ? [](double a, double b) { return a - b; } : [](double a, double b) { return a + b; },
        product(depth));
  }
  return result;
}

std::optional<config_node> python_values::product(std::size_t depth) {
  auto result = power(depth);
  while (result && (is("*") || is("/") || is("//"))) {
    const operation of = is("*")   ? [](double a, double b) { return a * b; }
                         : is("/") ? [](double a, double b) { return a / b; }
                                   : [](double a, double b) { return std::floor(a / b); };
    ++at;
    result = combined(result, of, power(depth));
  }
  return result;
}

// A sign before a power is of the power: -2**2 is -4.
std::optional<config_node> python_values::power(std::size_t depth) {
  bool has_sign = false;
  bool minus = false;
  for (; is("-") || is("+"); ++at) {
    has_sign = true;
    minus = minus != is("-");
  }
  auto result = atom(depth);
  if (result && is("**")) {
    if (depth > deepest_of_python) fail("is nested deeper than " + std::to_string(deepest_of_python) + " levels");
    ++at;
    result = combined(
        result, [](double a, double b) { return std::pow(a, b); }, power(depth + 1));
  }
  if (!has_sign) return result;
  const auto of = number_of(result);
  return of ? scalar_of(minus ? -*of : *of) : std::nullopt;
}

std::optional<config_node> python_values::atom(std::size_t depth) {
  if (is(python_token::kind::text)) return texts();
  if (is(python_token::kind::number)) {
    const auto number = number_of_token(word());
    ++at;
    return number ? scalar_of(*number) : std::nullopt;
  }
  if (is("(") || is("[")) return sequence(depth);
  if (is("{")) return dictionary(depth);
  return is(python_token::kind::name) ? named(depth) : std::nullopt;
}

// Texts that stand beside one another are one.
std::optional<config_node> python_values::texts() {
  config_node node{.what = config_node::kind::scalar, .quoted = true};
  bool is_known = true;
  for (; is(python_token::kind::text); ++at) {
    is_known = is_known && !is_formatted(word());
    node.text += text_of_token(word());
  }
  return is_known ? std::optional{std::move(node)} : std::nullopt;
}

std::string python_values::path() {
  std::string name;
  while (is(python_token::kind::name)) {
    name += word();
    ++at;
    if (!is(".") || at + 1 >= tokens_.size() || tokens_[at + 1].what != python_token::kind::name) break;
    name += '.';
    ++at;
  }
  return name;
}

std::optional<config_node> python_values::named(std::size_t depth) {
  if (is("lambda") || is("not") || is("await") || is("yield")) return {};
  const std::string name = path();
  if (name == "None") return config_node{};
  return is("(") ? call(name, depth) : looked_up(name);
}

// What the file has assigned to it, where that is one value; a name that it does not assign is a symbol, torch.float16.
std::optional<config_node> python_values::looked_up(const std::string& name) {
  const std::string first = name.substr(0, name.find('.'));
  if (bound.contains(first)) return {};
  const config_node* node = &assigned;
  for (std::string_view rest = name; node != nullptr;) {
    const std::size_t dot = std::min(rest.find('.'), rest.size());
    const config_entry* const found = node->find(rest.substr(0, dot));
    node = found == nullptr ? nullptr : &found->value;
    if (dot == rest.size()) break;
    rest.remove_prefix(dot + 1);
  }
  if (node == nullptr && names.contains(first)) return {};
  if (node == nullptr) return config_node{.what = config_node::kind::scalar, .text = name};
  count_copy(*node);
  return *node;
}

// To the comma before the next item, or where the brackets close.
void python_values::next_item(std::string_view close) {
  if (is(","))
    ++at;
  else if (!is(close))
    fail(ends() ? "is not Python: a bracket does not close" : "is not Python: " + in_quotes(close) + " is missing");
}

config_node python_values::sequence(std::size_t depth) {
  const std::string_view close = is("(") ? ")" : "]";
  config_node node{.what = config_node::kind::sequence};
  bool commas = close == "]";
  for (++at; !is(close); next_item(close)) {
    if (ends()) fail("is not Python: a bracket does not close");
    const std::size_t line = token().line;
    node.entries.push_back({"", line, expression(depth + 1)});
    commas = commas || is(",");
  }
  ++at;
  if (commas || node.entries.size() != 1) return node;
  config_node only = std::move(node.entries.front().value);
  return only;
}

// Of a key that is given again the last counts, as in Python.
config_node python_values::dictionary(std::size_t depth) {
  config_node node{.what = config_node::kind::mapping};
  for (++at; !is("}"); next_item("}")) {
    if (ends()) fail("is not Python: a bracket does not close");
    if (is("**")) {
      take_in(node, depth);
      continue;
    }
    const std::size_t line = token().line;
    const config_node key = expression(depth + 1, true);
    config_node value;
    if (is(":")) {
      ++at;
      value = expression(depth + 1);
    }
    std::erase_if(node.entries, [&](const config_entry& e) { return e.key == key.text && e.key != "**"; });
    node.entries.push_back({key.text, line, std::move(value)});
  }
  ++at;
  return node;
}

// Arguments without a name are numbered; "()" is the name of what is called, but of dict.
config_node python_values::call(const std::string& callee, std::size_t depth) {
  if (depth > deepest_of_python) fail("is nested deeper than " + std::to_string(deepest_of_python) + " levels");
  config_node node{.what = config_node::kind::mapping};
  if (callee != "dict")
    node.entries.push_back({"()", token().line, {.what = config_node::kind::scalar, .text = callee}});
  std::size_t position = 0;
  for (++at; !is(")"); next_item(")")) {
    if (ends()) fail("is not Python: a bracket does not close");
    if (is("*") || is("**")) {
      take_in(node, depth);
      continue;
    }
    const std::size_t line = token().line;
    std::string key = std::to_string(position);
    if (is(python_token::kind::name) && word(at + 1) == "=") {
      key = word();
      at += 2;
    } else {
      ++position;
    }
    config_node value = expression(depth + 1);
    if (const config_entry* const before = node.find(key))
      fail("the key " + in_quotes(key) + " is given twice, first on line " + std::to_string(before->line));
    node.entries.push_back({std::move(key), line, std::move(value)});
  }
  ++at;
  return node;
}

// *args and **kwargs: the entries of a mapping that is known, else what is not.
void python_values::take_in(config_node& node, std::size_t depth) {
  const std::size_t begin = at;
  const std::size_t line = token().line;
  const bool is_mapping = is("**");
  ++at;
  config_node taken = expression(depth + 1);
  if (!is_mapping || taken.what != config_node::kind::mapping || taken.find("()") != nullptr) {
    node.entries.push_back({"**", line, open(begin)});
    return;
  }
  for (config_entry& e : taken.entries) {
    std::erase_if(node.entries, [&](const config_entry& mine) { return mine.key == e.key && e.key != "**"; });
    node.entries.push_back(std::move(e));
  }
}

}  // namespace ulp::io
