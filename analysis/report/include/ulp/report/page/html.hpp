// A report of a run as one page of HTML: pictures as inline SVG with tables beside them. The page needs no network, runs no
// script, prints, and follows the reader's light or dark mode.
#ifndef ULP_REPORT_PAGE_HTML_HPP
#define ULP_REPORT_PAGE_HTML_HPP

#include <optional>
#include <string>
#include <vector>

#include <ulp/ask/columns/block_comparison.hpp>
#include <ulp/ask/columns/run_columns.hpp>
#include <ulp/ask/runs/compare_answer.hpp>
#include <ulp/ask/runs/fp8_answer.hpp>
#include <ulp/ask/runs/plan_answer.hpp>
#include <ulp/report/findings/advice.hpp>
#include <ulp/report/tables/replay_summary.hpp>
#include <ulp/report/tables/table.hpp>

namespace ulp {

// One replay.
struct report_replay {
  std::string name;        // of the policy
  std::string parameters;  // "init_scale=65536 ..."
  trajectory_summary sum;
  columns_of<scale_extremes> scales;
  std::vector<std::string> warnings;
};

// A recipe with a scale for each tensor.
struct report_recipe {
  std::string name;
  std::string happened;
  finding_grade grade = finding_grade::fine;
  std::vector<summary_line> lines;
  std::vector<finding> findings;
  table tensors;
  struct scales {
    std::string tensor;
    columns_of<fp8_column> columns;
  };
  std::vector<scales> worst;  // the worst first
};

struct report_command {
  std::string text;
  std::string shortened;  // where the text is too long to read; the text is folded under it
};

struct report_page {
  std::string input;
  std::string format_name;
  treatment how;
  std::vector<tensor_info> tensors;
  std::uint64_t steps = 0;
  advice_summary first;
  std::vector<finding> findings;
  columns_of<logged_values> logged;
  columns_of<binade_counts> binades;  // of the counted tensors
  columns_of<tensor_losses> losses;   // under the first replay
  std::vector<report_replay> replays;
  std::optional<report_recipe> recipe;
  std::vector<compared_blocks> blocks;  // formats whose blocks share a scale
  std::optional<plan_answer> plan;
  std::vector<compare_answer> comparisons;  // with other runs
  double clip_norm = not_known;
  table matrix;                          // formats by group of tensors
  std::string matrix_note;               // what it leaves out
  std::vector<std::string> notes;        // what a reader should know about input and policies
  std::vector<report_command> commands;  // that give the same numbers
};

[[nodiscard]] std::string html_of(const report_page& page);

}  // namespace ulp

#endif
