// From a framework's value type to an `fp8_scaler`.
//
// A policy P holds its parameters, listed by `fields` (machines/parameters.hpp), and has a runner P::machine, made from the
// parameters and the largest number of the format, with `fp8_scales update(float amax)`, `float scale() const`, and
// `exchange(with)`, which gives each number of its state to `with`: a state_writer, or a state_reader that puts others there.
#ifndef ULP_MODEL_MACHINES_FP8_POLICY_HPP
#define ULP_MODEL_MACHINES_FP8_POLICY_HPP

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <ulp/model/machines/fp8_scaler.hpp>

#include "machines/parameters.hpp"
#include "rows.hpp"

namespace ulp::fp8 {

using parameter_list = std::vector<std::pair<std::string, parameter_value>>;

inline constexpr float largest_float = std::numeric_limits<float>::max();

// Why a number that scales is none, or empty.
inline std::string refused_scale(const char* name, double scale) {
  const auto as_float = static_cast<float>(scale);
  if (as_float > 0 && as_float <= largest_float) return {};
  return std::string{name} + " must be above 0 and finite as a float32";
}

// What most of them share: the number that amax is scaled to.
struct scaled_to {
  std::optional<double> fp8_max;

  template <typename Visitor>
  void fields(Visitor&& v) {
    v("fp8_max", fp8_max, "what amax is scaled to; none: the largest number of the format");
  }
  [[nodiscard]] float largest(float of_format) const { return fp8_max ? static_cast<float>(*fp8_max) : of_format; }
  [[nodiscard]] std::string refused() const {
    if (fp8_max && !refused_scale("fp8_max", *fp8_max).empty()) return refused_scale("fp8_max", *fp8_max);
    return {};
  }
};

class state_writer {
 public:
  template <typename Number>
  void operator()(const Number& number) {
    numbers.push_back(static_cast<double>(number));
  }
  void count(std::size_t n) { (*this)(n); }

  std::vector<double> numbers;
};

class state_reader {
 public:
  explicit state_reader(std::span<const double> numbers) : left_(numbers) {}

  void operator()(float& into) { into = static_cast<float>(next()); }
  void operator()(std::int64_t& into) {
    const double number = next();
    if (!(number >= 0 && number <= 0x1p53) || number != std::floor(number)) refuse();
    into = static_cast<std::int64_t>(number);
  }
  // Of entries that follow, of at least one number each.
  void count(std::size_t& into) {
    std::int64_t n = 0;
    (*this)(n);
    if (static_cast<std::uint64_t>(n) > left_.size()) refuse();
    into = static_cast<std::size_t>(n);
  }
  void end() const {
    if (!left_.empty()) refuse();
  }

 private:
  [[noreturn]] static void refuse() { throw parameter_error("the state is none of this policy"); }
  double next() {
    if (left_.empty()) refuse();
    const double number = left_.front();
    left_ = left_.subspan(1);
    return number;
  }
  std::span<const double> left_;
};

template <typename Policy>
class running final : public fp8_scaler::running_policy {
 public:
  running(const Policy& policy, float largest)
      : policy_(policy), largest_(policy.largest(largest)), machine_(policy, largest_) {}

  [[nodiscard]] std::unique_ptr<fp8_scaler::running_policy> clone() const override {
    return std::make_unique<running>(*this);
  }
  fp8_scales update(float amax) override { return machine_.update(amax); }
  [[nodiscard]] float scale() const override { return machine_.scale(); }
  [[nodiscard]] float largest() const override { return largest_; }
  [[nodiscard]] std::vector<scaler_parameter> parameters() const override { return scalers::parameters_of(policy_); }
  [[nodiscard]] std::vector<double> state() const override {
    state_writer to;
    typename Policy::machine(machine_).exchange(to);
    return std::move(to.numbers);
  }
  void set_state(std::span<const double> numbers) override {
    typename Policy::machine changed = machine_;
    state_reader from(numbers);
    changed.exchange(from);
    from.end();
    machine_ = std::move(changed);
  }

 private:
  Policy policy_;
  float largest_;
  typename Policy::machine machine_;
};

// A policy without a state: Policy::scale_for(amax, largest).
template <typename Policy>
class stateless {
 public:
  stateless(const Policy& policy, float largest) : policy_(policy), largest_(largest) {}

  fp8_scales update(float amax) {
    const float scale = policy_.scale_for(amax, largest_);
    return {.before = 0, .used = scale, .after = scale, .held = false};
  }
  [[nodiscard]] float scale() const { return 0; }
  template <typename With>
  void exchange(With& /*with*/) {}

 private:
  Policy policy_;
  float largest_;
};

// A row of the catalogue with what makes its policies. The catalogue names it.
struct registration {
  fp8_scaler_entry entry;
  std::unique_ptr<fp8_scaler::running_policy> (*make)(const parameter_list&, float largest);
};

template <typename Policy>
registration row(fp8_scaler_entry entry) {
  entry.parameters = scalers::parameters_of(Policy{});
  return {std::move(entry), [](const parameter_list& parameters, float largest) {
            return std::unique_ptr<fp8_scaler::running_policy>(
                std::make_unique<running<Policy>>(scalers::policy_of<Policy>(parameters), largest));
          }};
}

}  // namespace ulp::fp8

#endif
