#include <ulp/model/replay/tensor_choice.hpp>

#include <algorithm>

namespace ulp {

void tensor_choice::see(const std::vector<tensor_info>& tensors) {
  if (rule_ == check_rule::undecided && !tensors.empty()) {
    const auto any_tensor = [&](auto&& test) { return std::any_of(tensors.begin(), tensors.end(), test); };
    const auto is_weight_grad = [](const tensor_info& t) { return t.kind == tensor_kind::weight_grad; };
    const bool weight_grads = any_tensor(is_weight_grad);
    takes_ = weight_grads ? tensor_kind::weight_grad : tensor_kind::unknown;
    const bool low = any_tensor([&](const tensor_info& t) { return t.kind == takes_ && t.role == tensor_role::low; });
    rule_ = checked_          ? check_rule::expression
            : counted_.tensor ? check_rule::counted
            : low             ? check_rule::low_gradients
            : weight_grads    ? check_rule::all_weight_grads
                              : check_rule::everything;
    norm_of_weight_grads_ = any_tensor([&](const tensor_info& t) { return is_weight_grad(t) && counted_.takes(t); });
  }
  const bool late = !members_.empty();
  for (std::size_t i = members_.size(); i < tensors.size(); ++i) {
    const tensor_info& t = tensors[i];
    const bool weight_grad = t.kind == tensor_kind::weight_grad;
    membership m;
    m.counted = counted_.takes(t);
    m.is_scaled = is_scaled(t, scales_);
    switch (rule_) {
      case check_rule::undecided: break;
      case check_rule::expression: m.checked = checked_(t.name); break;
      case check_rule::counted: m.checked = m.counted && m.is_scaled; break;
      case check_rule::low_gradients:
        m.checked = t.kind == takes_ && t.role == tensor_role::low;
        m.seen_if_lost = t.kind == takes_ && !m.checked;
        unknown_count_ += t.kind == takes_ && t.role == tensor_role::unknown ? t.stands_for : 0;
        break;
      case check_rule::all_weight_grads: m.checked = weight_grad; break;
      case check_rule::everything: m.checked = m.is_scaled; break;
    }
    // A rule or a norm that this tensor would have changed, had it been there in the first step.
    rule_is_late_ = rule_is_late_ || (late && weight_grad &&
                                      (rule_ == check_rule::everything || !norm_of_weight_grads_ ||
                                       (rule_ == check_rule::all_weight_grads && t.role == tensor_role::low)));
    m.in_norm = m.counted && (weight_grad || !norm_of_weight_grads_);
    checked_count_ += m.checked ? t.stands_for : 0;
    counted_count_ += m.counted ? t.stands_for : 0;
    members_.push_back(m);
  }
}

}  // namespace ulp
