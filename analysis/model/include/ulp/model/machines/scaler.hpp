// Loss-scale policies as state machines, under the frameworks' own parameter names.
//
// Each framework is one file in loss_scale/: a value type of parameters with `start`, which gives the state before the
// first step, and `next`, a pure transition. A `scaler` holds one such policy with its current state. Scales are
// doubles that hold the framework's own number exactly (a float32 scale is one of them).
#ifndef ULP_MODEL_MACHINES_SCALER_HPP
#define ULP_MODEL_MACHINES_SCALER_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <ulp/model/cells/cell_table.hpp>

namespace ulp {

// none, true or false, a number, a word.
using parameter_value = std::variant<std::monostate, bool, double, std::string>;

// "none", "true", "false", a number as shortest round-trip decimal, or the word.
[[nodiscard]] std::string to_string(const parameter_value& value);
// The reverse; text that is none of the first four forms is a word. Numbers as parse_number reads them, also "2^16".
[[nodiscard]] parameter_value parse_parameter(std::string_view text);

struct scaler_parameter {
  std::string name;
  parameter_value value;  // in a catalogue entry, the default
  std::string meaning;
};

// What a policy sees of one step. What is not known is NaN and decides nothing, but where verdict.lacks_input.
struct scaler_input {
  bool found_inf = false;            // an element of the scaled gradients is infinite or NaN
  double unscaled_norm = not_known;  // L2 norm of the unscaled gradients
  double max_abs = not_known;        // largest magnitude of the unscaled gradients
  double above_edge = not_known;     // how many scaled gradients are above scaler::edge() in magnitude,
  double up_to_edge = not_known;     // and how many are not
};

// What it does about it.
struct scaler_verdict {
  bool skipped = false;      // the optimizer step is not taken
  std::string error;         // the framework raised this; the run ends here
  bool lacks_input = false;  // no framework did: `error` says what the policy has to know and is not told
};

// Many steps at once, as a step log has them: a step overflows where !(scale * max_abs < threshold), in double, or, if
// max_abs is empty, where found_inf is not 0. One of them is empty.
struct step_series {
  std::span<const std::uint8_t> found_inf;
  std::span<const double> max_abs;  // of the unscaled gradients; NaN overflows
  double threshold = 0;             // the least magnitude that overflows in the format

  [[nodiscard]] std::size_t size() const noexcept { return std::max(found_inf.size(), max_abs.size()); }
};

// What a series of steps amounts to. A raised error ends it: `steps` counts that step too.
struct series_totals {
  std::uint64_t steps = 0;
  std::uint64_t skipped = 0;
  double least_scale = not_known;  // used in a step
  double greatest_scale = not_known;
  std::string error;
};

// What a machine's scale is of: all of the run, or one tensor, and then each tensor has a machine of its own.
enum class machine_scope : std::uint8_t { run, tensor };

// One policy in the catalogue.
struct scaler_entry {
  std::string_view name;
  std::vector<std::string_view> aliases;
  std::string_view family;         // the class of reference policies that behave alike, e.g. "A", or empty
  std::string_view summary;        // one line
  std::string_view overflow_test;  // what it looks at for infinity or NaN
  std::string_view floor;          // least scale: a number, the parameter that gives it, or what happens there
  std::string_view ceiling;        // greatest scale, likewise; "kept finite": growth to infinity is dropped
  std::string_view window;  // the parameter that is its growth interval, as it counts it; empty where there is none
  std::string_view rules;   // the state machine in words, some lines
  std::string_view quirks;  // what surprises, some lines, or empty
  std::string_view source;  // repository, path, commit
  std::vector<scaler_parameter> parameters;
  bool unscales_with_next = false;  // see scaler::unscales_with_next
  machine_scope scope = machine_scope::run;
};

// A parameter that does not exist, or a value that the framework would refuse. what() is one line that says which.
class parameter_error : public std::invalid_argument {
  using invalid_argument::invalid_argument;
};

class scaler {
 public:
  // The type-erased policy and state; implemented by loss_scale/policy.hpp.
  class running_policy {
   public:
    virtual ~running_policy() = default;
    [[nodiscard]] virtual std::unique_ptr<running_policy> clone() const = 0;
    [[nodiscard]] virtual double scale() const = 0;
    virtual scaler_verdict update(const scaler_input& input) = 0;
    virtual series_totals run(const step_series& steps, std::span<double> next_scales,
                              std::span<std::uint8_t> skips) = 0;
    [[nodiscard]] virtual double edge() const = 0;
    [[nodiscard]] virtual std::vector<scaler_parameter> parameters() const = 0;
    [[nodiscard]] virtual std::vector<std::pair<std::string, double>> state() const = 0;
    [[nodiscard]] virtual std::vector<std::uint64_t> state_bits() const = 0;
    virtual void set_state(std::string_view name, double value) = 0;
  };

