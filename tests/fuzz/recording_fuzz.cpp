// The database of a recording, read in each way that there is.
#include "support.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ulp::fuzz::with_named_file({data, size}, [](const std::string& path) { ulp::fuzz::read_recording(path); });
  return 0;
}
