// The page of `ulp report` about a whole run.
#ifndef ULP_ASK_ANSWERS_PAGE_ANSWER_HPP
#define ULP_ASK_ANSWERS_PAGE_ANSWER_HPP

#include <optional>
#include <string>
#include <vector>

#include <ulp/ask/answers/listener.hpp>
#include <ulp/report/page/html.hpp>
#include <ulp/report/page/page.hpp>

namespace ulp {

// The scenario under each of the policies, that of the configuration first; pytorch_gradscaler where there is none, float16
// where no format is said. Throws std::invalid_argument.
[[nodiscard]] page_question page_about(const run_text& run, const scenario_text& what,
                                       const std::vector<std::string>& scalers, const std::optional<configuration>& own,
                                       const std::string& epsilon);

// Throws input_error, std::invalid_argument.
[[nodiscard]] report_page page_over(const page_question& asked, listener& to);

}  // namespace ulp

#endif
