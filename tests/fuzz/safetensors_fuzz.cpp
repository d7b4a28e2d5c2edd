// A safetensors file.
#include "dumps/rows.hpp"
#include "support.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ulp::fuzz::read_dump({data, size}, ulp::io::safetensors_kind().open);
  return 0;
}
