// fuzz_seeds FOLDER: writes the good files of tests/io, and parts of them, into the corpora of the fuzz targets.
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <string>

#include "encoding/tables.hpp"
#include "io/good_files.hpp"
#include "support/files.hpp"

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

// What somebody who is killed leaves beside a recording that he changes.
std::string left_beside(const std::string& suffix, const char* sql) {
  const temporary_dir dir;
  const std::string path = (dir / "r.ulp").string();
  write_file(path, good_recording().bytes);
  const pid_t child = fork();
  if (child == 0) {
    sqlite3* db = nullptr;
    sqlite3_open(path.c_str(), &db);
    sqlite3_exec(db, sql, nullptr, nullptr, nullptr);
    std::raise(SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return read_file(path + suffix);
}

// As the target takes them: flags, the length of the log, the log, the rest.
std::string beside(char flags, const std::string& log, const std::string& rest) {
  return std::string{flags, static_cast<char>(log.size() & 0xFF), static_cast<char>(log.size() >> 8)} + log + rest;
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
  const std::string log = left_beside(
      "-wal", "PRAGMA journal_mode=WAL; UPDATE meta SET value='w' WHERE key='run_id'; DELETE FROM step WHERE step=3");
  const std::string journal = left_beside(
      "-journal", "PRAGMA cache_size=1; BEGIN IMMEDIATE; DELETE FROM step; DELETE FROM total; DELETE FROM tensor");
  for (const auto& [name, flags] : {std::pair{"log", '\x29'}, {"log_of_another", '\x21'}, {"log_and_memory", '\x2D'}})
    write_seed(arguments[1], "recording_beside", name, beside(flags, log, std::string(1000, 'm')));
  for (const auto& [name, flags] : {std::pair{"journal", '\x22'}, {"super_journal", '\x32'}})
    write_seed(arguments[1], "recording_beside", name, beside(flags, "", journal));
  write_seed(arguments[1], "recording_beside", "both", beside('\x2B', log, journal));
  ulp::io::table_blobs blobs;
  for (const ulp::tensor_row& row : good_rows(1)) blobs.append(row, row.tensor);
  write_seed(arguments[1], "payload", "good", "\x02" + blobs.summary + blobs.payload);
  write_seed(arguments[1], "payload", "merged", "\x84" + blobs.summary + blobs.payload);
}
