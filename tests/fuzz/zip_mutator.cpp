// Archives: changes the contents of members, deflates them anew, and writes CRCs, sizes and directory that are right.
#include <vector>

#include <ulp/io/bytes/error.hpp>

#include "bytes/zip.hpp"
#include "io/builders.hpp"
#include "mutator.hpp"
#include "support.hpp"

namespace {

using namespace ulp;
using namespace ulp::fuzz;

constexpr std::uint64_t largest_member = 1 << 16;

// None where the bytes are no archive.
std::vector<test::zip_entry> entries_of(bytes input) {
  std::vector<test::zip_entry> entries;
  with_file(input, [&](const std::string& path) {
    const io::zip_archive archive(path);
    std::vector<test::zip_entry> all;
    for (const io::zip_member& member : archive.members()) {
      if (member.size > largest_member) return;
      std::string contents(member.size, '\0');
      archive.open(member)->read({reinterpret_cast<std::uint8_t*>(contents.data()), contents.size()});
      all.push_back({.name = member.name, .contents = contents, .deflated = member.deflated});
    }
    entries = std::move(all);
  });
  return entries;
}

// The dict of an array alone, at the length that its header gives: what stands there decides whether values are read.
void change_header(std::string& array) {
  constexpr std::size_t start = 10;
  if (array.size() <= start) return;
  const std::size_t length = static_cast<std::uint8_t>(array[8]) | std::size_t{static_cast<std::uint8_t>(array[9])}
                                                                       << 8;
  std::string dict = mutated(array.substr(start, length));
  dict.resize(length, ' ');
  array = array.substr(0, start) + dict + array.substr(std::min(array.size(), start + length));
}

void change(std::vector<test::zip_entry>& entries, dice& by) {
  test::zip_entry& one = entries[by.roll(entries.size())];
  switch (by.roll(10)) {
    case 0: one.name = mutated(one.name); break;
    case 1: one.deflated = !one.deflated; break;
    case 2: one.zip64 = !one.zip64; break;
    case 3: one.local_zip64 = !one.local_zip64; break;
    case 4: one.sizes_follow = !one.sizes_follow; break;
    case 5: {
      test::zip_entry twin = one;
      twin.name = "2" + twin.name;
      entries.push_back(std::move(twin));
      break;
    }
    case 6:
    case 7: change_header(one.contents); break;
    default: one.contents = mutated(one.contents);
  }
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  dice by(seed);
  if (by.once_in(8)) return LLVMFuzzerMutate(data, size, max_size);
  std::vector<test::zip_entry> entries = entries_of({data, size});
  if (entries.empty()) return LLVMFuzzerMutate(data, size, max_size);
  do change(entries, by);
  while (by.once_in(3));
  return give(test::zip(entries, {.zip64_end = by.once_in(4)}), data, size, max_size);
}
