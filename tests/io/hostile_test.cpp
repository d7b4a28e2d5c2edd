// Cut and damaged files of every kind, with a guard page behind each buffer: they are read or refused in one line, and
// never need much memory. SQLite's own blocks come from malloc and have no guard pages.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include <ulp/formats/catalog.hpp>
#include <ulp/io/arrays/convert.hpp>
#include <ulp/io/bytes/error.hpp>
#include <ulp/io/config/config_import.hpp>
#include <ulp/io/inputs/open.hpp>

#include "builders.hpp"
#include "good_files.hpp"
#include "support/catch.hpp"
#include "support/guard_pages.hpp"
#include "support/strides.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

// What reads a file of that kind; the file is the only input, or what is logged of the steps of a good one.
void read_as(const playground& place, const std::string& kind, const std::string& path) {
  if (kind == "config") {
    static_cast<void>(import_config(path));
    return;
  }
  source_options options;
  std::vector<std::string> inputs{path};
  if (kind == "scalars") {
    options.scalars = path;
    inputs = {place.path("step1.npy")};
  }
  const auto from = open_source(inputs, options);
  step now;
  while (from->next(now)) {
  }
}

// Throws what is no input_error; "" where the file is read.
std::string outcome_of(const playground& place, const good_file& file, const std::string& bytes) {
  std::filesystem::remove(place.path(file.name));  // some file systems flush a file that is written over
  const std::string path = place.write(file.name, bytes);
  const guard_pages guarded;
  std::string error;
  try {
    read_as(place, file.kind, path);
  } catch (const input_error& e) {
    error = e.what();
  }
  CHECK(guarded.peak() < std::size_t{200} << 20);
  return error;
}

void check_one_line(const std::string& error, const playground& place, const good_file& file) {
  if (!error.starts_with(place.path(file.name) + ": ") || error.find('\n') != std::string::npos) FAIL_CHECK(error);
}

// Every byte of files of a kilobyte or two; of databases the first page, the ends of all, and some between. Or every fourth.
std::size_t stride_of(const good_file& file, std::size_t at) {
  constexpr std::size_t page = 512;
  if (file.kind != "recording" || at < 128 || at % page >= page - 2) return every(4);
  return std::min<std::size_t>(61, page - 2 - at % page) * every(4);
}

}  // namespace

TEST_CASE("guard pages stand where blocks end") {
  const guard_pages guarded;
  for (const std::size_t size : {std::size_t{1}, std::size_t{7}, std::size_t{4096}, std::size_t{4097}}) {
    const std::vector<char> block(size);
    CHECK(reinterpret_cast<std::uintptr_t>(block.data() + size) % 4096 == 0);
  }
}

TEST_CASE("a byte past the end of a block ends the program") {
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGSEGV, SIG_DFL);
    const guard_pages guarded;
    volatile std::size_t size = 3;  // not seen through by the compiler
    const std::vector<char> block(size);
    const volatile char* const past = block.data() + size;
    static_cast<void>(*past);
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status));
}

TEST_CASE("every prefix of a good file is refused, or is a good file") {
  const playground place;
  place.write("step1.npy", npy(npy_dict("<f4", "(0,)"), ""));
  for (const good_file& file : good_files()) {
    INFO(file.name);
    CHECK(outcome_of(place, file, file.bytes) == "");
    for (std::size_t size = 0; size < file.bytes.size(); size += stride_of(file, size)) {
      const std::string error = outcome_of(place, file, file.bytes.substr(0, size));
      if (error.empty() && file.by_lines) continue;
      INFO(size << " bytes");
      check_one_line(error, place, file);
    }
  }
}

TEST_CASE("a good file with any byte changed is refused or read") {
  const playground place;
  place.write("step1.npy", npy(npy_dict("<f4", "(0,)"), ""));
  for (const good_file& file : good_files())
    for (std::size_t at = 0; at < file.bytes.size(); at += stride_of(file, at))
      for (const char change : {'\x01', '\xFF'}) {
        std::string bytes = file.bytes;
        bytes[at] = static_cast<char>(bytes[at] ^ change);
        const std::string error = outcome_of(place, file, bytes);
        INFO(file.name << " byte " << at);
        if (!error.empty()) check_one_line(error, place, file);
      }
}

TEST_CASE("a good file with a part missing, doubled or blank is refused or read") {
  const playground place;
  place.write("step1.npy", npy(npy_dict("<f4", "(0,)"), ""));
  for (const good_file& file : good_files())
    for (std::size_t at = 0; at < file.bytes.size(); at += 3 * stride_of(file, at))
      for (const std::size_t length : {1U, 8U}) {
        const std::string before = file.bytes.substr(0, at);
        const std::string part = file.bytes.substr(at, length);
        const std::string after = file.bytes.substr(at + part.size());
        for (const std::string& other : {std::string{}, part + part, std::string(part.size(), '\0')}) {
          const std::string error = outcome_of(place, file, before + other + after);
          INFO(file.name << " byte " << at << " length " << length);
          if (!error.empty()) check_one_line(error, place, file);
        }
      }
}

TEST_CASE("cut and damaged arrays are converted or refused") {
  const playground place;
  const auto convert = [&](const good_file& file, const std::string& bytes) {
    std::filesystem::remove(place.path(file.name));
    const std::string path = place.write(file.name, bytes);
    const guard_pages guarded;
    try {
      file_conversion made(path, "-", {.to = float16, .from = bfloat16});
      atomic_file out(place.path("out"));  // never finished
      made.write(out, [](std::uint64_t) {});
    } catch (const input_error& e) {
      check_one_line(e.what(), place, file);
    }
    CHECK(guarded.peak() < std::size_t{200} << 20);
    CHECK_FALSE(std::filesystem::exists(place.path("out")));
  };
  for (const good_file& file : good_files()) {
    if (file.kind != "npy" && file.kind != "npz" && file.kind != "safetensors") continue;
    for (std::size_t at = 0; at < file.bytes.size(); at += every(4)) {
      INFO(file.name << " byte " << at);
      convert(file, file.bytes.substr(0, at));
      std::string bytes = file.bytes;
      bytes[at] = static_cast<char>(bytes[at] ^ '\xFF');
      convert(file, bytes);
    }
  }
}
