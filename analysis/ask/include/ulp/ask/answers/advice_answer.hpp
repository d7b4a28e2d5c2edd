// What `ulp advise` asks of a run.
#ifndef ULP_ASK_ANSWERS_ADVICE_ANSWER_HPP
#define ULP_ASK_ANSWERS_ADVICE_ANSWER_HPP

#include <cstdint>
#include <optional>
#include <string>

#include <ulp/ask/answers/examined_run.hpp>
#include <ulp/ask/answers/reading.hpp>
#include <ulp/ask/progress/listener.hpp>
#include <ulp/ask/questions/rounding_text.hpp>
#include <ulp/ask/questions/run_text.hpp>

namespace ulp {

struct advice_question {
  run_text run;  // groups are looked at beside single tensors
  std::string format = "float16";
  std::string check;
  std::string epsilon = "1e-5";
  std::string config;  // a framework's file, whose words say what to change
  rounding_text rounding;
  std::string framework;  // whose words these are where no file is named; empty: as logged
  first_look look = first_look::yes;
};

// Throws input_error, std::invalid_argument.
[[nodiscard]] examined_run advice_over(const advice_question& asked, listener& to);

// The step from which on advice leaves the run out; nullopt where it is judged whole. Throws input_error,
// std::invalid_argument.
[[nodiscard]] std::optional<std::int64_t> left_out_from(const advice_question& asked, listener& to);

}  // namespace ulp

#endif
