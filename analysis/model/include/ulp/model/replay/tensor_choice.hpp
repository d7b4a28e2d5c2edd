// Which tensors a replay counts, whose overflow the scaler sees, and which the norm is taken of.
#ifndef ULP_MODEL_REPLAY_TENSOR_CHOICE_HPP
#define ULP_MODEL_REPLAY_TENSOR_CHOICE_HPP

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <ulp/model/cells/step.hpp>
#include <ulp/model/recipe/scaling.hpp>
#include <ulp/model/replay/scenario.hpp>

namespace ulp {

// How the checked tensors were chosen; decided at the first step that has tensors.
enum class check_rule : std::uint8_t {
  undecided,
  expression,        // scenario::checked
  counted,           // what the scenario's predicate of names selects
  low_gradients,     // weight gradients of role low; where no kinds are known, tensors of that role
  all_weight_grads,  // roles are not known: all weight gradients
  everything,        // no weight gradients: all that may be gradients
};

class tensor_choice {
 public:
  struct membership {
    bool counted = false;
    bool checked = false;
    bool seen_if_lost = false;  // not checked, but infinities and NaN in it tell of an overflow elsewhere
    bool is_scaled = false;     // a scale multiplies it before it is rounded
    bool in_norm = false;       // weight gradients where any is counted, else all counted tensors
  };

  tensor_choice(selection counted, name_predicate checked, scaling scales = loss_scaling())
      : counted_(std::move(counted)), checked_(std::move(checked)), scales_(std::move(scales)) {}

  // The tensors seen so far, more than before or as many.
  void see(const std::vector<tensor_info>& tensors);

  [[nodiscard]] const membership& operator[](std::size_t tensor) const { return members_[tensor]; }

  [[nodiscard]] check_rule rule() const noexcept { return rule_; }
  [[nodiscard]] std::size_t checked_count() const noexcept { return checked_count_; }
  [[nodiscard]] std::size_t counted_count() const noexcept { return counted_count_; }
  // What is checked by default where roles are known: weight gradients, or what may be one where no kinds are.
  [[nodiscard]] tensor_kind default_kind() const noexcept { return takes_; }
  // Gradients whose role is not known where only those of role low are checked.
  [[nodiscard]] std::size_t unknown_count() const noexcept { return unknown_count_; }
  // A tensor came after the first step and would have changed rule() or what the norm is taken of.
  [[nodiscard]] bool rule_is_late() const noexcept { return rule_is_late_; }

 private:
  selection counted_;
  name_predicate checked_;
  scaling scales_;
  check_rule rule_ = check_rule::undecided;
  bool norm_of_weight_grads_ = false;
  tensor_kind takes_ = tensor_kind::weight_grad;
  bool rule_is_late_ = false;
  std::size_t checked_count_ = 0;
  std::size_t counted_count_ = 0;
  std::size_t unknown_count_ = 0;
  std::vector<membership> members_;
};

}  // namespace ulp

#endif
