// Policies that give each tensor a scale of its own from its largest magnitudes (amax), as state machines, under the
// frameworks' own parameter names: what FP8 training does where float16 training has one loss scale.
//
// Each policy is a file in fp8/. In every step a tensor is multiplied by a scale, rounded to the format, and divided
// by it again; the policy is told the tensor's amax and decides the scale, of this step or of later ones. All numbers
// are float32, and every operation is rounded to it as the original's is; doubles here hold them exactly. NaN and
// infinity are inputs like others: each policy says what becomes of them.
//
// Sources: each file names its own; together they are reproduced bit for bit, tests/model/machines/fp8/golden_test.cpp.
#ifndef ULP_MODEL_MACHINES_FP8_SCALER_HPP
#define ULP_MODEL_MACHINES_FP8_SCALER_HPP

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ulp/formats/format.hpp>
#include <ulp/model/machines/scaler.hpp>

namespace ulp {

// What a policy does in one step of one tensor.
struct fp8_scales {
  double before = 0;  // its state before the step; 0 where it has none
  double used = 0;    // what this step's values are scaled by
  double after = 0;   // its state after the step, or what it gave
  bool held = false;  // an amax that is infinite or NaN, of this step or of its history, kept the scale as it was
};

// One policy in the catalogue.
struct fp8_scaler_entry {
  std::string_view name;
  std::vector<std::string_view> aliases;
  std::string_view summary;    // one line
  std::string_view nonfinite;  // what an infinite amax and a NaN do, one line
  std::string_view rules;      // the state machine in words, some lines
  std::string_view quirks;     // what surprises, some lines, or empty
  std::string_view source;     // repository, path, commit
  std::vector<scaler_parameter> parameters;
  bool divides = false;      // values are divided by its scale, not multiplied
  bool ignores_nan = false;  // its amax is the largest of the others where a tensor holds NaN; elsewhere NaN
};

class fp8_scaler {
 public:
  // The type-erased policy and state; implemented by fp8/policy.hpp.
  class running_policy {
   public:
    virtual ~running_policy() = default;
    [[nodiscard]] virtual std::unique_ptr<running_policy> clone() const = 0;
    virtual fp8_scales update(float amax) = 0;
    [[nodiscard]] virtual float scale() const = 0;
    [[nodiscard]] virtual float largest() const = 0;
    [[nodiscard]] virtual std::vector<scaler_parameter> parameters() const = 0;
    [[nodiscard]] virtual std::vector<double> state() const = 0;
    virtual void set_state(std::span<const double> numbers) = 0;
  };

  fp8_scaler(const fp8_scaler_entry& entry, std::unique_ptr<running_policy> policy)
      : entry_(&entry), policy_(std::move(policy)) {}
  fp8_scaler(const fp8_scaler& other) : entry_(other.entry_), policy_(other.policy_->clone()) {}
  fp8_scaler(fp8_scaler&&) noexcept = default;
  fp8_scaler& operator=(fp8_scaler other) noexcept {
    std::swap(entry_, other.entry_);
    policy_.swap(other.policy_);
    return *this;
  }
  ~fp8_scaler() = default;

  [[nodiscard]] const fp8_scaler_entry& entry() const noexcept { return *entry_; }

  // The step of a tensor with this largest magnitude: a float32 number that is not below 0, or NaN.
  fp8_scales update(double amax) { return policy_->update(static_cast<float>(amax)); }
  // What it has decided so far; 0 where it decides in the step.
  [[nodiscard]] double scale() const { return policy_->scale(); }
  // The number that it scales amax to: the format's largest unless a parameter says otherwise.
  [[nodiscard]] double largest() const { return policy_->largest(); }
  // All parameters with their effective values.
  [[nodiscard]] std::vector<scaler_parameter> parameters() const { return policy_->parameters(); }
  // Its scale, history and counters as numbers, which only set_state() of the same policy understands. That throws
  // parameter_error, and changes nothing, where they are none of its states.
  [[nodiscard]] std::vector<double> state() const { return policy_->state(); }
  void set_state(std::span<const double> numbers) { policy_->set_state(numbers); }

 private:
  const fp8_scaler_entry* entry_;
  std::unique_ptr<running_policy> policy_;
};

// Every policy, in the order in which it is listed to people.
[[nodiscard]] std::span<const fp8_scaler_entry> fp8_scaler_catalog();

// By name or alias; nullptr where there is none.
[[nodiscard]] const fp8_scaler_entry* find_fp8_scaler(std::string_view name);

// A policy in its start state, for elements of this format. Parameters not given have the framework's defaults. Throws
// parameter_error.
[[nodiscard]] fp8_scaler make_fp8_scaler(const fp8_scaler_entry& entry, const format& of,
                                         const std::vector<std::pair<std::string, parameter_value>>& parameters = {});

}  // namespace ulp

#endif
