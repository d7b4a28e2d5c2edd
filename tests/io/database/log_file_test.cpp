// Pins what is said of a write-ahead log against what SQLite reads of it: whatever is changed or cut off in it, it is whole
// where SQLite finds every row.
#include "database/log_file.hpp"

#include <sqlite3.h>

#include "support/catch.hpp"
#include "support/files.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

namespace fs = std::filesystem;
using io::log_state;
using enum io::log_state;

constexpr std::size_t log_head = 32;
constexpr std::size_t page_size = 512;
constexpr std::size_t frame_size = 24 + page_size;
constexpr int many = 9;

void run(sqlite3* db, const std::string& sql) {
  REQUIRE(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK);
}

// The rows that SQLite finds; -1 where the table is not there.
int rows_of(const std::string& file) {
  sqlite3* db = nullptr;
  REQUIRE(sqlite3_open(file.c_str(), &db) == SQLITE_OK);
  sqlite3_stmt* count = nullptr;
  int rows = -1;
  if (sqlite3_prepare_v2(db, "SELECT count(*) FROM t", -1, &count, nullptr) == SQLITE_OK &&
      sqlite3_step(count) == SQLITE_ROW)
    rows = sqlite3_column_int(count, 0);
  sqlite3_finalize(count);
  sqlite3_close(db);
  return rows;
}

// A database with a log as its killed writer left it, one row in each transaction.
class killed {
 public:
  // `generations`: how often the log began anew; the first is the longest.
  explicit killed(int generations) {
    const std::string live = (dir_ / "live").string();
    sqlite3* db = nullptr;
    REQUIRE(sqlite3_open(live.c_str(), &db) == SQLITE_OK);
    run(db, "PRAGMA page_size=512; PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0; CREATE TABLE t(x)");
    for (int g = 0; g < generations; ++g) {
      if (g > 0) run(db, "PRAGMA wal_checkpoint");
      for (int i = 0; i < (g + 1 < generations ? 2 * many : many); ++i)
        run(db, "INSERT INTO t VALUES(zeroblob(" + std::to_string(60 * i) + "))");
    }
    fs::copy_file(live, file());
    log_ = read_file(live + "-wal");
    sqlite3_close(db);
    rows_ = rows_of_log(log_);
  }

  [[nodiscard]] std::string file() const { return (dir_ / "copy").string(); }
  [[nodiscard]] const std::string& log() const { return log_; }
  [[nodiscard]] int rows() const { return rows_; }

  [[nodiscard]] log_state state(const std::string& log) const {
    write_file(file() + "-wal", log);
    return io::state_of_log(file() + "-wal");
  }
  [[nodiscard]] int rows_of_log(const std::string& log) const {
    const fs::path alone = dir_ / "played";
    fs::copy_file(file(), alone, fs::copy_options::overwrite_existing);
    write_file(alone.string() + "-wal", log);
    return rows_of(alone.string());
  }

 private:
  temporary_dir dir_;
  std::string log_;
  int rows_ = 0;
};

}  // namespace

TEST_CASE("a changed byte of a log is found where SQLite loses rows by it, and nowhere else") {
  const killed one(1);
  REQUIRE(one.rows() == many);
  REQUIRE(one.state(one.log()) == whole);
  int lost = 0;
  int damages = 0;
  for (std::size_t at = 0; at < one.log().size(); at += at < 100 ? 1 : 37) {
    std::string log = one.log();
    log[at] = static_cast<char>(log[at] ^ 0x10);
    const int rows = one.rows_of_log(log);
    const log_state state = one.state(log);
    INFO("byte " << at << ", " << rows << " rows");
    CHECK((state == whole) == (rows == many));
    if (at < log_head && rows != many) CHECK(state == no_log);
    if (at >= log_head && rows < many - 1) CHECK(state == damaged);
    lost += static_cast<int>(rows != many);
    damages += static_cast<int>(state == damaged);
  }
  CHECK(lost > 150);
  CHECK(damages > 100);
}

TEST_CASE("a log that ends early is cut, unless a kill leaves the same") {
  const killed one(1);
  for (std::size_t size = 0; size < one.log().size(); size += size < 100 ? 1 : 31) {
    const std::size_t rest = size < log_head ? 0 : (size - log_head) % frame_size;
    INFO("cut to " << size);
    CHECK(one.state(one.log().substr(0, size)) == (size <= log_head ? empty : rest == 24 || rest == 0 ? whole : cut));
  }
}

TEST_CASE("pages of a log before, behind its own, are no damage") {
  const killed one(3);
  REQUIRE(one.rows() == 5 * many);
  REQUIRE(one.state(one.log()) == whole);
  int behind = 0;
  for (std::size_t at = log_head; at < one.log().size(); at += 37) {
    std::string log = one.log();
    log[at] = static_cast<char>(log[at] ^ 1);
    const int rows = one.rows_of_log(log);
    INFO("byte " << at << ", " << rows << " rows");
    if (rows == one.rows()) CHECK(one.state(log) == whole);
    // The last page may be one that a kill left with its new head and the old rest.
    if (rows < one.rows() - 1) CHECK(one.state(log) == damaged);
    behind += static_cast<int>(rows == one.rows());
  }
  CHECK(behind > 50);
}

TEST_CASE("what is no log is not taken for an empty one") {
  const killed one(1);
  CHECK(one.state("notes on what this run was for, and on what came out\n") == no_log);
  CHECK(one.state(std::string(4096, '\0')) == no_log);
  CHECK(one.state(read_file(one.file())) == no_log);
}
