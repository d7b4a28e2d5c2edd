// A training log that prints the loss scale.
#include "support.hpp"
#include "training_log/scale_log.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ulp::fuzz::with_file({data, size}, [](const std::string& path) {
    if (const auto from = ulp::io::open_scale_log(ulp::io::line_reader(path), "")) ulp::fuzz::read_all(*from);
  });
  return 0;
}
