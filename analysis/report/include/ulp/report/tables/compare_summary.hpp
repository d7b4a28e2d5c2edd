// What `ulp compare` found, in sentences and values.
#ifndef ULP_REPORT_TABLES_COMPARE_SUMMARY_HPP
#define ULP_REPORT_TABLES_COMPARE_SUMMARY_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ulp/ask/runs/compare_answer.hpp>
#include <ulp/report/tables/replay_summary.hpp>
#include <ulp/report/tables/table.hpp>

namespace ulp {

// Where the runs part, what that may come from, up to where that was judged, and what was not compared.
[[nodiscard]] std::vector<summary_line> lines_of(const compare_answer& answer);

// The first step in which they part, to be marked in curves: of B where it is another one. nullopt where they do not.
struct parting_mark {
  std::int64_t a = 0;
  std::int64_t b = 0;
  std::string what;  // "the gradient of fc1.weight"
};
[[nodiscard]] std::optional<parting_mark> mark_of(const compare_answer& answer);

// What is told first: where they part, or that they do not, and what that looks like, a sentence or two.
[[nodiscard]] std::vector<std::string> first_of(const compare_answer& answer);

// A row for each tensor that both have, in the order of A's network.
[[nodiscard]] table compare_table(const compare_answer& answer);

}  // namespace ulp

#endif
