// Arrays of .npz files: a reader for tests of libraries that read no files.
#ifndef ULP_TESTS_SUPPORT_NPZ_HPP
#define ULP_TESTS_SUPPORT_NPZ_HPP

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace ulp::test {

struct npz_array {
  std::string type;                // numpy's, as in "<u2"
  std::vector<std::size_t> shape;  // of a scalar empty
  std::string bytes;               // of the elements, rows after one another

  [[nodiscard]] std::size_t size() const;
  // Throws std::runtime_error where an element is not a T.
  template <class T>
  [[nodiscard]] std::vector<T> as() const;
};

// The members by their names without ".npy". Throws std::runtime_error for everything else.
[[nodiscard]] std::map<std::string, npz_array> read_npz(const std::filesystem::path& path);

}  // namespace ulp::test

#endif
