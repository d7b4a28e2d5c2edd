// Loss-scale policies as state machines, under the frameworks' own parameter names.
//
// Each framework is one file in scalers/: a value type of parameters with `start`, which gives the state before the
// first step, and `next`, a pure transition. A `scaler` holds one such policy with its current state. Scales are
// doubles that hold the framework's own number exactly (a float32 scale is one of them).
#ifndef ULP_MODEL_SCALER_HPP
#define ULP_MODEL_SCALER_HPP

#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <ulp/model/cell_table.hpp>

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

// What a policy sees of one step.
struct scaler_input {
  bool found_inf = false;            // an element of the scaled gradients is infinite or NaN
  double unscaled_norm = not_known;  // L2 norm of the unscaled gradients, where known
};

// What it does about it.
struct scaler_verdict {
  bool skipped = false;  // the optimizer step is not taken
  std::string error;     // the framework raised this; the run ends here
};

// One policy in the catalogue.
struct scaler_entry {
  std::string_view name;
  std::span<const std::string_view> aliases;
  std::string_view family;   // the class of reference policies that behave alike, e.g. "A", or empty
  std::string_view summary;  // one line
  std::string_view tests;    // the quantity whose overflow it sees
  std::string_view rules;    // the state machine in words, some lines
  std::string_view quirks;   // what surprises, some lines, or empty
  std::string_view source;   // repository, path, commit
  std::vector<scaler_parameter> parameters;
};

// A parameter that does not exist, or a value that the framework would refuse. what() is one line that says which.
class parameter_error : public std::invalid_argument {
  using invalid_argument::invalid_argument;
};

class scaler {
 public:
  // The type-erased policy and state; implemented by scalers/policy.hpp.
  class machine {
   public:
    virtual ~machine() = default;
    [[nodiscard]] virtual std::unique_ptr<machine> clone() const = 0;
    [[nodiscard]] virtual double scale() const = 0;
    virtual scaler_verdict update(const scaler_input& input) = 0;
    [[nodiscard]] virtual std::vector<scaler_parameter> parameters() const = 0;
    [[nodiscard]] virtual std::vector<std::pair<std::string, double>> state() const = 0;
    virtual void set_state(std::string_view name, double value) = 0;
  };

  scaler(const scaler_entry& entry, std::unique_ptr<machine> m) : entry_(&entry), machine_(std::move(m)) {}
  scaler(const scaler& other) : entry_(other.entry_), machine_(other.machine_->clone()) {}
  scaler(scaler&&) noexcept = default;
  scaler& operator=(scaler other) noexcept {
    std::swap(entry_, other.entry_);
    machine_.swap(other.machine_);
    return *this;
  }
  ~scaler() = default;

  [[nodiscard]] const scaler_entry& entry() const noexcept { return *entry_; }

  // The loss scale of the step about to run.
  [[nodiscard]] double scale() const { return machine_->scale(); }

  // Ends a step: the new state is the policy's transition on the old one. After an error the state is the framework's
  // own after its exception, and further updates are meaningless.
  scaler_verdict update(const scaler_input& input) { return machine_->update(input); }

  // All parameters with their effective values.
  [[nodiscard]] std::vector<scaler_parameter> parameters() const { return machine_->parameters(); }

  // The scale and the counters, under the framework's names.
  [[nodiscard]] std::vector<std::pair<std::string, double>> state() const { return machine_->state(); }
  // Throws parameter_error for a name that is not in state(), or a value it cannot hold.
  void set_state(std::string_view name, double value) { machine_->set_state(name, value); }

 private:
  const scaler_entry* entry_;
  std::unique_ptr<machine> machine_;
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
