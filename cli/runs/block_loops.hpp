// ulp selfcheck closed-loop --recipe mxfp8: trainings in blocks that share a scale, beside what float32 foretells.
#ifndef ULP_CLI_BLOCK_LOOPS_HPP
#define ULP_CLI_BLOCK_LOOPS_HPP

#include <cstdint>
#include <string>
#include <ulp/formats/block_formats.hpp>
#include <ulp/train/training.hpp>

#include "output.hpp"

namespace ulp::cli {

struct block_loops {
  std::string model;          // "mlp of width 16 with adam"
  training_options training;  // of the first seed
  block_format row;
  std::uint64_t steps = 500;
  std::uint64_t seeds = 5;
  output_options output;
};

// Returns the exit code.
[[nodiscard]] int run_block_loops(const block_loops& o);

}  // namespace ulp::cli

#endif
