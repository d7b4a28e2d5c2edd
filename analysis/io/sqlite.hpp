// SQLite with errors as input_error and objects that close themselves, on its guard against files made to do harm
// (https://www.sqlite.org/security.html).
#ifndef ULP_IO_SQLITE_HPP
#define ULP_IO_SQLITE_HPP

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <ulp/io/error.hpp>

#include "bytes.hpp"

namespace ulp::io {

class database {
 public:
  database(const std::string& path, int flags) : path_(path) {
    if (path.empty() || path == "-") throw input_error("'" + path + "'", "", "is no name of a recording");
    // SQLite takes names like ":memory:" for something else; none of those begins with a slash or "./".
    const std::string literal = path.front() == '/' ? path : "./" + path;
    sqlite3* handle = nullptr;
    // No two threads use a connection at once: without its mutex a long recording is read a fifth faster.
    const int result = sqlite3_open_v2(literal.c_str(), &handle, flags | SQLITE_OPEN_NOMUTEX, nullptr);
    handle_.reset(handle);
    std::error_code ignored;
    if (result == SQLITE_CANTOPEN && (flags & SQLITE_OPEN_CREATE) == 0 && !std::filesystem::exists(path, ignored))
      throw input_error(path, "", "No such file or directory");
    if (result != SQLITE_OK) fail("");
    sqlite3_extended_result_codes(handle, 1);
    sqlite3_busy_timeout(handle, 5000);
    harden();
    if ((flags & SQLITE_OPEN_READONLY) != 0) bound_work();
  }

  [[nodiscard]] sqlite3* get() const { return handle_.get(); }
  [[nodiscard]] const std::string& path() const { return path_; }

  void run(const char* sql) {
    if (sqlite3_exec(get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK) fail("");
  }

  [[noreturn]] void fail(const std::string& place) const {
    const int last = errno;
    std::string reason = handle_ ? sqlite3_errmsg(get()) : "out of memory";
    // SQLite quotes names and statements of the file, also their line breaks.
    std::ranges::replace_if(
        reason, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }, '?');
    const int code = (handle_ ? sqlite3_errcode(get()) : SQLITE_NOMEM) & 0xFF;
    if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB)
      reason += ": the file is damaged or was cut short; copy it again, and what is named as it with -wal too";
    if (code == SQLITE_INTERRUPT) reason = "takes more work than a file of its size can: the file is damaged";
    // SQLite keeps the number of most failed calls, but not of those inside a commit.
    const int kept = handle_ && code == SQLITE_IOERR ? sqlite3_system_errno(get()) : 0;
    const int system = kept == 0 && code == SQLITE_IOERR ? last : kept;
    if (code == SQLITE_FULL || system == ENOSPC) reason = "the disk is full";
    if (system == EDQUOT) reason = "the disk quota is used up";
    if (system == EFBIG) reason = "the file would become larger than a file may be here (see ulimit -f)";
    if (code == SQLITE_CANTOPEN) reason += ": is its folder there, and may it be written?";
    throw input_error(path_, place, reason);
  }

  // A step of a statement begins.
  void begin_work() const {
    if (work_) work_->done = 0;
  }

 private:
  // What nobody who reads or writes recordings needs.
  void harden() {
    sqlite3* const db = get();
    // Values: payloads are the longest. Statements: those of the schema are.
    constexpr std::array limits{std::pair{SQLITE_LIMIT_LENGTH, 1 << 28},  std::pair{SQLITE_LIMIT_SQL_LENGTH, 10000},
                                std::pair{SQLITE_LIMIT_COLUMN, 64},       std::pair{SQLITE_LIMIT_EXPR_DEPTH, 20},
                                std::pair{SQLITE_LIMIT_ATTACHED, 0},      std::pair{SQLITE_LIMIT_TRIGGER_DEPTH, 1},
                                std::pair{SQLITE_LIMIT_WORKER_THREADS, 0}};
    for (const auto& [limit, value] : limits) sqlite3_limit(db, limit, value);
    constexpr std::array settings{
        std::pair{SQLITE_DBCONFIG_DEFENSIVE, 1},   std::pair{SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
        std::pair{SQLITE_DBCONFIG_ENABLE_VIEW, 0}, std::pair{SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
        std::pair{SQLITE_DBCONFIG_DQS_DDL, 0},     std::pair{SQLITE_DBCONFIG_DQS_DML, 0}};
    for (const auto& [setting, value] : settings) sqlite3_db_config(db, setting, value, nullptr);
    run("PRAGMA cell_size_check=ON");
    run("PRAGMA mmap_size=0");
  }

  // Pages that refer to each other could be read for ever. Each step of our statements looks at each row at most once, and
  // no row is so small, or takes so many instructions.
  struct work {
    std::uint64_t done = 0;
    std::uint64_t most = 0;
  };
  static constexpr int instructions = 10000;  // between two looks

  void bound_work() {
    work_ = std::make_unique<work>();
    std::uint64_t bytes = 0;
    for (const char* const suffix : {"", "-wal"}) {
      std::error_code absent;
      const std::uint64_t size = std::filesystem::file_size(path_ + suffix, absent);
      if (!absent) bytes += size;
    }
    work_->most = 16 * bytes / instructions + 200;
    const auto count = [](void* of) {
      work& w = *static_cast<work*>(of);
      return ++w.done > w.most ? 1 : 0;
    };
    sqlite3_progress_handler(get(), instructions, count, work_.get());
  }

  struct closer {
    void operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }
  };
  std::string path_;
  std::unique_ptr<work> work_;
  std::unique_ptr<sqlite3, closer> handle_;
};

// A prepared statement. Parameters are bound in order by `bind`; columns read by index while `row` returned true.
class statement {
 public:
  statement(const database& db, const char* sql) : db_(&db) {
    sqlite3_stmt* handle = nullptr;
    if (sqlite3_prepare_v2(db.get(), sql, -1, &handle, nullptr) != SQLITE_OK) db.fail("");
    handle_.reset(handle);
  }

