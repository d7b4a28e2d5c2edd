// Formats of elements and formats of blocks side by side.
#ifndef ULP_REPORT_TABLES_BLOCK_COMPARISON_TABLE_HPP
#define ULP_REPORT_TABLES_BLOCK_COMPARISON_TABLE_HPP

#include <string>
#include <vector>

#include <ulp/ask/columns/block_comparison.hpp>
#include <ulp/ask/columns/run_picture.hpp>
#include <ulp/model/outcomes/outcome.hpp>
#include <ulp/report/tables/table.hpp>

namespace ulp {

// A format whose values have a loss scale in common, and what it makes of the same values.
struct compared_format {
  std::string name;
  ulp::format format;
  double scale = 1;
  outcome_counts outcomes;
};
// The usual ones, each in its own rounding.
[[nodiscard]] std::vector<compared_format> compared_formats(const tensor_tables& tables, const tensor_mask& shown,
                                                            double scale);

// One row each: bits for a value, its numbers, what shares a scale and how that follows, and how many values are lost,
// subnormal and beyond the largest number; a range where the input leaves it open, nothing where it does not tell.
[[nodiscard]] table block_comparison_table(const std::vector<compared_format>& formats,
                                           const std::vector<compared_blocks>& blocks);

}  // namespace ulp

#endif
