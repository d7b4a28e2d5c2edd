#include "output/zip_writer.hpp"

#include "bytes/zip.hpp"
#include "io/builders.hpp"
#include "support/catch.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

using members = std::vector<std::pair<std::string, std::string>>;

// Written in parts.
std::string written(const members& all, std::uint64_t zip64_from, std::uint64_t most_members) {
  const temporary_dir dir;
  atomic_file file((dir / "a.zip").string());
  io::zip_writer zip(file, zip64_from, most_members);
  for (const auto& [name, contents] : all) {
    zip.begin(name, contents.size());
    const std::size_t half = contents.size() / 2;
    zip.write(std::string_view{contents}.substr(0, half));
    zip.write(std::string_view{contents}.substr(half));
    zip.end();
  }
  zip.finish();
  file.finish();
  return read_file(dir / "a.zip");
}

members read_back(const std::string& bytes) {
  const temporary_dir dir;
  write_file(dir / "a.zip", bytes);
  const io::zip_archive archive((dir / "a.zip").string());
  members all;
  for (const io::zip_member& member : archive.members()) {
    std::string contents(member.size, '\0');
    const auto in = archive.open(member);  // checks the CRC with the last byte
    in->read({reinterpret_cast<std::uint8_t*>(contents.data()), contents.size()});
    all.emplace_back(member.name, contents);
  }
  return all;
}

}  // namespace

TEST_CASE("what is written as a zip is read back, with zip64 from any size on") {
  const members all{{"a", "1"}, {"empty", ""}, {"sub/\xC3\xA9.npy", std::string(200'000, 'x')}, {"b", "23"}};
  const std::string plain = written(all, 0xFFFFFFFF, 0xFFFF);
  CHECK(read_back(plain) == all);
  CHECK(plain.find("PK\x06\x06") == std::string::npos);
  // Members of 2 bytes and more; offsets and the directory from 100,000 on; all of them.
  for (const std::uint64_t from : {2U, 100'000U, 0U}) {
    CAPTURE(from);
    const std::string zip64 = written(all, from, 0xFFFF);
    CHECK(read_back(zip64) == all);
    CHECK(zip64.find("PK\x06\x06") != std::string::npos);
  }
  CHECK(written(all, 0xFFFFFFFF, 4).find("PK\x06\x06") != std::string::npos);
  CHECK(read_back(written(all, 0xFFFFFFFF, 4)) == all);
  CHECK(read_back(written({}, 0xFFFFFFFF, 0xFFFF)).empty());
}

TEST_CASE("a zip is the same whenever it is written, and says that names are UTF-8 where they are not ASCII") {
  const std::string one = written({{"a", "1"}}, 0xFFFFFFFF, 0xFFFF);
  CHECK(one == written({{"a", "1"}}, 0xFFFFFFFF, 0xFFFF));
  CHECK(one.substr(6, 2) == std::string(2, '\0'));
  CHECK(written({{"\xC3\xA9", "1"}}, 0xFFFFFFFF, 0xFFFF).substr(6, 2) == little(1 << 11, 2));
}

TEST_CASE("70,000 members have a zip64 directory") {
  members all;
  for (int i = 0; i < 70'000; ++i) all.emplace_back(std::to_string(i), "");
  CHECK(read_back(written(all, 0xFFFFFFFF, 0xFFFF)) == all);
}
