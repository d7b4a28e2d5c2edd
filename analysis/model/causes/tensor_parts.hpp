// The histories of single tensors, up to a step.
#ifndef ULP_MODEL_CAUSES_TENSOR_PARTS_HPP
#define ULP_MODEL_CAUSES_TENSOR_PARTS_HPP

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include <ulp/model/replay/survey.hpp>

namespace ulp {

[[nodiscard]] inline bool is_weight_gradient(const tensor_info& t) {
  return t.kind == tensor_kind::weight_grad || t.kind == tensor_kind::unknown;
}

[[nodiscard]] inline bool has_values(const tensor_survey& t) { return t.counted && !t.history.parts().empty(); }

// Whose steps are all up to `last`.
[[nodiscard]] inline std::vector<tensor_history::part> parts_until(const tensor_survey& t, std::int64_t last) {
  std::vector<tensor_history::part> parts = t.history.parts();
  std::erase_if(parts, [&](const tensor_history::part& p) { return p.last_step > last; });
  return parts;
}

// "layers.0.attn" of "layers.0.attn.weight"; empty of a name without a dot.
[[nodiscard]] inline std::string_view module_of(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? std::string_view{} : name.substr(0, dot);
}

}  // namespace ulp

#endif
