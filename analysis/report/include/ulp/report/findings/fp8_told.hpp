// How a run goes under a recipe that scales each tensor, in words: for the page and the viewer.
#ifndef ULP_REPORT_FINDINGS_FP8_TOLD_HPP
#define ULP_REPORT_FINDINGS_FP8_TOLD_HPP

#include <string>
#include <vector>

#include <ulp/ask/runs/fp8_answer.hpp>
#include <ulp/report/findings/advice.hpp>

namespace ulp {

struct fp8_told {
  std::string under;     // name_of the question
  std::string happened;  // what most of the findings say, in one sentence
  finding_grade grade = finding_grade::fine;
  // What saturates, which scales are stale, what amaxes did that are not finite, what underflows, and whether the
  // run's own scales are these; as far as the input tells.
  std::vector<finding> findings;
};

[[nodiscard]] fp8_told tell_recipe_run(const fp8_answer& answer, const fp8_question& asked);

}  // namespace ulp

#endif
