// The checksums that rows of recordings end with: docs/recording-format.md, "Checksums".
#ifndef ULP_IO_RECORDING_CHECKSUM_HPP
#define ULP_IO_RECORDING_CHECKSUM_HPP

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "database/sqlite.hpp"

namespace ulp::io {

// What the checksums of a table's rows cover: the first one the columns before `ends[0]`, each further one all before its
// end, so that whoever reads the first columns of a row only can check these.
struct row_parts {
  std::string_view table;
  std::array<int, 2> ends{};  // the second is 0 where there is one checksum

  [[nodiscard]] constexpr std::size_t count() const { return ends[1] == 0 ? 1 : 2; }
};
inline constexpr row_parts meta_row{"meta", {2}};
inline constexpr row_parts tensor_row_parts{"tensor", {7}};
inline constexpr row_parts step_row{"step", {11, 13}};  // numbers; tables
inline constexpr row_parts total_row{"total", {7, 8}};  // all but cells; cells
inline constexpr row_parts level_row{"level", {6, 8}};  // what was merged; tables
inline constexpr row_parts level_total_row{"level_total", {8}};
inline constexpr row_parts extra_row{"extra", {6}};

// CRC-32 (zlib's) of the name of a table and the values of a row, each as SQLite stores it.
class row_checksum {
 public:
  explicit row_checksum(std::string_view table) { append(table); }

  void add(std::int64_t value);
  void add(double value);  // NaN is NULL
  void add(std::optional<double> value);
  void add(std::optional<bool> value);
  void add(std::string_view text);
  void add(statement::blob bytes);
  // A value that was read.
  void add(const statement& row, int column);

  // Of what was added so far, as the four bytes that rows hold.
  [[nodiscard]] std::string value();

 private:
  void add_bytes(char type, std::string_view bytes);
  void add_u64(char type, std::uint64_t value);
  void add_null();
  // At most as many as there is room for in `waiting_`.
  void append(std::string_view bytes);
  void flush();

  std::uint32_t crc_ = 0;
  std::size_t size_ = 0;
  std::array<char, 512> waiting_;
};

// Puts a row into its table: all its values, and then their checksums.
template <typename... Values>
void insert_row(statement& into, const row_parts& parts, const Values&... values) {
  row_checksum sum(parts.table);
  std::string all;
  int done = 0;
  into.begin();
  const auto put = [&](const auto& value) {
    into.put(value);
    sum.add(value);
    if (std::ranges::find(parts.ends, ++done) != parts.ends.end()) all += sum.value();
  };
  (put(values), ...);
  into.put(statement::blob{all});
  into.row();
}

// The checksums of the first `read` parts of a row, whose columns begin at `first`.
[[nodiscard]] std::string checksums_of(const statement& row, const row_parts& parts, std::size_t read, int first = 0);

// Checks a row that was read, where the recording has checksums: its columns as above, and behind them the column `crc`.
// Throws payload_error.
void check_row(const database& of, const statement& row, const row_parts& parts, std::size_t read, int first = 0);

// What a query calls the column: NULL in recordings that have none.
[[nodiscard]] inline std::string crc_column(const database& of) { return of.has_checksums() ? "crc" : "NULL"; }

}  // namespace ulp::io

#endif
