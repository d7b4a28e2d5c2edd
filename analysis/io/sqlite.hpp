// SQLite with errors as input_error and objects that close themselves.
#ifndef ULP_IO_SQLITE_HPP
#define ULP_IO_SQLITE_HPP

#include <sqlite3.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <ulp/io/error.hpp>

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
    if (result != SQLITE_OK) fail("");
    sqlite3_extended_result_codes(handle, 1);
    sqlite3_busy_timeout(handle, 5000);
  }

  [[nodiscard]] sqlite3* get() const { return handle_.get(); }
  [[nodiscard]] const std::string& path() const { return path_; }

  void run(const char* sql) {
    if (sqlite3_exec(get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK) fail("");
  }

  [[noreturn]] void fail(const std::string& place) const {
    std::string reason = handle_ ? sqlite3_errmsg(get()) : "out of memory";
    const int code = handle_ ? sqlite3_errcode(get()) : SQLITE_NOMEM;
    if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB) reason += ": the file is damaged or was cut short";
    if (code == SQLITE_CANTOPEN) reason += ": is its folder there, and may it be written?";
    throw input_error(path_, place, reason);
  }

 private:
  struct closer {
    void operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }
  };
  std::string path_;
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

  [[nodiscard]] std::int64_t integer(int column) const { return sqlite3_column_int64(handle_.get(), column); }
  // NULL is NaN.
  [[nodiscard]] double real(int column) const {
    if (is_null(column)) return std::nan("");
    return sqlite3_column_double(handle_.get(), column);
  }
  // NULL is nullopt, the text 'nan' NaN: the counterpart of binding an optional.
  [[nodiscard]] std::optional<double> optional_real(int column) const {
    if (is_null(column)) return std::nullopt;
    return sqlite3_column_type(handle_.get(), column) == SQLITE_TEXT ? std::nan("") : real(column);
  }
  [[nodiscard]] std::optional<bool> flag(int column) const {
    if (is_null(column)) return std::nullopt;
    return integer(column) != 0;
  }
  // Text or blob as bytes, valid until the next step.
  [[nodiscard]] std::string_view bytes(int column) const {
    const void* const data = sqlite3_column_blob(handle_.get(), column);
    const int size = sqlite3_column_bytes(handle_.get(), column);
    return data == nullptr ? std::string_view{} : std::string_view{static_cast<const char*>(data), std::size_t(size)};
  }

 private:
  [[nodiscard]] bool is_null(int column) const { return sqlite3_column_type(handle_.get(), column) == SQLITE_NULL; }
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
