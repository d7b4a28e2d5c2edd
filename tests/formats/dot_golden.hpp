// What numpy and torch made of sums and dot products, against ours, bit by bit.
#ifndef ULP_TESTS_FORMATS_DOT_GOLDEN_HPP
#define ULP_TESTS_FORMATS_DOT_GOLDEN_HPP

#include <filesystem>
#include <vector>

namespace ulp::test {

// Compares every array of such a file, and fails for one that it does not know; returns how many. The format of the operands
// is what the name ends with, fp16 or bf16.
int check_dot_file(const std::filesystem::path& file);

// addends[i] are the numbers that element i of each array is the sum of.
int check_accumulate_file(const std::filesystem::path& file, const std::vector<std::vector<float>>& addends);

}  // namespace ulp::test

#endif
