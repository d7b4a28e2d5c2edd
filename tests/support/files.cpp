#include "support/files.hpp"

#include <stdlib.h>  // mkdtemp

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>

namespace ulp::test {

std::filesystem::path source_dir() {
  if (const char* const dir = std::getenv("ULP_SOURCE_DIR")) return dir;
  throw std::runtime_error("ULP_SOURCE_DIR is not set: run the tests with ctest");
}

std::filesystem::path shared_dir() {
  const auto dir = source_dir().parent_path() / "shared";
  if (std::filesystem::is_directory(dir)) return dir;
  std::cout << "SKIPPED: " << dir.string() << " is absent\n";
  return {};
}

temporary_dir::temporary_dir() {
  std::string name = (std::filesystem::temp_directory_path() / "ulp-test-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make a folder in " + name);
  path_ = name;
}

temporary_dir::~temporary_dir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + path.string());
  std::ostringstream bytes;
  bytes << in.rdbuf();
  return bytes.str();
}

void write_file(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream out(path, std::ios::binary);
  out << bytes;
  if (!out) throw std::runtime_error("cannot write " + path.string());
}

}  // namespace ulp::test
