// From which step on a metric of each tensor crosses its threshold: as far as columns tell it at once, and to the step by
// reading those steps that are in doubt.
#ifndef ULP_GUI_VIEWMODEL_FIRST_STEPS_HPP
#define ULP_GUI_VIEWMODEL_FIRST_STEPS_HPP

#include <cstdint>
#include <optional>
#include <vector>

#include <ulp/report/pictures/layer_metrics.hpp>

#include "background.hpp"
#include "drawn_columns.hpp"
#include "layer_steps.hpp"

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

struct found_steps {
  std::vector<first_step> of;  // of each tensor; those that were not wanted are as columns tell
  bool complete = true;
};
[[nodiscard]] found_steps found(const layer_reading& reading, const layer_answer& answer, listener& to);

}  // namespace ulp::gui

#endif
