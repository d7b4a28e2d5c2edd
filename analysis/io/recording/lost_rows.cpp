#include "lost_rows.hpp"

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include <ulp/io/error.hpp>

namespace ulp::io {
namespace {

// All rows, one by one: else SQLite counts them in one instruction, which nothing bounds.
constexpr const char* all = " WHERE step BETWEEN -9223372036854775807 - 1 AND 9223372036854775807";

// Both numbers of one state, whoever writes meanwhile.
bool are_equal(const database& db, const std::string& a, const std::string& b) {
  statement both(db, ("SELECT (" + a + "), (" + b + ")").c_str());
  return both.row() && both.integer(0) == both.integer(1);
}

}  // namespace

void refuse_lost_rows(const database& db) {
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
      throw input_error(db.path(), std::string{"table "} + table,
                        std::string{"has other rows than its index "} + index +
                            ": the file is damaged (ulp check lists what is wrong)");
  }
}

}  // namespace ulp::io
