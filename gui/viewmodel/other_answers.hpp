// What is asked of open runs beside replays: a plan for each tensor, and where two runs part. Both read their inputs once more, in
// whatever thread calls.
#ifndef ULP_GUI_VIEWMODEL_OTHER_ANSWERS_HPP
#define ULP_GUI_VIEWMODEL_OTHER_ANSWERS_HPP

#include <string>

#include <ulp/ask/progress/listener.hpp>
#include <ulp/ask/runs/compare_answer.hpp>
#include <ulp/ask/runs/plan_answer.hpp>

#include "view_state.hpp"

namespace ulp::gui {

// Throws as plan_over.
[[nodiscard]] plan_answer plan_of(const run_text& run, const plan_spec& choice, listener& to);

// Of a run with another, which is one file. Throws as compare_runs.
[[nodiscard]] compare_answer comparison_of(const run_text& run, const std::string& other, bool by_loss, listener& to);

}  // namespace ulp::gui

#endif
