// `ulp replay` and `ulp sweep` with a scale for each tensor.
#ifndef ULP_CLI_RUNS_FP8_REPLAY_HPP
#define ULP_CLI_RUNS_FP8_REPLAY_HPP

#include <ulp/ask/runs/fp8_answer.hpp>

#include "output.hpp"

namespace ulp::cli {

// `hexadecimal`: the numbers of policies in CSV, as C prints them with %a.
[[nodiscard]] int replay_fp8(const fp8_question& asked, const output_options& output, bool hexadecimal);

// Prints the first `most` rows to people.
[[nodiscard]] int sweep_fp8(const fp8_grid& grid, const run_text& of, const output_options& output, std::uint64_t most);

}  // namespace ulp::cli

#endif
