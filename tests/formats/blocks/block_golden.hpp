// What the originals' own code made of blocks, against ours, bit by bit.
#ifndef ULP_TESTS_FORMATS_BLOCKS_BLOCK_GOLDEN_HPP
#define ULP_TESTS_FORMATS_BLOCKS_BLOCK_GOLDEN_HPP

#include <cstddef>
#include <filesystem>

namespace ulp::test {

struct block_differences {
  std::size_t scales = 0;
  std::size_t codes = 0;
  std::size_t numbers = 0;
  std::size_t decoded = 0;   // numbers that dequantize_blocks makes of the file's codes
  std::size_t compared = 0;  // elements
  friend bool operator==(const block_differences&, const block_differences&) = default;
};

// The row is the one that the file is named after.
[[nodiscard]] block_differences compare_block_file(const std::filesystem::path& file);

}  // namespace ulp::test

#endif
