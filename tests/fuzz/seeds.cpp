// fuzz_seeds FOLDER: writes the good files of tests/io, and parts of them, into the corpora of the fuzz targets.
#include <cstdio>
#include <filesystem>
#include <string>

#include "io/good_files.hpp"
#include "support/files.hpp"
#include "tables.hpp"

namespace {

namespace fs = std::filesystem;
using namespace ulp::test;

void write_seed(const fs::path& folder, const std::string& kind, const std::string& name, const std::string& bytes) {
  fs::create_directories(folder / kind);
  write_file(folder / kind / name, bytes);
}

// The pickle of an archive and a storage, as the target takes them.
std::string opened(const std::string& archive) {
  const std::size_t begin = archive.find("\x80\x02");
  const std::size_t end = archive.find("PK\x03\x04", begin);
  return archive.substr(begin, end - begin) + std::string(4, '\xFF') + std::string(16, '\x3C');
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::fputs("usage: fuzz_seeds FOLDER\n", stderr);
    return 2;
  }
  for (const good_file& file : good_files()) {
    write_seed(arguments[1], file.kind, file.name, file.bytes);
    if (file.kind == "pt") write_seed(arguments[1], file.kind, file.name + ".opened", opened(file.bytes));
    if (file.kind != "recording" && file.kind != "scalars") write_seed(arguments[1], "source", file.name, file.bytes);
  }
  ulp::io::table_blobs blobs;
  for (const ulp::tensor_row& row : good_rows(1)) blobs.append(row, row.tensor);
  write_seed(arguments[1], "payload", "good", "\x02" + blobs.summary + blobs.payload);
  write_seed(arguments[1], "payload", "merged", "\x84" + blobs.summary + blobs.payload);
}
