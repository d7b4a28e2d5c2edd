// Any file, its kind found by its content, as on the command line.
#include <ulp/io/inputs/open.hpp>

#include "support.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // Recordings have a target of their own: SQLite does not open what has no name.
  ulp::fuzz::with_file({data, size}, [](const std::string& path) { ulp::fuzz::read_all(*ulp::open_source({path})); });
  return 0;
}
