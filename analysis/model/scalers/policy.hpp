// From a framework's value type to a `scaler`: parameters and state are listed once, by visiting their fields.
//
// A policy P has: `struct state`, `void fields(V&&)` in both (calling v(name, field, meaning) on each), `std::string
// refused() const` (why the framework would refuse these parameters, or empty), `state start() const`,
// `double scale(const state&) const`, and the pure transition `transition<state> next(state, const scaler_input&) const`;
// optionally `double edge() const`, see scaler::edge.
#ifndef ULP_MODEL_SCALERS_POLICY_HPP
#define ULP_MODEL_SCALERS_POLICY_HPP

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <ulp/model/scaler.hpp>

namespace ulp::scalers {

template <typename State>
struct transition {
  State state;
  scaler_verdict verdict;
};

inline parameter_value to_value(double x) { return x; }
inline parameter_value to_value(std::int64_t x) { return static_cast<double>(x); }
inline parameter_value to_value(bool x) { return x; }
inline parameter_value to_value(const std::string& x) { return x; }
inline parameter_value to_value(const std::optional<double>& x) {
  return x ? parameter_value{*x} : parameter_value{std::monostate{}};
}

[[noreturn]] inline void refuse(std::string_view name, const std::string& wanted, const parameter_value& value) {
  throw parameter_error("parameter '" + std::string{name} + "' takes " + wanted + ", not '" + to_string(value) + "'");
}

template <typename Field>
void from_value(std::string_view name, Field& field, const parameter_value& value) {
  const double* const number = std::get_if<double>(&value);
  if constexpr (std::is_same_v<Field, bool>) {
    const bool* const flag = std::get_if<bool>(&value);
    if (flag == nullptr) refuse(name, "true or false", value);
    field = *flag;
  } else if constexpr (std::is_same_v<Field, std::int64_t>) {
    if (number == nullptr || *number != std::floor(*number) || std::abs(*number) > 9e15)
      refuse(name, "an integer", value);
    field = static_cast<std::int64_t>(*number);
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

template <typename Policy>
class machine final : public scaler::machine {
 public:
  explicit machine(const Policy& policy) : policy_(policy), state_(policy.start()) {}

  [[nodiscard]] std::unique_ptr<scaler::machine> clone() const override { return std::make_unique<machine>(*this); }
  [[nodiscard]] double scale() const override { return policy_.scale(state_); }
  scaler_verdict update(const scaler_input& input) override {
    auto [state, verdict] = policy_.next(state_, input);
    state_ = state;
    return verdict;
  }
  series_totals run(const step_series& steps, std::span<double> next_scales, std::span<std::uint8_t> skips) override {
    series_totals totals;
    double scale = policy_.scale(state_);
    double least = std::numeric_limits<double>::infinity();
    double greatest = -least;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      scaler_input input;
      input.found_inf = !steps.found_inf.empty() && steps.found_inf[i] != 0;
      if (!steps.max_abs.empty()) {
        input.max_abs = steps.max_abs[i];
        input.found_inf |= !(scale * input.max_abs < steps.threshold);
      }
      least = std::min(least, scale);
      greatest = std::max(greatest, scale);
      auto [state, verdict] = policy_.next(state_, input);
      state_ = state;
      scale = policy_.scale(state_);
      ++totals.steps;
      totals.skipped += verdict.skipped ? 1 : 0;
      if (!next_scales.empty()) next_scales[i] = scale;
      if (!skips.empty()) skips[i] = verdict.skipped ? 1 : 0;
      if (!verdict.error.empty()) {
        totals.error = std::move(verdict.error);
        break;
      }
    }
    if (totals.steps > 0) {
      totals.least_scale = least;
      totals.greatest_scale = greatest;
    }
    return totals;
  }
  [[nodiscard]] double edge() const override {
    if constexpr (requires { policy_.edge(); })
      return policy_.edge();
    else
      return not_known;
  }
  [[nodiscard]] std::vector<scaler_parameter> parameters() const override { return parameters_of(policy_); }
  [[nodiscard]] std::vector<std::pair<std::string, double>> state() const override {
    std::vector<std::pair<std::string, double>> all;
    typename Policy::state copy = state_;
    copy.fields([&](const char* name, auto& field) { all.emplace_back(name, static_cast<double>(field)); });
    return all;
  }
  void set_state(std::string_view name, double value) override {
    bool found = false;
    std::string names;
    state_.fields([&](const char* field_name, auto& field) {
      names += names.empty() ? field_name : std::string{", "} + field_name;
      if (name != field_name) return;
      found = true;
      from_value(name, field, value);
    });
    if (!found) throw parameter_error("no state '" + std::string{name} + "'; it has " + names);
  }

 private:
  Policy policy_;
  typename Policy::state state_;
};

template <typename Policy>
std::unique_ptr<scaler::machine> make(const std::vector<std::pair<std::string, parameter_value>>& parameters) {
  Policy policy;
  for (const auto& [name, value] : parameters) {
    bool found = false;
    std::string names;
    policy.fields([&](const char* field_name, auto& field, const char*) {
      names += names.empty() ? field_name : std::string{", "} + field_name;
      if (name != field_name) return;
      found = true;
      from_value(name, field, value);
    });
    if (!found) throw parameter_error("no parameter '" + name + "'; it has " + names);
  }
  if (const std::string why = policy.refused(); !why.empty()) throw parameter_error(why);
  return std::make_unique<machine<Policy>>(policy);
}

// A row of the catalogue with what makes its scalers.
struct registration {
  scaler_entry entry;
  std::unique_ptr<scaler::machine> (*make)(const std::vector<std::pair<std::string, parameter_value>>&);
};

// One function for each file of this folder; listed in catalog.cpp.
registration pytorch_gradscaler_row();
registration cerebras_dls_row();
registration tf_keras_dynamic_row();
registration static_scale_row();

}  // namespace ulp::scalers

#endif
