// A TensorBoard event file.
#include "support.hpp"
#include "tensorboard/tfevents.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ulp::fuzz::with_file({data, size},
                       [](const std::string& path) { ulp::fuzz::read_all(*ulp::io::open_tfevents({path})); });
  return 0;
}
