// What a training loop logged of each step.
#include "support.hpp"
#include "table/read_scalars.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ulp::fuzz::with_file({data, size}, [](const std::string& path) {
    std::vector<std::string> notes;
    static_cast<void>(ulp::io::read_scalars(path, {}, {}, notes));
  });
  return 0;
}
