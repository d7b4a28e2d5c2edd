#include "number_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ulp/formats/text.hpp>

namespace ulp::cli {

std::string hex(const format& f, std::uint64_t code) { return fmt::format("0x{:0{}X}", code, (f.width() + 3) / 4); }

std::string decimal_on_screen(const unpacked& x) {
  constexpr std::size_t longest = 56;
  constexpr std::size_t shown = 20;
  const std::string exact = exact_decimal(x);
  const bool tiny = x.kind == number_class::finite && x.exponent < 0 && exact.find("0.0000") < 2;
  if (exact.size() <= longest && !tiny) return exact;
  const std::size_t first = exact.find_first_of("123456789");
  const std::size_t point = std::min(exact.find('.'), exact.size());
  const auto magnitude = static_cast<long>(point) - static_cast<long>(first) - (first < point ? 1 : 0);
  std::string digits = exact.substr(first);
  std::erase(digits, '.');
  digits.erase(digits.find_last_not_of('0') + 1);
  const std::string sign = x.negative ? "-" : "";
  const std::string point_and_more = digits.size() > 1 ? "." + digits.substr(1) : "";
  if (digits.size() < longest - 8) return fmt::format("{}{}{}e{}", sign, digits[0], point_and_more, magnitude);
  return fmt::format("{}{}{}...e{} ({} digits)", sign, digits[0], point_and_more.substr(0, shown), magnitude,
                     digits.size());
}

}  // namespace ulp::cli
