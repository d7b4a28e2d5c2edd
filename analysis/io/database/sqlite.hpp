// SQLite with errors as input_error and objects that close themselves, on its guard against files made to do harm
// (https://www.sqlite.org/security.html).
#ifndef ULP_IO_DATABASE_SQLITE_HPP
#define ULP_IO_DATABASE_SQLITE_HPP

#include <sqlite3.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "encoding/numbers.hpp"
#include "guarded_files.hpp"
#include "unlocked_file.hpp"

namespace ulp::io {

// How a database is opened. `file` is what errors call `shown`; a file that nobody writes to is opened alone: neither locked
// nor looked for a journal.
struct database_options {
  std::string shown;
  std::string file;
  file_access access = file_access::reading;
  bool create = false;
  bool alone = false;
};

// A connection. Not thread-safe.
class database {
 public:
  // Throws input_error.
  explicit database(database_options options);

  [[nodiscard]] sqlite3* get() const { return handle_.get(); }
  // What errors call it.
  [[nodiscard]] const std::string& path() const { return shown_; }

  // From here on reads what is there of a file that is shorter than it says, instead of nothing. Before anything is read.
  void allow_torn();
  void run(const char* sql);
  // The first column of the first row; 0 where there is none.
  [[nodiscard]] std::int64_t number(const char* sql) const;
  // Throws input_error with what SQLite says went wrong last.
  [[noreturn]] void fail(const std::string& place) const;
  // Throws input_error with what is wrong with what was read.
  [[noreturn]] void refuse(const std::string& place, const std::string& reason) const;

  // From here on it is read without locks: what is wrong with it, and the end of each statement's rows, is a changed_error
  // where the file was written to since.
  void read_unlocked(unlocked_file before) { unlocked_ = std::move(before); }
  void refuse_change() const {
    if (unlocked_ && unlocked_->was_written()) throw changed_error(shown_);
  }

  // The version of the recording format, once it was looked at; from version 2 on rows have checksums.
  [[nodiscard]] int version() const { return version_; }
  void set_version(int version) { version_ = version; }
  [[nodiscard]] bool has_checksums() const { return version_ >= 2; }

  // What its header and what lies beside it say of changes that are not in the file.
  enum class completeness : std::uint8_t {
    whole,        // nothing
    lacks_log,    // its header tells of a write-ahead log, and there is none
    damaged_log,  // the log is there, and not all of it can be read
    cut_log,      // the log is there, and empty or cut short
    stopped       // no writer is there: it is whole if it was closed
  };
  [[nodiscard]] completeness is_complete() const { return complete_; }
  void set_complete(completeness how) { complete_ = how; }

  // A step of a statement begins.
  void begin_work() const {
    if (work_) work_->done = 0;
  }

 private:
  void harden();
  void bound_work(const std::string& file);

  struct work {
    std::uint64_t done = 0;
    std::uint64_t most = 0;
  };
  struct closer {
    void operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }
  };
  std::string shown_;
  std::unique_ptr<work> work_;
  std::unique_ptr<sqlite3, closer> handle_;
  std::optional<unlocked_file> unlocked_;
  int version_ = 0;
  completeness complete_ = completeness::whole;
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
    begin();
    (put(values), ...);
    return *this;
  }
  // A row whose values are put one by one: begin, put each, row.
  void begin() {
    sqlite3_reset(handle_.get());
    bound_ = 0;
  }
  template <typename Value>
  void put(const Value& value) {
    check(bind_one(++bound_, value));
  }

  // Steps to the next row; false when there is none.
  bool row() {
    db_->begin_work();
    values_.fill(nullptr);
    const int result = sqlite3_step(handle_.get());
    if (result == SQLITE_ROW) return true;
    if (result != SQLITE_DONE) {
      sqlite3_reset(handle_.get());
      db_->fail("");
    }
    sqlite3_reset(handle_.get());
    db_->refuse_change();
    return false;
  }

  // For statements that are left at a row: ends their reading, which keeps a writer's log from being emptied.
  void reset() { sqlite3_reset(handle_.get()); }

  // Columns. What has another type than it says throws payload_error.
  [[nodiscard]] std::int64_t integer(int column) const {
    sqlite3_value* const at = value(column);
    if (sqlite3_value_type(at) != SQLITE_INTEGER) throw payload_error("expected an integer");
    return sqlite3_value_int64(at);
  }
  // NULL is NaN.
  [[nodiscard]] double real(int column) const {
    sqlite3_value* const at = value(column);
    const int type = sqlite3_value_type(at);
    if (type == SQLITE_NULL) return std::nan("");
    if (type != SQLITE_FLOAT && type != SQLITE_INTEGER) throw payload_error("expected a number");
    return sqlite3_value_double(at);
  }
  // NULL is nullopt, the text 'nan' NaN: the counterpart of binding an optional.
  [[nodiscard]] std::optional<double> optional_real(int column) const {
    if (type(column) == SQLITE_NULL) return std::nullopt;
    return type(column) == SQLITE_TEXT && bytes(column) == "nan" ? std::nan("") : real(column);
  }
  [[nodiscard]] bool is_text(int column) const { return type(column) == SQLITE_TEXT; }
  [[nodiscard]] std::optional<bool> flag(int column) const {
    if (type(column) == SQLITE_NULL) return std::nullopt;
    const std::int64_t value = integer(column);
    if (value != 0 && value != 1) throw payload_error("expected 0 or 1");
    return value != 0;
  }
  // Text or blob as bytes, valid until the next step.
  [[nodiscard]] std::string_view bytes(int column) const {
    sqlite3_value* const at = value(column);
    const void* const data = sqlite3_value_blob(at);
    const int size = sqlite3_value_bytes(at);
    return data == nullptr ? std::string_view{} : std::string_view{static_cast<const char*>(data), std::size_t(size)};
  }
  [[nodiscard]] std::string_view text_at(int column) const {
    if (type(column) != SQLITE_TEXT) throw payload_error("expected text");
    return bytes(column);
  }
  [[nodiscard]] std::string_view blob_at(int column) const {
    if (type(column) != SQLITE_BLOB) throw payload_error("expected a blob");
    return bytes(column);
  }
  [[nodiscard]] bool is_null(int column) const { return type(column) == SQLITE_NULL; }
  // As SQLite numbers them: SQLITE_INTEGER, ...
  [[nodiscard]] int type(int column) const { return sqlite3_value_type(value(column)); }
  // Valid until the next step. Asking it instead of the columns takes SQLite half the time; it may be asked as nobody else
  // uses the connection (https://www.sqlite.org/c3ref/column_blob.html).
  [[nodiscard]] sqlite3_value* value(int column) const {
    const auto i = static_cast<std::size_t>(column);
    if (i >= values_.size()) return sqlite3_column_value(handle_.get(), column);
    if (values_[i] == nullptr) values_[i] = sqlite3_column_value(handle_.get(), column);
    return values_[i];
  }

 private:
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
  mutable std::array<sqlite3_value*, 16> values_{};  // of the row, as far as they were asked for
  int bound_ = 0;
};

}  // namespace ulp::io

#endif
