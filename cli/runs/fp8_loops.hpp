// ulp selfcheck closed-loop --recipe: trainings under an FP8 recipe, beside what replays of them and of float32 say.
#ifndef ULP_CLI_FP8_LOOPS_HPP
#define ULP_CLI_FP8_LOOPS_HPP

#include <cstdint>
#include <string>
#include <vector>

#include <ulp/train/training.hpp>

#include "loop_recorder.hpp"
#include "output.hpp"

namespace ulp::cli {

struct fp8_loops {
  std::string model;                    // "mlp of width 16 with adam"
  training_options training;            // of the first seed
  std::string recipe;                   // "te_delayed:hybrid"
  std::vector<std::string> parameters;  // "key=value" of its policy
  std::uint64_t steps = 500;
  std::uint64_t seeds = 5;
  output_options output;
};

// Records the first seed. Returns the exit code: differences where a self-replay is not as its training was.
[[nodiscard]] int run_fp8_loops(const fp8_loops& o, loop_recorders& to);

}  // namespace ulp::cli

#endif
