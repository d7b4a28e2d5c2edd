// `ulp sweep` over formats of blocks.
#ifndef ULP_CLI_RUNS_BLOCK_SWEEP_HPP
#define ULP_CLI_RUNS_BLOCK_SWEEP_HPP

#include <cstdint>
#include <string>
#include <vector>

#include <ulp/ask/questions/run_text.hpp>

#include "output.hpp"

namespace ulp::cli {

// Whether these recipes are formats of blocks. Throws usage_error where some are and others are not.
[[nodiscard]] bool are_blocks(const std::vector<std::string>& recipes);

// Prints the first `most` rows to people.
[[nodiscard]] int sweep_blocks(const std::vector<std::string>& recipes, const run_text& of,
                               const output_options& output, std::uint64_t most);

}  // namespace ulp::cli

#endif
