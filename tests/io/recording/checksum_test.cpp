// Pins the checksums of rows to the definition in docs/recording-format.md, with a CRC-32 of our own, and what a reader of
// one part or of both refuses.
#include "recording/checksum.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/files.hpp"

using namespace ulp;
using namespace ulp::io;
using namespace ulp::test;

namespace {

// Bit by bit, of the polynomial of IEEE 802.3, as the four bytes of a row.
std::string crc_of(const std::string& bytes) {
  std::uint32_t crc = 0xFFFFFFFF;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xEDB88320 : 0);
  }
  crc = ~crc;
  std::string four;
  for (int shift = 0; shift < 32; shift += 8) four += static_cast<char>(crc >> shift);
  return four;
}

std::string typed(char type, std::uint64_t value) {
  std::string bytes{type};
  for (int shift = 0; shift < 64; shift += 8) bytes += static_cast<char>(value >> shift);
  return bytes;
}
std::string real(double x) { return typed(2, std::bit_cast<std::uint64_t>(x)); }
std::string text(const std::string& s) { return typed(3, s.size()) + s; }
std::string blob(const std::string& s) { return typed(4, s.size()) + s; }
const std::string null(1, '\0');

template <typename... Values>
std::string sum_of(const Values&... values) {
  row_checksum sum("total");
  (sum.add(values), ...);
  return sum.value();
}

// A table of two parts, of one column and of three.
constexpr row_parts parts{"t", {1, 3}};

class table {
 public:
  table() : db_({.shown = "t", .file = (dir_ / "t").string(), .access = file_access::writing, .create = true}) {
    db_.run("CREATE TABLE t (a, b, c, crc)");
    db_.set_version(2);
  }
  template <typename A, typename B, typename C>
  void insert(const A& a, const B& b, const C& c) {
    statement into(db_, "INSERT INTO t VALUES (?, ?, ?, ?)");
    insert_row(into, parts, a, b, c);
  }
  void run(const char* sql) { db_.run(sql); }
  database& get() { return db_; }
  // What check_row says of the only row; nothing where it is whole.
  std::string refusal(std::size_t read) {
    statement row(db_, read == 2 ? "SELECT 7, a, b, c, crc FROM t" : "SELECT 7, a, crc FROM t");
    REQUIRE(row.row());
    try {
      check_row(db_, row, parts, read, 1);
    } catch (const payload_error& problem) {
      return problem.what();
    }
    return "";
  }
  bool is_whole() { return refusal(1).empty() && refusal(2).empty(); }

 private:
  temporary_dir dir_;
  database db_;
};

}  // namespace

TEST_CASE("checksums are of the table's name and of each value as SQLite stores it") {
  CHECK(crc_of("123456789") == std::string("\x26\x39\xF4\xCB", 4));  // the check value of its catalogues
  CHECK(sum_of() == crc_of("total"));
  for (const std::int64_t n : {std::int64_t{0}, std::int64_t{1}, std::int64_t{-1}, std::int64_t{0x0102030405060708},
                               std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()})
    CHECK(sum_of(n) == crc_of("total" + typed(1, static_cast<std::uint64_t>(n))));
  for (const double x : {1.0, -2.5, 0x1p-1074, HUGE_VAL, -HUGE_VAL}) {
    CHECK(sum_of(x) == crc_of("total" + real(x)));
    CHECK(sum_of(std::optional{x}) == crc_of("total" + real(x)));
  }
  // Zeros have no sign; NaN is NULL, or a text where NULL is nothing.
  for (const double zero : {0.0, -0.0}) {
    CHECK(sum_of(zero) == crc_of("total" + typed(2, 0)));
    CHECK(sum_of(std::optional{zero}) == crc_of("total" + typed(2, 0)));
  }
  for (const double x : {not_known, -not_known}) {
    CHECK(sum_of(x) == crc_of("total" + null));
    CHECK(sum_of(std::optional{x}) == crc_of("total" + text("nan")));
  }
  CHECK(sum_of(std::optional<double>{}) == crc_of("total" + null));
  CHECK(sum_of(std::optional<bool>{}) == crc_of("total" + null));
  CHECK(sum_of(std::optional{true}, std::optional{false}) == crc_of("total" + typed(1, 1) + typed(1, 0)));
  CHECK(sum_of(std::string_view{"x"}, statement::blob{"x"}) == crc_of("total" + text("x") + blob("x")));
  CHECK(sum_of(std::string_view{}, statement::blob{}) == crc_of("total" + text("") + blob("")));
}

