// What a replay amounts to, in lines for people and as values under names for machines: above the steps of `ulp replay`, and in
// the viewer.
#ifndef ULP_REPORT_TABLES_REPLAY_SUMMARY_HPP
#define ULP_REPORT_TABLES_REPLAY_SUMMARY_HPP

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <ulp/ask/questions/scenario_text.hpp>
#include <ulp/model/replay/scenario.hpp>
#include <ulp/model/replay/tensor_choice.hpp>
#include <ulp/model/replay/trajectory.hpp>
#include <ulp/report/tables/table.hpp>

namespace ulp {

struct summary_line {
  std::string title;
  std::string text;  // without it the line is for machines alone
  std::vector<named_value> values;
};

// As trajectory_row::critical_scale.
struct critical_step {
  std::int64_t step = 0;
  double scale = not_known;
};

// What of its rows a summary needs beside their sum; 16 bytes a row.
class replay_account {
 public:
  void add(const trajectory_row& row);

  [[nodiscard]] const std::vector<critical_step>& critical() const noexcept { return critical_; }
  // What clipping left: elements that were clamped, the largest norm after it, and whether that is exact.
  [[nodiscard]] const count_range& clamped() const noexcept { return clamped_; }
  [[nodiscard]] double largest_norm() const noexcept { return norm_; }
  [[nodiscard]] bool norm_is_exact() const noexcept { return norm_exact_; }

 private:
  std::vector<critical_step> critical_;
  count_range clamped_;
  double norm_ = not_known;
  bool norm_exact_ = true;
};

struct finished_replay {
  const scenario_text& text;
  const scenario& what;
  const tensor_choice& choice;
  const replay_account& rows;
  const trajectory_summary& sum;
  std::span<const double> learning_rates;  // as logged, NaN where not; one a row
};

[[nodiscard]] std::vector<summary_line> lines_of(const finished_replay& r);

}  // namespace ulp

#endif
