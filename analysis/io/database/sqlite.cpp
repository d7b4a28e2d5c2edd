#include "sqlite.hpp"

#include <array>
#include <cerrno>
#include <filesystem>
#include <utility>

#include <ulp/io/bytes/error.hpp>

#include "bytes/open_failure.hpp"

namespace ulp::io {
namespace {

// A file's name as SQLite takes it with parameters (https://www.sqlite.org/uri.html).
std::string uri_of(const std::string& file, bool alone) {
  constexpr std::string_view plain = "/-._ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
  constexpr std::string_view hex = "0123456789ABCDEF";
  // Names like ":memory:" and empty ones mean something else to SQLite; none of those begins with a slash or "./".
  std::string uri = file.starts_with('/') ? "file://" : "file:./";
  for (const char c : file) {
    const auto byte = static_cast<unsigned char>(c);
    if (plain.find(c) == std::string_view::npos)
      uri += {'%', hex[byte >> 4], hex[byte & 15]};
    else
      uri += c;
  }
  return uri + (alone ? "?immutable=1" : "");
}

}  // namespace

database::database(database_options options) : shown_(std::move(options.shown)) {
  const std::string& file = options.file;
  if (file.empty() || shown_ == "-") throw input_error("'" + shown_ + "'", "", "is not a valid recording name");
  const bool writes = options.access == file_access::writing;
  // No two threads use a connection at once: without its mutex a long recording is read a fifth faster.
  const int flags = (writes ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY) |
                    (options.create ? SQLITE_OPEN_CREATE : 0) | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI;
  sqlite3* handle = nullptr;
  const int result =
      sqlite3_open_v2(uri_of(file, options.alone).c_str(), &handle, flags, file_system_for(options.access));
  handle_.reset(handle);
  std::error_code ignored;
  if (result == SQLITE_CANTOPEN && !options.create && !std::filesystem::exists(file, ignored))
    throw input_error(shown_, "", "No such file or directory");
  if (result != SQLITE_OK) fail("");
  sqlite3_extended_result_codes(handle, 1);
  // A writer outwaits whoever copies a long recording; see open_for_reading.
  sqlite3_busy_timeout(handle, writes ? 60000 : 5000);
  harden();
  if (!writes) bound_work(file);
}

// By the one thing that SQLite does so for (lockBtree, src/btree.c).
void database::allow_torn() {
  sqlite3_db_config(get(), SQLITE_DBCONFIG_DEFENSIVE, 0, nullptr);
  run("PRAGMA writable_schema=ON");
}

void database::run(const char* sql) {
  if (sqlite3_exec(get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK) fail("");
}

std::int64_t database::number(const char* sql) const {
  statement s(*this, sql);
  return s.row() ? s.integer(0) : 0;
}

void database::refuse(const std::string& place, const std::string& reason) const {
  refuse_change();
  throw input_error(shown_, place, reason);
}

void database::fail(const std::string& place) const {
  const int last = errno;
  refuse_change();
  std::string reason = handle_ ? sqlite3_errmsg(get()) : "out of memory";
  const int extended = handle_ ? sqlite3_extended_errcode(get()) : SQLITE_NOMEM;
  const int code = extended & 0xFF;
  if (code == SQLITE_NOTADB) reason = "is not a ulpscope recording, or its header is damaged";
  if (code == SQLITE_CORRUPT)
    reason +=
        ": the file is damaged or truncated, or changed while it was read; read it again, or copy it again together "
        "with its -wal file";
  if (code == SQLITE_INTERRUPT) reason = "query limit exceeded: the file is damaged";
  if (code == SQLITE_BUSY)
    reason =
        "another program has it open, and this file system allows only one at a time: wait until that program ends";
  if (extended == SQLITE_READONLY_DBMOVED)
    reason = "was moved or removed while it was written: what came after is lost";
  // SQLite keeps the number of most failed calls, but not of those inside a commit.
  const int kept = handle_ && code == SQLITE_IOERR ? sqlite3_system_errno(get()) : 0;
  const int system = kept == 0 && code == SQLITE_IOERR ? last : kept;
  if (code == SQLITE_FULL || system == ENOSPC) reason = "the disk is full";
  if (system == EDQUOT) reason = "the disk quota is used up";
  if (system == EFBIG) reason = "the file would exceed the file size limit (see ulimit -f)";
  if (code == SQLITE_CANTOPEN) reason = open_failure(handle_ ? sqlite3_system_errno(get()) : 0, reason);
  throw input_error(shown_, place, reason);
}

// What nobody who reads or writes recordings needs.
void database::harden() {
  sqlite3* const db = get();
  // Values: payloads are the longest. Statements: those of the schema are.
  constexpr std::array limits{std::pair{SQLITE_LIMIT_LENGTH, 1 << 28},  std::pair{SQLITE_LIMIT_SQL_LENGTH, 10000},
                              std::pair{SQLITE_LIMIT_COLUMN, 64},       std::pair{SQLITE_LIMIT_EXPR_DEPTH, 20},
                              std::pair{SQLITE_LIMIT_ATTACHED, 0},      std::pair{SQLITE_LIMIT_TRIGGER_DEPTH, 1},
                              std::pair{SQLITE_LIMIT_WORKER_THREADS, 0}};
  for (const auto& [limit, value] : limits) sqlite3_limit(db, limit, value);
  constexpr std::array settings{std::pair{SQLITE_DBCONFIG_DEFENSIVE, 1},   std::pair{SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
                                std::pair{SQLITE_DBCONFIG_ENABLE_VIEW, 0}, std::pair{SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
                                std::pair{SQLITE_DBCONFIG_DQS_DDL, 0},     std::pair{SQLITE_DBCONFIG_DQS_DML, 0}};
  for (const auto& [setting, value] : settings) sqlite3_db_config(db, setting, value, nullptr);
  run("PRAGMA cell_size_check=ON");
  run("PRAGMA mmap_size=0");
  run("PRAGMA temp_store=MEMORY");
}

// Pages that refer to each other could be read forever. Each step of our statements looks at each row at most once, and
// no row is so small, or takes so many instructions.
void database::bound_work(const std::string& file) {
  constexpr int instructions = 10000;  // between two looks
  work_ = std::make_unique<work>();
  std::uint64_t bytes = 0;
  for (const char* const suffix : {"", "-wal"}) {
    std::error_code absent;
    const std::uint64_t size = std::filesystem::file_size(file + suffix, absent);
    if (!absent) bytes += size;
  }
  work_->most = 16 * bytes / instructions + 200;
  const auto count = [](void* of) {
    work& w = *static_cast<work*>(of);
    return ++w.done > w.most ? 1 : 0;
  };
  sqlite3_progress_handler(get(), instructions, count, work_.get());
}

}  // namespace ulp::io
