// Event files: changes the data of records, their number and order, and writes lengths and checksums that are right.
#include <algorithm>
#include <utility>
#include <vector>

#include "io/builders.hpp"
#include "mutator.hpp"
#include "tensorboard/crc32c.hpp"

namespace {

using namespace ulp;
using namespace ulp::fuzz;

// As far as lengths lead; checksums are not looked at.
std::vector<std::string> records_of(std::string_view file) {
  std::vector<std::string> records;
  while (file.size() >= 16) {
    std::uint64_t length = 0;
    for (std::size_t i = 0; i < 8; ++i) length |= std::uint64_t{static_cast<std::uint8_t>(file[i])} << (8 * i);
    if (length > file.size() - 16) break;
    records.emplace_back(file.substr(12, length));
    file.remove_prefix(16 + length);
  }
  return records;
}

std::string checksum(const std::string& text) {
  const std::uint32_t crc = io::crc32c({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  return test::little(((crc >> 15) | (crc << 17)) + 0xA282EAD8U, 4);
}

std::string framed(const std::string& data) {
  const std::string length = test::little(data.size(), 8);
  return length + checksum(length) + data + checksum(data);
}

void change(std::vector<std::string>& records, dice& by) {
  const std::size_t one = by.roll(records.size());
  const std::size_t other = by.roll(records.size());
  switch (by.roll(8)) {
    case 0: records.push_back(records[one]); break;
    case 1: std::swap(records[one], records[other]); break;
    case 2:
      if (records.size() > 1) records.erase(records.begin() + static_cast<std::ptrdiff_t>(one));
      break;
    case 3: records[one] += records[other].substr(by.roll(records[other].size() + 1)); break;
    default: records[one] = mutated(records[one]);
  }
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  dice by(seed);
  if (by.once_in(10)) return LLVMFuzzerMutate(data, size, max_size);
  std::vector<std::string> records = records_of({reinterpret_cast<const char*>(data), size});
  if (records.empty()) return LLVMFuzzerMutate(data, size, max_size);
  do change(records, by);
  while (by.once_in(3));
  std::string file;
  for (const std::string& record : records) file += framed(record);
  return give(file, data, size, max_size);
}
