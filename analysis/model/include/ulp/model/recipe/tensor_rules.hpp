// What holds for which tensors: rules by kind and name.
#ifndef ULP_MODEL_RECIPE_TENSOR_RULES_HPP
#define ULP_MODEL_RECIPE_TENSOR_RULES_HPP

#include <algorithm>
#include <functional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <ulp/model/cells/step.hpp>

namespace ulp {

// Which names of tensors are meant; empty where nothing was said. Called from several threads at once.
using name_predicate = std::function<bool(std::string_view name)>;

// `value` for the tensors of these kinds and names; empty: for all.
template <typename T>
struct tensor_rule {
  std::vector<tensor_kind> kinds;
  name_predicate names;
  T value;

  [[nodiscard]] bool takes(const tensor_info& t) const {
    return (kinds.empty() || std::ranges::find(kinds, t.kind) != kinds.end()) && (!names || names(t.name));
  }
};

// The first rule that takes a tensor says what holds for it; where none does, `otherwise`.
template <typename T>
class tensor_rules {
 public:
  tensor_rules(T otherwise, std::vector<tensor_rule<T>> rules = {})
      : rules_(std::move(rules)), otherwise_(std::move(otherwise)) {}

  [[nodiscard]] const T& of(const tensor_info& t) const {
    const auto rule = std::ranges::find_if(rules_, [&](const tensor_rule<T>& r) { return r.takes(t); });
    return rule == rules_.end() ? otherwise_ : rule->value;
  }
  [[nodiscard]] const T& otherwise() const noexcept { return otherwise_; }

  // The same rules with `change` of each value.
  template <typename Change>
  [[nodiscard]] auto map(Change change) const {
    using changed = std::remove_cvref_t<std::invoke_result_t<Change, const T&>>;
    std::vector<tensor_rule<changed>> rules;
    for (const tensor_rule<T>& r : rules_) rules.push_back({r.kinds, r.names, std::invoke(change, r.value)});
    return tensor_rules<changed>(std::invoke(change, otherwise_), std::move(rules));
  }

 private:
  std::vector<tensor_rule<T>> rules_;
  T otherwise_;
};

}  // namespace ulp

#endif
