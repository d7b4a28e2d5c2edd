#include "json_values.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <system_error>
#include <utility>

namespace ulp::io {
namespace {

using kind = json_value::kind;

constexpr int deepest = 32;

struct literal {
  std::string_view word;
  kind what;
  double number;
};
constexpr std::array literals{
    literal{"null", kind::null, 0},
    literal{"true", kind::boolean, 1},
    literal{"false", kind::boolean, 0},
    literal{"NaN", kind::number, std::numeric_limits<double>::quiet_NaN()},
    literal{"nan", kind::number, std::numeric_limits<double>::quiet_NaN()},
    literal{"Infinity", kind::number, std::numeric_limits<double>::infinity()},
    literal{"-Infinity", kind::number, -std::numeric_limits<double>::infinity()},
    literal{"inf", kind::number, std::numeric_limits<double>::infinity()},
    literal{"-inf", kind::number, -std::numeric_limits<double>::infinity()},
};

class parser {
 public:
  parser(std::string_view text, std::size_t most) : text_(text), left_(most) {}

  json_value all() {
    json_value value = next(0);
    skip();
    if (at_ != text_.size()) fail("more follows the end of its value");
    return value;
  }

 private:
  [[noreturn]] void fail(const std::string& reason) const { throw json_error(reason, line_); }

  void skip() {
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '\n') ++line_;
      if (c != ' ' && c != '\t' && c != '\n' && c != '\r') return;
    }
  }
  [[nodiscard]] bool takes(char c) {
    skip();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  json_value next(int depth) {
    if (depth > deepest) fail("is nested more than " + std::to_string(deepest) + " deep");
    if (left_-- == 0) fail("has too many values");
    skip();
    if (at_ == text_.size()) fail("ends within a value: it was cut short");
    const char c = text_[at_];
    if (c == '{' || c == '[') return collection(depth, c == '{');
    json_value value;
    if (c == '"') {
      value.what = kind::text;
      value.text = string();
      return value;
    }
    for (const literal& l : literals) {
      if (!text_.substr(at_).starts_with(l.word)) continue;
      at_ += l.word.size();
      value.what = l.what;
      value.number = l.number;
      return value;
    }
    return number();
  }

  json_value number() {
    json_value value;
    value.what = kind::number;
    const char* const begin = text_.data() + at_;
    const auto [stop, error] = std::from_chars(begin, text_.data() + text_.size(), value.number);
    // Beyond the range of float64: not what people log.
    if (error == std::errc::result_out_of_range) fail("has a number beyond the range of float64");
    if (error != std::errc() || stop == begin) fail("has something that is no value of JSON");
    at_ += static_cast<std::size_t>(stop - begin);
    return value;
  }

  json_value collection(int depth, bool is_object) {
    const char end = is_object ? '}' : ']';
    json_value value;
    value.what = is_object ? kind::object : kind::array;
    ++at_;
    value.line = line_;
    if (takes(end)) return value;
    for (;;) {
      if (is_object) {
        skip();
        if (at_ == text_.size()) fail("ends within an object: it was cut short");
        if (text_[at_] != '"') fail("has a key that is not in double quotes");
        value.keys.push_back(string());
        if (!takes(':')) fail("lacks a colon behind a key");
      }
      value.items.push_back(next(depth + 1));
      if (takes(end)) return value;
      if (!takes(','))
        fail(at_ == text_.size() ? "ends within a value: it was cut short" : "lacks a comma or a bracket");
    }
  }

  // Escapes stay as they are, but for those of single characters: names of columns have no others.
  std::string string() {
    std::string all;
    for (++at_; at_ < text_.size(); ++at_) {
      char c = text_[at_];
      if (c == '"') {
        ++at_;
        return all;
      }
      if (c == '\n') ++line_;
      if (c == '\\' && at_ + 1 < text_.size()) {
        c = text_[++at_];
        constexpr std::string_view plain = "\"\\/";
        if (plain.find(c) == std::string_view::npos) all += '\\';
      }
      all += c;
    }
    fail("ends within a text: it was cut short");
  }

  std::string_view text_;
  std::size_t left_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
};

}  // namespace

const json_value* json_value::find(std::string_view key) const noexcept {
  const auto found = std::ranges::find(keys, key);
  return found == keys.end() || what != kind::object ? nullptr : &items[static_cast<std::size_t>(found - keys.begin())];
}

json_value parse_json(std::string_view text, std::size_t most) { return parser(text, most).all(); }

}  // namespace ulp::io
