// All that determines a replay.
#ifndef ULP_MODEL_REPLAY_SCENARIO_HPP
#define ULP_MODEL_REPLAY_SCENARIO_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ulp/model/cells/step.hpp>
#include <ulp/model/recipe/recipe.hpp>
#include <ulp/model/replay/clipping.hpp>

namespace ulp {

// Tensors and steps out of a run. Empty lists and an empty predicate select everything.
struct selection {
  name_predicate tensor;
  std::vector<tensor_kind> kinds;
  std::vector<tensor_role> roles;
  std::int64_t first_step = std::numeric_limits<std::int64_t>::min();
  std::int64_t end_step = std::numeric_limits<std::int64_t>::max();  // excluded; the greatest: no end
  std::int64_t every = 1;                                            // steps divisible by it

  [[nodiscard]] bool takes(const tensor_info& t) const {
    const auto among = [](const auto& list, auto value) {
      return list.empty() || std::find(list.begin(), list.end(), value) != list.end();
    };
    return among(kinds, t.kind) && among(roles, t.role) && (!tensor || tensor(t.name));
  }
  [[nodiscard]] bool takes(std::int64_t step) const noexcept {
    const bool is_before = step < end_step || end_step == std::numeric_limits<std::int64_t>::max();
    return step >= first_step && is_before && step % every == 0;
  }
};

// Tensors that belong together, under a name; an empty predicate holds for all.
struct tensor_group {
  std::string name;
  name_predicate holds;
};

// The group of a tensor, the first that holds it; nullopt where none does.
[[nodiscard]] inline std::optional<std::size_t> group_of(const std::vector<tensor_group>& groups,
                                                         std::string_view tensor) {
  for (std::size_t i = 0; i < groups.size(); ++i)
    if (!groups[i].holds || groups[i].holds(tensor)) return i;
  return std::nullopt;
}

struct scenario {
  explicit scenario(ulp::recipe how) : recipe(std::move(how)) {}
  // The usual case: one machine, which scales gradients, and one format and rounding for all tensors.
  explicit scenario(scaler machine, const treatment& all = {}) : recipe(loss_scaling_recipe(all, std::move(machine))) {}

  ulp::recipe recipe;
  std::uint64_t seed = 0;                    // of the draws under stochastic rounding
  std::optional<norm_clipping> clip_norm;    // on gradients as `order` says
  std::optional<value_clipping> clip_value;  // likewise; at most one of the two
  step_order order;                          // of unscaling, the overflow check and clipping
  selection counted;                         // the tensors whose outcomes are counted, and the steps
  std::vector<tensor_group> groups;          // whose norms are distinguished
  name_predicate checked;                    // the tensors whose overflow the scaler sees; empty: see check_rule
};

}  // namespace ulp

#endif
