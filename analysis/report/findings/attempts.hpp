// What had gone wrong in a part of a run that was done again from an earlier step on.
#ifndef ULP_REPORT_FINDINGS_ATTEMPTS_HPP
#define ULP_REPORT_FINDINGS_ATTEMPTS_HPP

#include <vector>

#include <ulp/ask/runs/advice_answer.hpp>
#include <ulp/report/findings/advice.hpp>

namespace ulp {

// Adds it to the first lines, and a finding for each such part: the steps that replaced it do not show it.
void say_what_was_replaced(advice& all, const std::vector<examined_attempt>& attempts,
                           const std::vector<tensor_info>& tensors, const advice_options& options);

}  // namespace ulp

#endif
