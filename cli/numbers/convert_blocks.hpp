// ulp convert to a block format.
#ifndef ULP_CLI_NUMBERS_CONVERT_BLOCKS_HPP
#define ULP_CLI_NUMBERS_CONVERT_BLOCKS_HPP

#include <string>
#include <ulp/formats/block_formats.hpp>
#include <ulp/io/arrays/convert_blocks.hpp>

namespace ulp::cli {

struct block_request {
  std::string input;
  std::string output;
  std::string to;        // as typed
  std::string rounding;  // as text; empty: the row's
  bool json = false;
  block_conversion_options how;
};

// Returns the exit code.
[[nodiscard]] int convert_to_blocks(const block_request& asked);

}  // namespace ulp::cli

#endif
