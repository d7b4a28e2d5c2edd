// A small good file of each kind that is read: what tests cut and damage, and what fuzzers begin with.
#ifndef ULP_TESTS_IO_GOOD_FILES_HPP
#define ULP_TESTS_IO_GOOD_FILES_HPP

#include <string>
#include <vector>

#include <ulp/model/cells/step.hpp>

namespace ulp::test {

struct good_file {
  std::string kind;  // as fuzz targets are called
  std::string name;
  std::string bytes;
  bool by_lines = false;  // or records: a prefix may be a good file too
};

[[nodiscard]] std::vector<good_file> good_files();

// Rows of two tensors at one step: cells, and codes of float16.
[[nodiscard]] std::vector<tensor_row> good_rows(int step);

// A recording of three steps in pages of 512 bytes, the least that SQLite has.
[[nodiscard]] good_file good_recording();

}  // namespace ulp::test

#endif
