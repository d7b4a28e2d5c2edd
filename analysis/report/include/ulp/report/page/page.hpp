// The page about a run, of what was gathered while it was read.
#ifndef ULP_REPORT_PAGE_PAGE_HPP
#define ULP_REPORT_PAGE_PAGE_HPP

#include <ulp/ask/runs/fp8_answer.hpp>
#include <ulp/ask/runs/page_answer.hpp>
#include <ulp/report/page/html.hpp>

namespace ulp {

// The notes of the page are those of policies, steps and groups.
[[nodiscard]] report_page page_of(page_answer answer);

// A section more, on scales of tensors, and the command that gives its numbers.
void add_recipe(report_page& page, drawn_fp8 drawn);

// A section more, on formats whose blocks share a scale, and the command that counts them.
void add_blocks(report_page& page, const run_text& run, std::vector<compared_blocks> blocks);

// A section more, on what each tensor may be kept in, and its command.
void add_plan(report_page& page, const plan_question& asked, plan_answer plan);

// A section more, on where the run parts from another one, and its command.
void add_comparison(report_page& page, const compare_question& asked, compare_answer found);

}  // namespace ulp

#endif
