#include <ulp/ask/questions/number_text.hpp>

#include <fmt/format.h>

namespace ulp {

std::string shortest(double x) { return fmt::format("{}", x); }

std::string grouped(std::uint64_t n) {
  std::string digits = std::to_string(n);
  for (std::size_t i = digits.size(); i > 3;) {
    i -= 3;
    digits.insert(i, 1, ',');
  }
  return digits;
}

std::string count_text(std::uint64_t n, std::string_view noun) {
  return fmt::format("{} {}{}", grouped(n), noun, n == 1 ? "" : "s");
}

}  // namespace ulp
