#include <ulp/report/tables/plain_values.hpp>

#include <cmath>

#include "tables/overloaded.hpp"

namespace ulp {
namespace {

// What a range spans; of what is none, the value itself.
struct ends {
  plain_value low;
  plain_value high;
  [[nodiscard]] plain_value decided() const { return low == high ? low : plain_value{}; }
};

plain_value of_count(std::uint64_t n) { return static_cast<std::int64_t>(n); }

ends ends_of(const table_value& value) {
  const auto both = [](const plain_value& x) { return ends{x, x}; };
  return std::visit(overloaded{[&](const auto& plain) { return both(plain); },
                               [&](const std::string& text) { return both(std::string_view{text}); },
                               [&](const named_values& values) { return both(&values); },
                               [](const count_range& c) {
                                 return ends{of_count(c.low), of_count(c.high)};
                               },
                               [](const value_range& r) {
                                 return ends{r.low, r.high};
                               },
                               [](const expected_count& c) {
                                 return ends{c.mean.low, c.mean.high};
                               }},
                    value);
}

// Drawn but always the same: an integer as other counts are.
plain_value certain(const expected_count& c) {
  const bool same = c.variance.high == 0 && c.mean.exact() && c.mean.low == std::floor(c.mean.low);
  return same ? plain_value{static_cast<std::int64_t>(c.mean.low)} : plain_value{};
}

}  // namespace

void for_each_plain(const table_value& value, bool ranged,
                    const std::function<void(std::string_view suffix, const plain_value& value)>& put) {
  const ends of = ends_of(value);
  const auto* const drawn = std::get_if<expected_count>(&value);
  put("", drawn != nullptr ? certain(*drawn) : of.decided());
  if (!ranged) return;
  put("_low", of.low);
  put("_high", of.high);
  if (drawn != nullptr) put("_mean", of.decided());
}

bool is_ranged(const table_value& v) {
  return std::holds_alternative<count_range>(v) || std::holds_alternative<value_range>(v) ||
         std::holds_alternative<expected_count>(v);
}

}  // namespace ulp
