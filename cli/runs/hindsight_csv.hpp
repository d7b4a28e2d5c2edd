// The best trajectories in hindsight, step by step.
#ifndef ULP_CLI_HINDSIGHT_CSV_HPP
#define ULP_CLI_HINDSIGHT_CSV_HPP

#include <string>
#include <ulp/ask/runs/sweep_answer.hpp>
#include <vector>

namespace ulp::cli {

// Throws usage_error where the file is standard output or one of `others`.
void refuse_hindsight_file(const std::string& path, const std::vector<std::string>& others);

// As CSV, see hindsight_table.
void write_hindsight(const std::string& path, const sweep_answer& answer);

}  // namespace ulp::cli

#endif
