// ulp selfcheck optimizers: trainings with narrow optimizer states and weights, beside what the open loop says of them.
#ifndef ULP_CLI_OPTIMIZER_LOOPS_HPP
#define ULP_CLI_OPTIMIZER_LOOPS_HPP

#include <cstdint>
#include <string>
#include <vector>

#include <ulp/train/training.hpp>

#include "output.hpp"

namespace ulp::cli {

struct optimizer_loops {
  std::string model;               // "mlp of width 16"
  training_options training;       // of the first seed
  std::vector<std::string> modes;  // recipes; empty: the usual ones
  std::string passes = "bf16";
  std::uint64_t steps = 500;
  std::uint64_t seeds = 5;
  bool by_layer = false;
  output_options output;
};

// Returns the exit code: differences where the open loop names another mode than the one that trains worst.
[[nodiscard]] int run_optimizer_loops(const optimizer_loops& o);

}  // namespace ulp::cli

#endif
