// What a replay amounts to, in lines for people and as values under names for machines: above the steps of `ulp replay`, and in
// the viewer.
#ifndef ULP_REPORT_TABLES_REPLAY_SUMMARY_HPP
#define ULP_REPORT_TABLES_REPLAY_SUMMARY_HPP

#include <string>
#include <vector>

#include <ulp/ask/runs/replay_answer.hpp>
#include <ulp/report/tables/table.hpp>

namespace ulp {

struct summary_line {
  std::string title;
  std::string text;  // without it the line is for machines alone
  std::vector<named_value> values;
};

[[nodiscard]] std::vector<summary_line> lines_of(const replayed_run& run, const replay_question& asked,
                                                 const scenario& s);

}  // namespace ulp

#endif
