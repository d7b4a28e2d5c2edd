// What `ulp advise` says of a run.
#ifndef ULP_ASK_ANSWERS_ADVICE_ANSWER_HPP
#define ULP_ASK_ANSWERS_ADVICE_ANSWER_HPP

#include <string>

#include <ulp/ask/answers/listener.hpp>
#include <ulp/ask/questions/rounding_text.hpp>
#include <ulp/ask/questions/run_text.hpp>
#include <ulp/report/findings/advice.hpp>
#include <ulp/report/tables/table.hpp>

namespace ulp {

struct advice_question {
  run_text run;  // groups are looked at beside single tensors
  std::string format = "float16";
  std::string check;
  std::string epsilon = "1e-5";
  std::string config;  // a framework's file, whose words say what to change
  rounding_text rounding;
};

// Throws input_error, std::invalid_argument.
[[nodiscard]] advice advice_over(const advice_question& asked, listener& to);

// A row for each finding, the summary first.
[[nodiscard]] table advice_table(const advice& given);

}  // namespace ulp

#endif
