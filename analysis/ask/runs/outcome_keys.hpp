// What answers about outcomes share: by what their rows are kept apart.
#ifndef ULP_ASK_RUNS_OUTCOME_KEYS_HPP
#define ULP_ASK_RUNS_OUTCOME_KEYS_HPP

#include <stdexcept>

#include <ulp/ask/runs/outcome_answer.hpp>

namespace ulp {

// Throws std::invalid_argument unless groups are named where rows are kept apart by them, and only there.
template <class Answer>
void check_named_groups(const Answer& all) {
  if (all.is_by("group") != !all.named.empty())
    throw std::invalid_argument(all.is_by("group") ? "--by group: say which groups by --group NAME=REGEX"
                                                   : "--group: is used with --by group");
}

template <class Answer>
[[nodiscard]] outcome_key outcome_key_of(const Answer& all, const tensor_row& row, const tensor_info& info,
                                         const step_key& key) {
  outcome_key g;
  if (all.is_by("group")) g.named = ulp::group_of(all.named, info.name);
  if (all.is_by("tensor")) g.tensor = row.tensor;
  if (all.is_by("kind")) g.kind = info.kind;
  if (all.is_by("step")) g.step = key.step;
  return g;
}

}  // namespace ulp

#endif
