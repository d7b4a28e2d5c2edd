// The best trajectories in hindsight, step by step.
#ifndef ULP_CLI_HINDSIGHT_CSV_HPP
#define ULP_CLI_HINDSIGHT_CSV_HPP

#include <string>
#include <ulp/ask/runs/sweep_answer.hpp>

namespace ulp::cli {

// As CSV, see hindsight_table.
void write_hindsight(const std::string& path, const sweep_answer& answer);

}  // namespace ulp::cli

#endif
