// From which step on a metric of each tensor crosses its threshold: as far as columns tell it at once, and to the step by
// reading those steps that are in doubt.
#ifndef ULP_GUI_VIEWMODEL_FIRST_STEPS_HPP
#define ULP_GUI_VIEWMODEL_FIRST_STEPS_HPP

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include <ulp/report/layer_metrics.hpp>

#include "background.hpp"
#include "document.hpp"
#include "drawn_columns.hpp"

namespace ulp::gui {

struct first_step {
  std::optional<std::int64_t> earliest;  // no step before it crosses; nullopt: none does
  std::optional<std::int64_t> latest;    // one up to it does for certain; nullopt: that is not decided

  [[nodiscard]] bool exact() const noexcept { return earliest == latest; }
  // Becomes that of whichever crosses first.
  void join(const first_step& other);
};

// Of each tensor of the answer, in the steps shown. Precondition: the answer is of these columns, and of a metric that has a
// threshold.
[[nodiscard]] std::vector<first_step> first_steps_of(const drawn_columns& drawn, const layer_answer& answer);

// What else finding the steps takes. The scale is the one that is tried out, or the replay's of each step.
struct first_step_search {
  std::shared_ptr<const drawn_columns> drawn;
  tensor_mask wanted;
  std::optional<int> tried_scale;
  std::shared_ptr<const replayed_run> replay;
  std::uint64_t most_tables =
      std::numeric_limits<std::uint64_t>::max();  // that are read; then it stays as far as known
};
[[nodiscard]] std::vector<first_step> found(const first_step_search& search, const layer_answer& answer,
                                            const background::report& told);

}  // namespace ulp::gui

#endif
