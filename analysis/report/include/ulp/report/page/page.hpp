// The page about a run, of what was gathered while it was read.
#ifndef ULP_REPORT_PAGE_PAGE_HPP
#define ULP_REPORT_PAGE_PAGE_HPP

#include <ulp/ask/runs/page_answer.hpp>
#include <ulp/report/page/html.hpp>

namespace ulp {

// The notes of the page are those of policies, steps and groups.
[[nodiscard]] report_page page_of(page_answer answer);

}  // namespace ulp

#endif
