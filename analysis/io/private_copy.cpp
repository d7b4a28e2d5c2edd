#include "private_copy.hpp"

#include <fcntl.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <system_error>
#include <vector>

#include <ulp/io/error.hpp>

#include "companions.hpp"
#include "descriptor.hpp"
#include "unfinished.hpp"

namespace ulp::io {
namespace {

[[noreturn]] void fail_to_copy(const std::string& path, const std::string& reason) {
  throw input_error(path, "",
                    "is read in a copy, because of the journal beside it, and the copy cannot be made: " + reason +
                        " (TMPDIR names the folder for it)");
}

// A folder of ours for the time of its life, gone with the copies in it when a signal ends the program.
class private_folder {
 public:
  explicit private_folder(const std::string& path) {
    std::error_code failed;
    const std::filesystem::path parent = std::filesystem::temp_directory_path(failed);
    path_ = (parent / "ulp-XXXXXX").string();
    if (failed || mkdtemp(path_.data()) == nullptr)
      fail_to_copy(path, failed ? failed.message() : std::generic_category().message(errno));
    parent_ = descriptor(open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    folder_ = descriptor(open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const std::filesystem::path name = std::filesystem::path(path_).filename();
    removed_.push_back(std::make_unique<unfinished>(parent_.get(), name.string(), unfinished::kind::folder));
    for (const char* const suffix : {"", "-journal", "-wal", "-shm"})
      removed_.push_back(
          std::make_unique<unfinished>(folder_.get(), copy_name + std::string{suffix}, unfinished::kind::file));
  }
  ~private_folder() {
    while (!removed_.empty()) removed_.pop_back();  // the folder last
  }
  private_folder(const private_folder&) = delete;
  private_folder& operator=(const private_folder&) = delete;

  [[nodiscard]] std::string file() const { return path_ + "/" + copy_name; }

 private:
  static constexpr const char* copy_name = "copy.ulp";
  std::string path_;
  descriptor parent_;
  descriptor folder_;
  std::vector<std::unique_ptr<unfinished>> removed_;
};

database read_alone(const std::string& path, const private_folder& folder) {
  return database({.shown = path, .file = folder.file(), .access = file_access::reading, .alone = true});
}

// To the number of pages that the header tells (https://www.sqlite.org/fileformat.html, 1.3), as far as that is little more.
void lengthen(const std::string& file) {
  std::array<unsigned char, 32> head{};
  std::ifstream in(file, std::ios::binary);
  if (!in.read(reinterpret_cast<char*>(head.data()), head.size())) return;
  const std::uintmax_t stated = head[16] << 8 | head[17];
  const std::uintmax_t pages = std::uintmax_t{head[28]} << 24 | head[29] << 16 | head[30] << 8 | head[31];
  const std::uintmax_t told = pages * (stated == 1 ? 65536 : stated);
  const std::uintmax_t size = std::filesystem::file_size(file);
  constexpr std::uintmax_t most = std::uintmax_t{1} << 32;  // of zeros, which take no room on the disk
  if (told > size && told - size <= most) std::filesystem::resize_file(file, told);
}

}  // namespace

database played_back(const std::string& path, const std::string& file, const std::function<void(database&)>& before) {
  const private_folder folder(path);
  const auto copy = [&](const char* suffix) { std::filesystem::copy_file(file + suffix, folder.file() + suffix); };
  try {
    copy("");
    lengthen(folder.file());
    database alone = read_alone(path, folder);
    before(alone);
    copy("-journal");
  } catch (const std::filesystem::filesystem_error& problem) {
    fail_to_copy(path, problem.code().message());
  }
  refuse_super_journal(path, folder.file());
  database({.shown = path, .file = folder.file(), .access = file_access::writing}).run("SELECT 1 FROM sqlite_schema");
  return read_alone(path, folder);
}

database snapshot(const std::string& path, const database& of) {
  // A writer that lets nobody read is told of here, and not as a failure of the copy.
  if (sqlite3_exec(of.get(), "SELECT 1 FROM sqlite_schema", nullptr, nullptr, nullptr) != SQLITE_OK) of.fail("");
  const private_folder folder(path);
  {
    database copy({.shown = path, .file = folder.file(), .access = file_access::writing, .create = true});
    sqlite3_backup* const work = sqlite3_backup_init(copy.get(), "main", of.get(), "main");
    const int result = work == nullptr ? SQLITE_ERROR : sqlite3_backup_step(work, -1);
    sqlite3_backup_finish(work);
    if (result != SQLITE_DONE) fail_to_copy(path, sqlite3_errstr(result));
  }
  return read_alone(path, folder);
}

}  // namespace ulp::io
