#include "mended.hpp"

#include <sqlite3.h>

#include <cstdlib>
#include <stdexcept>

#include "recording/checksum.hpp"

namespace ulp::test {
namespace {

void mend(io::database& db, const io::row_parts& parts, const std::string& key) {
  const std::string table{parts.table};
  try {
    io::statement rows(db, ("SELECT " + key + ", * FROM " + table).c_str());
    io::statement update(db, ("UPDATE " + table + " SET crc=? WHERE " + key + "=?").c_str());
    constexpr int most = 100000;  // pages of a damaged file may go in a circle
    for (int i = 0; i < most && rows.row(); ++i) {
      const std::string crc = io::checksums_of(rows, parts, parts.count(), 1);
      if (rows.type(0) == SQLITE_INTEGER)
        update.bind(io::statement::blob{crc}, rows.integer(0)).row();
      else
        update.bind(io::statement::blob{crc}, rows.bytes(0)).row();
    }
  } catch (const std::exception&) {  // a table that is altered or absent
  }
}

}  // namespace

void mend_checksums(const std::string& path) {
  io::database db({.shown = path, .file = path, .access = io::file_access::writing});
  db.run("PRAGMA synchronous=OFF");  // waiting for the disk would take most of the tests
  db.run("BEGIN");
  for (const io::row_parts& parts :
       {io::tensor_row_parts, io::step_row, io::total_row, io::level_row, io::level_total_row})
    mend(db, parts, "rowid");
  mend(db, io::meta_row, "key");
  db.run("COMMIT");
}

std::int64_t damage(const std::string& path, const std::string& sql) {
  sqlite3* db = nullptr;
  sqlite3_open(path.c_str(), &db);
  std::int64_t result = 0;
  const auto take = [](void* to, int, char** values, char**) {
    *static_cast<std::int64_t*>(to) = values[0] == nullptr ? 0 : std::atoll(values[0]);
    return 0;
  };
  char* message = nullptr;
  sqlite3_exec(db, sql.c_str(), take, &result, &message);
  const std::string reason = message == nullptr ? "" : message;
  sqlite3_free(message);
  sqlite3_close(db);
  if (!reason.empty()) throw std::runtime_error(sql + ": " + reason);
  return result;
}

std::int64_t alter(const std::string& path, const std::string& sql) {
  const std::int64_t result = damage(path, sql);
  mend_checksums(path);
  return result;
}

}  // namespace ulp::test