  scaler(const scaler_entry& entry, std::unique_ptr<running_policy> policy)
      : entry_(&entry), policy_(std::move(policy)) {}
  scaler(const scaler& other) : entry_(other.entry_), policy_(other.policy_->clone()) {}
  scaler(scaler&&) noexcept = default;
  scaler& operator=(scaler other) noexcept {
    std::swap(entry_, other.entry_);
    policy_.swap(other.policy_);
    return *this;
  }
  ~scaler() = default;

  [[nodiscard]] const scaler_entry& entry() const noexcept { return *entry_; }

  // The loss scale of the step about to run.
  [[nodiscard]] double scale() const { return policy_->scale(); }

  // Ends a step: the new state is the policy's transition on the old one. After an error the state is the framework's
  // own after its exception, and further updates are meaningless.
  scaler_verdict update(const scaler_input& input) { return policy_->update(input); }

  // update for each step of the series, in one go; the norm is not known to it. After a step that raised nothing more is
  // written. next_scales and skips get the scale after each step and whether it was
  // skipped where they are not empty; then they are of the size of the series.
  series_totals run(const step_series& steps, std::span<double> next_scales = {}, std::span<std::uint8_t> skips = {}) {
    return policy_->run(steps, next_scales, skips);
  }

  // The magnitude of scaled gradients that the policy counts by (scaler_input::above_edge); NaN where it does not.
  [[nodiscard]] double edge() const { return policy_->edge(); }

  // Whether the gradients of a step are unscaled by the scale after its update, not by the one the loss was scaled with.
  [[nodiscard]] bool unscales_with_next() const noexcept { return entry_->unscales_with_next; }

  // Where every tensor, or layer, has a scaler of its own, a step is skipped where any of them says so.
  [[nodiscard]] machine_scope scope() const noexcept { return entry_->scope; }

  // All parameters with their effective values.
  [[nodiscard]] std::vector<scaler_parameter> parameters() const { return policy_->parameters(); }

  // The scale and the counters, under the framework's names.
  [[nodiscard]] std::vector<std::pair<std::string, double>> state() const { return policy_->state(); }
  // The same as bits: two scalers of equal parameters behave alike from equal ones on.
  [[nodiscard]] std::vector<std::uint64_t> state_bits() const { return policy_->state_bits(); }
  // Throws parameter_error for a name that is not in state(), or a value it cannot hold.
  void set_state(std::string_view name, double value) { policy_->set_state(name, value); }

 private:
  const scaler_entry* entry_;
  std::unique_ptr<running_policy> policy_;
};

// Every policy, in the order in which it is listed to people.
[[nodiscard]] std::span<const scaler_entry> scaler_catalog();

// By name or alias; nullptr where there is none.
[[nodiscard]] const scaler_entry* find_scaler(std::string_view name);

// A scaler in its start state. Parameters not given have the framework's defaults. Throws parameter_error.
[[nodiscard]] scaler make_scaler(const scaler_entry& entry,
                                 const std::vector<std::pair<std::string, parameter_value>>& parameters = {});

}  // namespace ulp

#endif
