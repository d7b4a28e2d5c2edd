#include "arithmetic.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>

namespace ulp::io {
namespace {

using value = std::optional<std::int64_t>;

struct binary {
  std::string_view sign;
  int level;  // of precedence
};
// Longer signs first.
constexpr std::array signs{binary{"**", 4}, binary{"<<", 1}, binary{">>", 1}, binary{"*", 3},
                           binary{"/", 3},  binary{"%", 3},  binary{"+", 2},  binary{"-", 2}};

value power(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0 || exponent > 62) return {};
  std::int64_t result = 1;
  for (; exponent > 0; --exponent)
    if (__builtin_mul_overflow(result, base, &result)) return {};
  return result;
}

value applied(std::string_view sign, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  const bool divides = b > 0 || (b < 0 && b != -1);
  if (sign == "**") return power(a, b);
  if (sign == "<<") return b >= 0 && b < 63 && a >= 0 && a <= (INT64_MAX >> b) ? value{a << b} : value{};
  if (sign == ">>") return b >= 0 && b < 63 && a >= 0 ? value{a >> b} : value{};
  if (sign == "*") return __builtin_mul_overflow(a, b, &result) ? value{} : value{result};
  if (sign == "+") return __builtin_add_overflow(a, b, &result) ? value{} : value{result};
  if (sign == "-") return __builtin_sub_overflow(a, b, &result) ? value{} : value{result};
  if (sign == "/") return divides ? value{a / b} : value{};
  return divides ? value{a % b} : value{};
}

class expression {
 public:
  explicit expression(std::string_view text) : rest_(text) {}

  value whole() {
    const value v = upwards(1, 0);
    skip();
    return rest_.empty() ? v : value{};
  }

 private:
  static constexpr int deepest = 32;

  void skip() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t"), rest_.size())); }

  // Operators of that level and above; "**" goes from right to left.
  value upwards(int level, int depth) {
    value left = atom(depth);
    for (;;) {
      skip();
      const binary* next = nullptr;
      for (const binary& b : signs)
        if (next == nullptr && rest_.starts_with(b.sign)) next = &b;
      if (!left || next == nullptr || next->level < level) return left;
      rest_.remove_prefix(next->sign.size());
      const value right = upwards(next->sign == "**" ? next->level : next->level + 1, depth + 1);
      if (!right || depth > deepest) return {};
      left = applied(next->sign, *left, *right);
    }
  }

  value atom(int depth) {
    skip();
    if (depth > deepest || rest_.empty()) return {};
    if (rest_.front() == '(') {
      rest_.remove_prefix(1);
      const value inner = upwards(1, depth + 1);
      skip();
      if (!rest_.starts_with(')')) return {};
      rest_.remove_prefix(1);
      return inner;
    }
    if (rest_.front() < '0' || rest_.front() > '9' ||
        (rest_.front() == '0' && rest_.size() > 1 && rest_[1] >= '0' && rest_[1] <= '9'))
      return {};  // a variable, a sign, octal digits
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), number);
    if (error != std::errc{}) return {};
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return number;
  }

  std::string_view rest_;
};

}  // namespace

std::optional<std::int64_t> constant_arithmetic(std::string_view word) {
  if (!word.starts_with("$((") || !word.ends_with("))") || word.size() < 6) return {};
  return expression(word.substr(3, word.size() - 5)).whole();
}

}  // namespace ulp::io
