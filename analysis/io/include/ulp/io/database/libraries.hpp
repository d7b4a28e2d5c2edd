// The libraries under the readers and writers, as they are found when the program runs.
#ifndef ULP_IO_DATABASE_LIBRARIES_HPP
#define ULP_IO_DATABASE_LIBRARIES_HPP

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ulp {

struct sqlite_facts {
  std::string version;   // of the library that is loaded
  std::string compiled;  // that this program was compiled for
  bool threadsafe = false;
};
[[nodiscard]] sqlite_facts sqlite_found();

struct zlib_facts {
  std::string version;
  std::string compiled;
  [[nodiscard]] bool fits() const { return !version.empty() && version.front() == compiled.front(); }
};
[[nodiscard]] zlib_facts zlib_found();

// What zlib makes of these bytes, compressed and inflated again; empty where it fails.
[[nodiscard]] std::vector<std::uint8_t> through_zlib(std::span<const std::uint8_t> bytes);

}  // namespace ulp

#endif
