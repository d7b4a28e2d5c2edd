#include "lost_rows.hpp"

#include <array>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <ulp/io/bytes/error.hpp>

namespace ulp::io {
namespace {

// All rows, one by one: else SQLite counts them in one instruction, which nothing bounds.
constexpr const char* all = " WHERE step BETWEEN -9223372036854775807 - 1 AND 9223372036854775807";

// Both numbers of one state, whoever writes meanwhile.
bool are_equal(const database& db, const std::string& a, const std::string& b) {
  statement both(db, ("SELECT (" + a + "), (" + b + ")").c_str());
  return both.row() && both.integer(0) == both.integer(1);
}

// A file and its log, as far as a change of them shows.
struct file_state {
  std::string file;
  std::array<std::uintmax_t, 2> sizes{};
  std::array<std::filesystem::file_time_type, 2> times{};
  friend bool operator==(const file_state&, const file_state&) = default;
};

file_state state_of(const database& db) {
  const char* const file = sqlite3_db_filename(db.get(), "main");
  file_state now{.file = file == nullptr ? "" : file};
  for (std::size_t i = 0; i < now.sizes.size(); ++i) {
    const std::filesystem::path part = now.file + (i == 0 ? "" : "-wal");
    std::error_code absent;
    now.sizes[i] = std::filesystem::file_size(part, absent);
    now.times[i] = std::filesystem::last_write_time(part, absent);
  }
  return now;
}

// The last one that had lost none: a viewer opens the same file for each part that it looks at.
std::mutex looking_at_last;
std::optional<file_state> last_whole;

void refuse_lost_rows_of(const database& db) {
  constexpr std::array<std::pair<const char*, const char*>, 3> indices{
      {{"step", "sqlite_autoindex_step_1"}, {"step", "step_scalars"}, {"total", "total_summary"}}};
  for (const auto& [table, index] : indices) {
    statement there(db, "SELECT 1 FROM sqlite_schema WHERE type='index' AND name=?");
    there.bind(std::string_view{index});
    if (!there.row()) continue;
    const std::string count = std::string{"SELECT count(*) FROM "} + table;
    const std::string of_index = count + " INDEXED BY " + index + all;
    // Rows are numbered from 1 on, and no writer removes any.
    if (are_equal(db, of_index, std::string{"SELECT coalesce(max(rowid), 0) FROM "} + table)) continue;
    if (!are_equal(db, of_index, count + " NOT INDEXED" + all))
      db.refuse(std::string{"table "} + table, std::string{"has other rows than its index "} + index +
                                                   ": the file is damaged (ulp check lists what is wrong)");
  }
}

}  // namespace

void refuse_lost_rows(const database& db) {
  file_state now = state_of(db);
  // Small ones are looked at faster than a clock tells changes apart.
  if (now.file.empty() || now.sizes[0] <= checked_wholly) return refuse_lost_rows_of(db);
  {
    const std::lock_guard lock(looking_at_last);
    if (last_whole == now) return;
  }
  refuse_lost_rows_of(db);
  const std::lock_guard lock(looking_at_last);
  last_whole = std::move(now);
}

}  // namespace ulp::io
