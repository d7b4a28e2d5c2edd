#include "opening.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include <ulp/io/error.hpp>

#include "companions.hpp"
#include "locks.hpp"
#include "schema.hpp"

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

// A folder of ours for the time of its life.
class private_folder {
 public:
  private_folder() {
    std::string name = (std::filesystem::temp_directory_path() / "ulp-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr)
      throw input_error(name, "", "no folder can be made: set TMPDIR to another one");
    path_ = name;
  }
  ~private_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  private_folder(const private_folder&) = delete;
  private_folder& operator=(const private_folder&) = delete;

  [[nodiscard]] std::string file() const { return path_ + "/copy.ulp"; }

 private:
  std::string path_;
};

database opened(const std::string& path, const std::string& file, file_access how, bool alone = false) {
  return database({.shown = path, .file = file, .access = how, .alone = alone});
}

[[noreturn]] void fail_to_copy(const std::string& path, const std::string& reason) {
  throw input_error(path, "",
                    "is read in a copy, because of the journal beside it, and the copy cannot be made: " + reason +
                        " (TMPDIR names the folder for it)");
}

// What a killed writer had begun is taken back, in a copy.
database played_back(const std::string& path, const std::string& file) {
  const private_folder folder;
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
  const private_folder folder;
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
  refuse_super_journal(path, file);
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

database found_at(const std::string& path) {
  const std::string file = resolved(path);
  std::error_code unknown;
  const auto kind = std::filesystem::status(file, unknown).type();
  if (kind != std::filesystem::file_type::regular && kind != std::filesystem::file_type::not_found)
    throw input_error(path, "", "is no regular file: a recording is one");
  database alone = opened(path, file, file_access::reading, true);
  const auto header = header_of(alone);
  // The first step of version 1 was in the log as a whole, the header of ours with it.
  const bool begun = header && header->application == 0 && header->version == 0 && header->has_log;
  if (!header || (header->application != application_id && !begun)) return alone;
  const companions beside = look_for_companions(path, file);
  if (beside.journal.value_or(0) > 0 && beside.log.value_or(0) > 0)
    throw input_error(
        path, "", "has both a write-ahead log and a journal beside it, of which one is not its own: remove that one");
  if (beside.journal.value_or(0) > 0) return with_journal(path, file);
  if (beside.log) return with_log(path, file);
  // A living writer keeps its journal empty between steps; one of version 1 has no lock to know it by.
  if (beside.journal && (header->version < 2 || is_being_written(file)))
    return snapshot(path, opened(path, file, file_access::reading));
  if (!header->whole_pages)
    throw input_error(path, "end of file", "does not end with a whole page: the file was cut short; copy it again");
  using completeness = database::completeness;
  if (!beside.journal) alone.set_complete(header->has_log ? completeness::lacks_log : completeness::has_no_trace);
  return alone;
}

// The mend of what cannot be appended to.
void refuse_old(const database& db) {
  if (db.has_checksums()) return;
  throw input_error(db.path(), "header",
                    "has recording format 1, without checksums, which is read and no longer written: copy it by "
                    "`ulp merge OLD -o NEW`, and append to the copy");
}

}  // namespace

database open_for_reading(const std::string& path) {
  database db = found_at(path);
  check_identity(db);
  return db;
}

database open_for_appending(const std::string& path) {
  const companions beside = look_for_companions(path, resolved(path));
  if (beside.linked)
    throw input_error(
        path, "",
        "one of the files beside it (-wal, -shm, -journal) has another name too, and would change under it: "
        "copy it, and give the copy the name");
  refuse_super_journal(path, resolved(path));
  refuse_old(open_for_reading(path));
  database db({.shown = path, .file = resolved(path), .access = file_access::writing});
  check_identity(db);
  return db;
}

database open_for_creating(const std::string& path) {
  for (const char* const suffix : {"-wal", "-journal", "-shm"})
    if (std::error_code ignored; std::filesystem::exists(std::filesystem::symlink_status(path + suffix, ignored)))
      throw input_error(
          path + suffix, "",
          "is there without the recording that it was part of, and would be taken for a part of the new one: "
          "remove it, or give another name");
  return database({.shown = path, .file = path, .access = file_access::writing, .create = true});
}

}  // namespace ulp::io
