// A PyTorch file. An archive is read as it is; anything else is a pickle, which gets a good archive around it with one
// storage, so that no checksum hides the unpickler: the pickle ends at the first "\xFF\xFF\xFF\xFF", the storage follows.
#include <algorithm>
#include <string_view>

#include <zlib.h>

#include "dumps/rows.hpp"
#include "support.hpp"

namespace {

using ulp::fuzz::bytes;

std::string little(std::uint64_t value, int size) {
  std::string text;
  for (int i = 0; i < size; ++i) text += static_cast<char>(value >> (8 * i));
  return text;
}

// Two stored members.
std::string archive_of(bytes pickle, bytes storage) {
  std::string file;
  std::string directory;
  const auto add = [&](std::string_view name, bytes contents) {
    const std::string fields = little(20, 2) + std::string(8, '\0') +
                               little(crc32_z(0, contents.data(), contents.size()), 4) + little(contents.size(), 4) +
                               little(contents.size(), 4) + little(name.size(), 2) + little(0, 2);
    directory +=
        "PK\x01\x02" + little(20, 2) + fields + std::string(10, '\0') + little(file.size(), 4) + std::string(name);
    file += "PK\x03\x04" + fields + std::string(name) + std::string(contents.begin(), contents.end());
  };
  add("a/data.pkl", pickle);
  add("a/data/0", storage);
  return file + directory + "PK\x05\x06" + little(0, 4) + little(2, 2) + little(2, 2) + little(directory.size(), 4) +
         little(file.size(), 4) + little(0, 2);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const bytes input{data, size};
  if (size >= 2 && data[0] == 'P' && data[1] == 'K') {
    ulp::fuzz::read_dump(input, ulp::io::pt_kind().open);
    return 0;
  }
  constexpr std::string_view separator = "\xFF\xFF\xFF\xFF";
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  const std::size_t end = std::min(text.find(separator), size);
  const std::string file = archive_of(input.first(end), input.subspan(std::min(end + separator.size(), size)));
  ulp::fuzz::read_dump({reinterpret_cast<const std::uint8_t*>(file.data()), file.size()}, ulp::io::pt_kind().open);
  return 0;
}
