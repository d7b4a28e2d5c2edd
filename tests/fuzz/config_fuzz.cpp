// A configuration of any framework: JSON, YAML, arguments.
#include <ulp/io/config/config_import.hpp>

#include "support.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ulp::fuzz::with_file({data, size}, [](const std::string& path) {
    const ulp::imported_config read = ulp::import_config(path);
    if (read.clip_norm && read.clip_value) ulp::fuzz::wrong("clips both ways");
  });
  return 0;
}
