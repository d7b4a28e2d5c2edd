#include "private_copy.hpp"

#include <fcntl.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <system_error>
#include <vector>

#include <ulp/io/bytes/error.hpp>

#include "companions.hpp"
#include "output/descriptor.hpp"
#include "output/unfinished.hpp"

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

}  // namespace

database played_back(const std::string& path, const std::string& file) {
  const private_folder folder(path);
  try {
    for (const char* const suffix : {"", "-journal"}) std::filesystem::copy_file(file + suffix, folder.file() + suffix);
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
