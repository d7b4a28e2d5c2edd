// ulp vectors --block and ulp verify --block: blocks that tell dialects from each other, and somebody's results for them.
#ifndef ULP_CLI_NUMBERS_VERIFY_BLOCKS_HPP
#define ULP_CLI_NUMBERS_VERIFY_BLOCKS_HPP

#include <cstdint>
#include <string>

namespace ulp::cli {

// Both return the exit code.
[[nodiscard]] int write_block_vectors(const std::string& row, std::uint64_t seed, const std::string& output);

struct block_check {
  std::string row;
  std::string file;
  std::string results;  // empty: the file itself
  std::string axis;
  std::uint64_t keep = 10;
  bool json = false;
};
[[nodiscard]] int verify_blocks_of(const block_check& asked);

}  // namespace ulp::cli

#endif
