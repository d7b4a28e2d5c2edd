#include "opening.hpp"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <ulp/io/error.hpp>

#include "companions.hpp"
#include "descriptor.hpp"
#include "locks.hpp"
#include "schema.hpp"
#include "unfinished.hpp"

namespace ulp::io {
namespace {

// The first bytes of a database (https://www.sqlite.org/fileformat.html, 1.3), as they are in the file.
struct file_header {
  bool has_log = false;      // its changes are in a write-ahead log
  bool whole_pages = false;  // are what the file is made of
  std::uint32_t version = 0;
  std::uint32_t application = 0;
};

std::optional<file_header> header_of(const database& db) {
  sqlite3_file* file = nullptr;
  std::array<unsigned char, 100> bytes{};
  // By SQLite's own descriptor: closing another one would drop the locks that this process has on the file.
  if (sqlite3_file_control(db.get(), "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK || file == nullptr ||
      file->pMethods == nullptr || file->pMethods->xRead(file, bytes.data(), bytes.size(), 0) != SQLITE_OK)
    return std::nullopt;
  constexpr std::string_view magic{"SQLite format 3\0", 16};
  if (!std::ranges::equal(magic, std::span(bytes).first(magic.size()), {},
                          [](char c) { return static_cast<unsigned char>(c); }))
    return std::nullopt;
  const auto big_endian = [&](std::size_t at) {
    std::uint32_t n = 0;
    for (std::size_t i = at; i < at + 4; ++i) n = n << 8 | bytes[i];
    return n;
  };
  sqlite3_int64 size = 0;
  file->pMethods->xFileSize(file, &size);
  const int page = bytes[16] << 8 | bytes[17];
  return file_header{.has_log = bytes[19] == 2,
                     .whole_pages = size % (page > 1 ? page : 65536) == 0,
                     .version = big_endian(60),
                     .application = big_endian(68)};
}

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

database opened(const std::string& path, const std::string& file, file_access how, bool alone = false) {
  return database({.shown = path, .file = file, .access = how, .alone = alone});
}

// What a killed writer had begun is taken back, in a copy.
database played_back(const std::string& path, const std::string& file) {
  const private_folder folder(path);
  try {
    for (const char* const suffix : {"", "-journal"}) std::filesystem::copy_file(file + suffix, folder.file() + suffix);
  } catch (const std::filesystem::filesystem_error& problem) {
    fail_to_copy(path, problem.code().message());
  }
  refuse_super_journal(path, folder.file());
  opened(path, folder.file(), file_access::writing).run("SELECT 1 FROM sqlite_schema");
  return opened(path, folder.file(), file_access::reading, true);
}

// The database as it is now, while somebody writes to it.
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
  return opened(path, folder.file(), file_access::reading, true);
}

database with_journal(const std::string& path, const std::string& file) {
  const database whole = opened(path, file, file_access::reading);
  if (sqlite3_exec(whole.get(), "SELECT 1 FROM sqlite_schema", nullptr, nullptr, nullptr) == SQLITE_OK)
    return snapshot(path, whole);
  if (sqlite3_extended_errcode(whole.get()) != SQLITE_READONLY_ROLLBACK) whole.fail("");
  return played_back(path, file);
}

database with_log(const std::string& path, const std::string& file) {
  if (is_connected(file)) return opened(path, file, file_access::reading);
  database still = opened(path, file, file_access::reading_still);
  // An index in memory is what SQLite has in this mode.
  still.run("PRAGMA locking_mode=EXCLUSIVE");
  sqlite3_db_config(still.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  return still;
}

// A recording as it lies there.
struct found {
  std::string file;  // without links
  database alone;    // the file without what lies beside it
  std::optional<file_header> header;
  bool is_ours = false;
  companions beside;  // looked for where it is ours
};

found look_at(const std::string& path) {
  const std::string file = resolved(path);
  std::error_code unknown;
  const auto kind = std::filesystem::status(file, unknown).type();
  if (kind == std::filesystem::file_type::none) throw input_error(path, "", unknown.message());
  if (kind != std::filesystem::file_type::regular && kind != std::filesystem::file_type::not_found)
    throw input_error(path, "", "is no regular file: a recording is one");
  found f{.file = file, .alone = opened(path, file, file_access::reading, true)};
  f.header = header_of(f.alone);
  if (!f.header) return f;
  // The first step of version 1 was in the log as a whole, the header of ours with it.
  const bool begun = f.header->application == 0 && f.header->version == 0 && f.header->has_log;
  f.is_ours = f.header->application == application_id || begun;
  if (!f.is_ours) return f;
  f.beside = look_for_companions(path, file);
  const bool has_journal = f.beside.journal.value_or(0) > 0;
  // An empty log of nobody is left by a writer that had no room for more, or by a copy that failed.
  const bool empty_log = f.beside.log == 0 && !is_connected(file);
  if (empty_log) f.beside.log.reset();
  // SQLite would read any log. A file says that it has one before it has, and until it has none.
  if (f.beside.log.value_or(0) > 0 && has_journal)
    throw input_error(
        path, "",
        "has both a write-ahead log (-wal) and a journal (-journal) beside it, and a recording has one of them: "
        "move away the one that is not its own; keep both until you know which");
  if (f.beside.log.value_or(0) > 0 && !f.header->has_log)
    throw input_error(
        path, "",
        "a write-ahead log lies beside it that is not its own, and would be read as a part of it: remove " + path +
            "-wal");
  if (has_journal) refuse_super_journal(path, file);
  if (has_journal || f.beside.log) return f;
  if (!f.header->whole_pages)
    throw input_error(path, "end of file", "does not end with a whole page: the file was cut short; copy it again");
  using completeness = database::completeness;
  if (!f.beside.journal)
    f.alone.set_complete(f.header->has_log && !empty_log ? completeness::lacks_log : completeness::has_no_trace);
  return f;
}

database opened_for_reading(const std::string& path) {
  found f = look_at(path);
  if (!f.is_ours) return std::move(f.alone);
  if (f.beside.journal.value_or(0) > 0) return with_journal(path, f.file);
  if (f.beside.log && f.header->has_log) return with_log(path, f.file);
  // A living writer keeps its journal empty between steps; one of version 1 has no lock to know it by.
  if (f.beside.journal && (f.header->version < 2 || is_being_written(f.file)))
    return snapshot(path, opened(path, f.file, file_access::reading));
  return std::move(f.alone);
}

}  // namespace

database open_for_reading(const std::string& path) {
  database db = opened_for_reading(path);
  check_identity(db);
  return db;
}

database open_for_appending(const std::string& path) {
  found f = look_at(path);
  if (f.beside.linked)
    throw input_error(
        path, "",
        "one of the files beside it (-wal, -shm, -journal) has another name too, and would change under it: "
        "copy the recording, and append to the copy");
  // What has a log or a journal is looked at once SQLite has taken that in; its header says already whose it is.
  const bool all_there = !f.is_ours || (!f.beside.log && f.beside.journal.value_or(0) == 0);
  if (all_there) check_identity(f.alone);
  if (f.header && f.header->version == 1)
    throw input_error(path, "header",
                      "has recording format 1, without checksums, which is read and no longer written: copy it by "
                      "`ulp merge OLD -o NEW`, and append to the copy");
  database db({.shown = path, .file = f.file, .access = file_access::writing});
  check_identity(db);
  db.set_complete(f.alone.is_complete());
  return db;
}

database open_for_creating(const std::string& path) {
  for (const char* const suffix : {"-wal", "-journal", "-shm"})
    if (std::error_code ignored; std::filesystem::exists(std::filesystem::symlink_status(path + suffix, ignored)))
      throw input_error(
          path + suffix, "",
          "is there without the recording that it was part of, and would be taken for a part of the new one: "
          "remove it, or give another name");
  return database({.shown = path, .file = resolved(path), .access = file_access::writing});
}

}  // namespace ulp::io
