// A safetensors file.
#include "support.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ulp::fuzz::read_dump({data, size}, ulp::io::open_safetensors);
  return 0;
}
