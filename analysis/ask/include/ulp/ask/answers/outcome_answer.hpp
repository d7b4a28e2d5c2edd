// What `ulp outcomes` says of a run: how many values underflow, become subnormal or overflow.
#ifndef ULP_ASK_ANSWERS_OUTCOME_ANSWER_HPP
#define ULP_ASK_ANSWERS_OUTCOME_ANSWER_HPP

#include <cstdint>
#include <string>
#include <vector>

#include <ulp/ask/answers/listener.hpp>
#include <ulp/ask/questions/rounding_text.hpp>
#include <ulp/ask/questions/run_text.hpp>
#include <ulp/report/tables/outcome_table.hpp>
#include <ulp/report/tables/table.hpp>

namespace ulp {

// What rows are kept apart by; see outcome_question::by.
inline const std::vector<std::string> outcome_groups{"tensor", "kind", "step", "group"};

struct outcome_question {
  run_text run;
  std::vector<std::string> formats;
  std::vector<std::string> scales{"1"};
  std::vector<std::string> by{"tensor"};  // some of outcome_groups; what is not named is summed over
  bool as_recorded = false;               // the scale multiplies the values as recorded, whatever their factor
  rounding_text rounding;
  std::string sort;       // a key of the table, largest first; empty: by group
  std::uint64_t top = 0;  // rows; 0: all
};

struct outcome_answer {
  counted_outcomes counted;
  table rows;
};

// Throws input_error, std::invalid_argument.
[[nodiscard]] outcome_answer outcomes_over(const outcome_question& asked, listener& to);

}  // namespace ulp

#endif
