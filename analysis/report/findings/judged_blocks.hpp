// What findings on formats of blocks share: the row that does best, how its tensors did, and that in words.
#ifndef ULP_REPORT_FINDINGS_JUDGED_BLOCKS_HPP
#define ULP_REPORT_FINDINGS_JUDGED_BLOCKS_HPP

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include <ulp/ask/runs/advice_answer.hpp>
#include <ulp/ask/runs/block_trial.hpp>

#include "findings.hpp"

namespace ulp {

// Of the family the row that does best. Precondition: b.tried.
[[nodiscard]] const block_format& chosen_of(const block_advice& b);
[[nodiscard]] std::size_t chosen_index(const block_advice& b);

// "E4M3"
[[nodiscard]] std::string element_text(const block_format& row);
// "2 of 7 tensors"
[[nodiscard]] std::string of_tensors(std::size_t n, std::size_t all);

// The tensors that are judged in one row, the worst first; where nothing fails, those that are not decided.
struct judged_row {
  const block_trial& tried;
  const block_format& row;
  std::size_t at;
  std::vector<const tried_tensor*> tensors;
  std::size_t nonfinite;
  std::size_t drowned;
  std::size_t open;
  std::size_t held;
  std::size_t saturating;

  [[nodiscard]] const judged_treatment& worst() const { return tensors.front()->of[at]; }
  [[nodiscard]] const std::string& name() const { return tried.info[tensors.front()->tensor].name; }
  template <typename Has>
  [[nodiscard]] std::size_t count(Has has) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(tensors, [&](const tried_tensor* t) { return has(t->of[at]); }));
  }
  // For certain, and perhaps.
  [[nodiscard]] std::size_t losing(double share) const {
    return count([&](const judged_treatment& j) { return j.worst.low > share; });
  }
  [[nodiscard]] std::size_t may_lose(double share) const {
    return count([&](const judged_treatment& j) { return j.worst.high > share; });
  }
};
[[nodiscard]] judged_row judged_in(const block_trial& tried, const block_format& row);

// "becomes infinite or NaN in step 3", "loses 0.07 % of its energy in step 5"; and what would decide it.
[[nodiscard]] std::string fate_text(const judged_row& in, const judged_treatment& j);

// Which scale rule, of a family that leaves it open.
[[nodiscard]] finding which_rule(const block_advice& b);

}  // namespace ulp

#endif
