// From a framework's value type to a `scaler`: parameters and state are listed once, by visiting their fields.
//
// A policy P has: `struct state`, `void fields(V&&)` in both (calling v(name, field, meaning) on each), `state start()
// const`, `double scale(const state&) const`, and the pure transition `transition<state> next(state, const
// scaler_input&) const`; optionally `std::string refused() const`, why the framework would refuse these parameters, or
// empty, and `double edge() const`, see scaler::edge. Parameters and the rest may be two types, P and a runner R made
// from it, so that what follows from the parameters is computed once.
#ifndef ULP_MODEL_MACHINES_LOSS_SCALE_POLICY_HPP
#define ULP_MODEL_MACHINES_LOSS_SCALE_POLICY_HPP

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <ulp/model/machines/scaler.hpp>

#include "machines/parameters.hpp"
#include "rows.hpp"

namespace ulp::scalers {

template <typename State>
struct transition {
  State state;
  scaler_verdict verdict;
};

// Whether squares of gradients overflow a float32 sum, seen by their norm, which is at least the largest of them; either
// may be unknown.
inline bool squares_overflow(double norm, double max_abs) {
  const double least = std::fmax(norm, max_abs);
  return least * least > static_cast<double>(std::numeric_limits<float>::max());
}

template <typename Policy, typename Runner = Policy>
class running final : public scaler::running_policy {
 public:
  explicit running(const Policy& policy) : policy_(policy), runner_(policy), state_(runner_.start()) {}

  [[nodiscard]] std::unique_ptr<scaler::running_policy> clone() const override {
    return std::make_unique<running>(*this);
  }
  [[nodiscard]] double scale() const override { return runner_.scale(state_); }
  scaler_verdict update(const scaler_input& input) override {
    auto [state, verdict] = runner_.next(state_, input);
    state_ = state;
    return verdict;
  }
  series_totals run(const step_series& steps, std::span<double> next_scales, std::span<std::uint8_t> skips) override {
    series_totals totals;
    const Runner runner = runner_;  // copies that the spans cannot alias
    typename Runner::state now = state_;
    double scale = runner.scale(now);
    double least = std::numeric_limits<double>::infinity();
    double greatest = -least;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      scaler_input input;
      if (!steps.max_abs.empty()) {
        input.max_abs = steps.max_abs[i];
        input.found_inf = !(scale * input.max_abs < steps.threshold);
      } else {
        input.found_inf = steps.found_inf[i] != 0;
      }
      least = std::min(least, scale);
      greatest = std::max(greatest, scale);
      auto [state, verdict] = runner.next(now, input);
      now = state;
      scale = runner.scale(now);
      ++totals.steps;
      totals.skipped += verdict.skipped ? 1 : 0;
      if (!next_scales.empty()) next_scales[i] = scale;
      if (!skips.empty()) skips[i] = verdict.skipped ? 1 : 0;
      if (!verdict.error.empty()) {
        totals.error = std::move(verdict.error);
        break;
      }
    }
    state_ = now;
    if (totals.steps > 0) {
      totals.least_scale = least;
      totals.greatest_scale = greatest;
    }
    return totals;
  }
  [[nodiscard]] double edge() const override {
    if constexpr (requires { runner_.edge(); })
      return runner_.edge();
    else
      return not_known;
  }
  [[nodiscard]] std::vector<scaler_parameter> parameters() const override { return parameters_of(policy_); }
  [[nodiscard]] std::vector<std::pair<std::string, double>> state() const override {
    std::vector<std::pair<std::string, double>> all;
    typename Runner::state copy = state_;
    copy.fields([&](const char* name, auto& field) { all.emplace_back(name, static_cast<double>(field)); });
    return all;
  }
  [[nodiscard]] std::vector<std::uint64_t> state_bits() const override {
    std::vector<std::uint64_t> all;
    typename Runner::state copy = state_;
    copy.fields(
        [&](const char*, auto& field) { all.push_back(std::bit_cast<std::uint64_t>(static_cast<double>(field))); });
    return all;
  }
  void set_state(std::string_view name, double value) override {
    bool found = false;
    std::vector<std::string_view> names;
    state_.fields([&](const char* field_name, auto& field) {
      names.push_back(field_name);
      if (name != field_name) return;
      found = true;
      from_value(name, field, value);
    });
    if (!found) throw parameter_error(unknown_name("state", name, names));
  }

 private:
  Policy policy_;
  Runner runner_;
  typename Runner::state state_;
};

template <typename Policy, typename Runner = Policy>
std::unique_ptr<scaler::running_policy> make(const std::vector<std::pair<std::string, parameter_value>>& parameters) {
  return std::make_unique<running<Policy, Runner>>(policy_of<Policy>(parameters));
}

// A row of the catalogue with what makes its scalers. The catalogue names it.
struct registration {
  scaler_entry entry;
  std::unique_ptr<scaler::running_policy> (*make)(const std::vector<std::pair<std::string, parameter_value>>&);
};

template <typename Policy, typename Runner = Policy>
registration row(scaler_entry entry) {
  entry.parameters = parameters_of(Policy{});
  return {std::move(entry), &make<Policy, Runner>};
}

// The row of a policy under a name that stands for other defaults.
template <typename Policy>
registration preset(registration row, std::string_view summary, const Policy& defaults) {
  row.entry.aliases.clear();
  row.entry.summary = summary;
  row.entry.parameters = parameters_of(defaults);
  return row;
}

}  // namespace ulp::scalers

#endif
