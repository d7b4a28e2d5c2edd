// Parameters of a policy, listed once by visiting its fields: `template <typename V> void fields(V&& v)` calls
// v(name, field, meaning) on each.
#ifndef ULP_MODEL_MACHINES_PARAMETERS_HPP
#define ULP_MODEL_MACHINES_PARAMETERS_HPP

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <ulp/model/machines/scaler.hpp>

namespace ulp::scalers {

inline parameter_value to_value(double x) { return x; }
inline parameter_value to_value(std::int64_t x) { return static_cast<double>(x); }
inline parameter_value to_value(bool x) { return x; }
inline parameter_value to_value(const parameter_value& x) { return x; }
inline parameter_value to_value(const std::string& x) { return x; }
inline parameter_value to_value(const std::optional<double>& x) {
  return x ? parameter_value{*x} : parameter_value{std::monostate{}};
}

[[noreturn]] inline void refuse(std::string_view name, const std::string& wanted, const parameter_value& value) {
  throw parameter_error("parameter '" + std::string{name} + "' takes " + wanted + ", not '" + to_string(value) + "'");
}

// "no parameter 'grow'; near: growth_factor; it has init_scale, growth_factor".
[[nodiscard]] std::string unknown_name(std::string_view what, std::string_view name,
                                       const std::vector<std::string_view>& names);

template <typename Field>
void from_value(std::string_view name, Field& field, const parameter_value& value) {
  const double* const number = std::get_if<double>(&value);
  if constexpr (std::is_same_v<Field, parameter_value>) {
    field = value;
  } else if constexpr (std::is_same_v<Field, bool>) {
    // Recorded runs and tables have flags as numbers.
    const bool* const flag = std::get_if<bool>(&value);
    const bool is_number = number != nullptr && (*number == 0 || *number == 1);
    if (flag == nullptr && !is_number) refuse(name, "true or false", value);
    field = flag != nullptr ? *flag : *number == 1;
  } else if constexpr (std::is_same_v<Field, std::int64_t>) {
    if (number == nullptr || std::isinf(*number) || *number != std::floor(*number)) refuse(name, "an integer", value);
    // 2^63 - 1 means never, and is 2^63 as a double.
    constexpr double most = 0x1p63;
    field = *number < most ? static_cast<std::int64_t>(std::max(*number, -most)) : std::numeric_limits<Field>::max();
  } else if constexpr (std::is_same_v<Field, std::string>) {
    const std::string* const word = std::get_if<std::string>(&value);
    if (word == nullptr) refuse(name, "a word", value);
    field = *word;
  } else if constexpr (std::is_same_v<Field, std::optional<double>>) {
    if (number == nullptr && !std::holds_alternative<std::monostate>(value)) refuse(name, "a number or none", value);
    field = number == nullptr ? Field{} : Field{*number};
  } else {
    if (number == nullptr) refuse(name, "a number", value);
    field = static_cast<Field>(*number);
  }
}

template <typename Policy>
std::vector<scaler_parameter> parameters_of(Policy policy) {
  std::vector<scaler_parameter> all;
  policy.fields([&](const char* name, auto& field, const char* meaning) {
    all.push_back({name, to_value(field), meaning});
  });
  return all;
}

// A policy with these values in place of its own defaults; it may have `std::string refused() const`, why the framework
// would refuse them, or empty. Throws parameter_error.
template <typename Policy>
Policy policy_of(const std::vector<std::pair<std::string, parameter_value>>& parameters) {
  Policy policy;
  for (const auto& [name, value] : parameters) {
    bool found = false;
    std::vector<std::string_view> names;
    policy.fields([&](const char* field_name, auto& field, const char*) {
      names.push_back(field_name);
      if (name != field_name) return;
      found = true;
      from_value(name, field, value);
    });
    if (!found) throw parameter_error(unknown_name("parameter", name, names));
  }
  if constexpr (requires { policy.refused(); })
    if (const std::string why = policy.refused(); !why.empty()) throw parameter_error(why);
  return policy;
}

}  // namespace ulp::scalers

#endif
