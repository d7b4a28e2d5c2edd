#include "code_table.hpp"

#include <algorithm>
#include <limits>

namespace ulp::optimizers {
namespace {

float number_at(std::uint32_t place) {
  return std::bit_cast<float>(place ^ ((place >> 31U) != 0 ? 0x80000000U : 0xFFFFFFFFU));
}

constexpr std::uint32_t place_of_minus_infinity = 0x007FFFFF;
constexpr std::uint32_t place_of_infinity = 0xFF800000;
constexpr std::uint32_t never = std::numeric_limits<std::uint32_t>::max();

}  // namespace

code_table::code_table(const code_rule& rule, int codes) : nan_code_(static_cast<std::uint8_t>(rule.nan_code())) {
  thresholds_.fill(never);
  std::uint32_t from = place_of_minus_infinity;
  for (int code = 1; code < codes; ++code) {
    if (rule.code_of(number_at(place_of_infinity)) < code) break;
    std::uint32_t below = from;  // of a lower code, where `from` is
    std::uint32_t reached = place_of_infinity;
    if (rule.code_of(number_at(from)) >= code) reached = from;
    while (reached - below > 1) {
      const std::uint32_t middle = below + (reached - below) / 2;
      (rule.code_of(number_at(middle)) >= code ? reached : below) = middle;
    }
    thresholds_[static_cast<std::size_t>(code - 1)] = reached;
    from = reached;
  }
  std::size_t code = 0;
  for (std::uint32_t cell = 0; cell < first_.size(); ++cell) {
    while (thresholds_[code] <= cell << 16U) ++code;
    first_[cell] = static_cast<std::uint8_t>(std::min<std::size_t>(code, 255));
    if (thresholds_[code] != never && thresholds_[code + 1] != never && thresholds_[code + 1] >> 16U == cell &&
        thresholds_[code] >> 16U == cell)
      single_ = false;
  }
}

void code_table::codes_of(std::span<const float> x, std::span<std::uint8_t> codes) const noexcept {
  for (std::size_t i = 0; i < x.size(); ++i) codes[i] = code_of(x[i]);
}

}  // namespace ulp::optimizers