TEST_CASE("checksums of values of any length, however they are gathered") {
  for (const std::size_t size : {1u, 246u, 255u, 256u, 257u, 493u, 503u, 511u, 512u, 513u, 5000u}) {
    CAPTURE(size);
    std::string long_one;
    for (std::size_t i = 0; i < size; ++i) long_one += static_cast<char>(i * 37 % 251);
    row_checksum sum("t");
    std::string bytes = "t";
    for (int i = 0; i < 3; ++i) {
      sum.add(std::int64_t{i});
      sum.add(statement::blob{long_one});
      sum.add(std::string_view{long_one});
      sum.add(not_known);
      bytes += typed(1, static_cast<std::uint64_t>(i)) + blob(long_one) + text(long_one) + null;
      // What was added so far; more may follow.
      CHECK(sum.value() == crc_of(bytes));
    }
    row_checksum many("t");
    bytes = "t";
    for (std::size_t i = 0; i < size; ++i) {
      many.add(0.5);
      many.add(not_known);
      bytes += real(0.5) + null;
    }
    CHECK(many.value() == crc_of(bytes));
  }
}

TEST_CASE("a row that was put into its table is whole, whatever its values are") {
  const std::vector<std::optional<double>> numbers{0.0, -0.0, 1.5, not_known, HUGE_VAL, std::nullopt};
  for (const std::optional<double>& a : numbers)
    for (const std::optional<double>& b : numbers) {
      table t;
      t.insert(a.value_or(3), b, std::string_view{"text"});
      CHECK(t.is_whole());
    }
  table t;
  t.insert(std::int64_t{-5}, statement::blob{std::string_view{"\0\1", 2}}, std::optional<bool>{true});
  CHECK(t.is_whole());
}

TEST_CASE("each part of a row is checked by its own four bytes, and by no more and no fewer") {
  const std::string refused = "its checksum does not match: the file was damaged after it was written";
  const auto after = [&](const char* sql) {
    table t;
    t.insert(std::int64_t{1}, 2.0, std::string_view{"three"});
    CHECK(t.is_whole());
    t.run(sql);
    const std::string first = t.refusal(1);
    const std::string both = t.refusal(2);
    CHECK((first.empty() || first == refused));
    CHECK((both.empty() || both == refused));
    return std::pair{first.empty(), both.empty()};
  };
  const std::pair whole{true, true};
  const std::pair first_only{true, false};
  const std::pair neither{false, false};
  CHECK(after("UPDATE t SET a = 1, b = 2.0, c = 'three'") == whole);
  CHECK(after("UPDATE t SET a = 0") == neither);
  CHECK(after("UPDATE t SET a = 1.0") == neither);
  CHECK(after("UPDATE t SET a = NULL") == neither);
  CHECK(after("UPDATE t SET b = 2") == first_only);
  CHECK(after("UPDATE t SET b = -2.0") == first_only);
  CHECK(after("UPDATE t SET c = x'7468726565'") == first_only);
  CHECK(after("UPDATE t SET c = 'threE'") == first_only);
  // A byte of either checksum, or too few or too many.
  CHECK(after("UPDATE t SET crc = substr(crc, 1, 7) || x'00' WHERE substr(crc, 8) <> x'00'; "
              "UPDATE t SET crc = CAST(crc AS BLOB)") == first_only);
  for (const char* const sql :
       {"UPDATE t SET crc = substr(crc, 1, 4)", "UPDATE t SET crc = substr(crc, 1, 7)", "UPDATE t SET crc = x''",
        "UPDATE t SET crc = CAST(crc || x'00' AS BLOB)", "UPDATE t SET crc = CAST(crc || crc AS BLOB)",
        "UPDATE t SET crc = CAST(substr(crc, 5) || substr(crc, 1, 4) AS BLOB)"})
    CHECK(after(sql) == neither);
}

TEST_CASE("recordings of the first version have no checksums to check") {
  table t;
  t.insert(std::int64_t{1}, 2.0, std::string_view{"three"});
  t.run("UPDATE t SET a = 2, crc = NULL");
  CHECK(t.refusal(1) == "expected a blob");
  t.get().set_version(1);
  CHECK(t.is_whole());
  CHECK(crc_column(t.get()) == "NULL");
  t.get().set_version(2);
  CHECK(crc_column(t.get()) == "crc");
}