  template <typename... Values>
  statement& bind(const Values&... values) {
    sqlite3_reset(handle_.get());
    int index = 0;
    (check(bind_one(++index, values)), ...);
    return *this;
  }

  // Steps to the next row; false when there is none.
  bool row() {
    db_->begin_work();
    const int result = sqlite3_step(handle_.get());
    if (result == SQLITE_ROW) return true;
    if (result != SQLITE_DONE) {
      sqlite3_reset(handle_.get());
      db_->fail("");
    }
    sqlite3_reset(handle_.get());
    return false;
  }

  // For statements that are left at a row: ends their reading, which keeps a writer's log from being emptied.
  void reset() { sqlite3_reset(handle_.get()); }

  // Columns. What has another type than it says throws payload_error.
  [[nodiscard]] std::int64_t integer(int column) const {
    if (type(column) != SQLITE_INTEGER) throw payload_error("something else where an integer should be");
    return sqlite3_column_int64(handle_.get(), column);
  }
  // NULL is NaN.
  [[nodiscard]] double real(int column) const {
    if (type(column) == SQLITE_NULL) return std::nan("");
    if (type(column) != SQLITE_FLOAT && type(column) != SQLITE_INTEGER)
      throw payload_error("something else where a number should be");
    return sqlite3_column_double(handle_.get(), column);
  }
  // NULL is nullopt, the text 'nan' NaN: the counterpart of binding an optional.
  [[nodiscard]] std::optional<double> optional_real(int column) const {
    if (type(column) == SQLITE_NULL) return std::nullopt;
    return type(column) == SQLITE_TEXT && bytes(column) == "nan" ? std::nan("") : real(column);
  }
  [[nodiscard]] bool is_text(int column) const { return sqlite3_column_type(handle_.get(), column) == SQLITE_TEXT; }
  [[nodiscard]] std::optional<bool> flag(int column) const {
    if (type(column) == SQLITE_NULL) return std::nullopt;
    const std::int64_t value = integer(column);
    if (value != 0 && value != 1) throw payload_error("something else where 0 or 1 should be");
    return value != 0;
  }
  // Text or blob as bytes, valid until the next step.
  [[nodiscard]] std::string_view bytes(int column) const {
    const void* const data = sqlite3_column_blob(handle_.get(), column);
    const int size = sqlite3_column_bytes(handle_.get(), column);
    return data == nullptr ? std::string_view{} : std::string_view{static_cast<const char*>(data), std::size_t(size)};
  }
  [[nodiscard]] std::string_view text_at(int column) const {
    if (type(column) != SQLITE_TEXT) throw payload_error("something else where a text should be");
    return bytes(column);
  }
  [[nodiscard]] std::string_view blob_at(int column) const {
    if (type(column) != SQLITE_BLOB) throw payload_error("something else where a blob should be");
    return bytes(column);
  }
  [[nodiscard]] bool is_null(int column) const { return type(column) == SQLITE_NULL; }

 private:
  [[nodiscard]] int type(int column) const { return sqlite3_column_type(handle_.get(), column); }
  void check(int result) const {
    if (result != SQLITE_OK) db_->fail("");
  }
  int bind_one(int i, std::int64_t value) { return sqlite3_bind_int64(handle_.get(), i, value); }
  int bind_one(int i, double value) {  // NaN becomes NULL
    return sqlite3_bind_double(handle_.get(), i, value);
  }
  int bind_one(int i, std::optional<double> value) {
    if (!value) return sqlite3_bind_null(handle_.get(), i);
    return std::isnan(*value) ? bind_one(i, std::string_view{"nan"}) : bind_one(i, *value);
  }
  int bind_one(int i, std::optional<bool> value) {
    return value ? sqlite3_bind_int(handle_.get(), i, *value ? 1 : 0) : sqlite3_bind_null(handle_.get(), i);
  }
  int bind_one(int i, std::string_view text) {
    return sqlite3_bind_text(handle_.get(), i, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
  }

 public:
  struct blob {
    std::string_view bytes;
  };

 private:
  int bind_one(int i, blob value) {
    return sqlite3_bind_blob64(handle_.get(), i, value.bytes.data(), value.bytes.size(), SQLITE_TRANSIENT);
  }

  struct finalizer {
    void operator()(sqlite3_stmt* handle) const { sqlite3_finalize(handle); }
  };
  const database* db_;
  std::unique_ptr<sqlite3_stmt, finalizer> handle_;
};

}  // namespace ulp::io

#endif
