#include "mutator.hpp"

#include <algorithm>

namespace ulp::fuzz {

std::string mutated(std::string text) {
  const std::size_t size = text.size();
  const std::size_t most = size + 64;
  text.resize(most);
  text.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(text.data()), size, most));
  return text;
}

std::size_t give(const std::string& text, std::uint8_t* data, std::size_t size, std::size_t max_size) {
  if (text.size() > max_size || text.empty()) return LLVMFuzzerMutate(data, size, max_size);
  std::copy(text.begin(), text.end(), data);
  return text.size();
}

}  // namespace ulp::fuzz
