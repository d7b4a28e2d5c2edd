// The best trajectories in hindsight, step by step.
#ifndef ULP_CLI_HINDSIGHT_CSV_HPP
#define ULP_CLI_HINDSIGHT_CSV_HPP

#include <string>
#include <ulp/model/sweep.hpp>
#include <ulp/report/scenario_text.hpp>
#include <vector>

namespace ulp::cli {

// Throws usage_error where the file is standard output or one of `others`.
void refuse_hindsight_file(const std::string& path, const std::vector<std::string>& others);

// After the results, as CSV: for each format and rounding a row for each step, with the scale of the best trajectory that
// starts and moves as it likes.
void write_hindsight(const std::string& path, const sweep& all, const std::vector<scenario_text>& grid);

}  // namespace ulp::cli

#endif
