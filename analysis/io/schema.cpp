#include "schema.hpp"

#include <filesystem>
#include <limits>

#include "readers/text.hpp"

namespace ulp::io {

std::string describe(const step_key& key) {
  std::string text = "step " + std::to_string(key.step);
  if (key.attempt != 0) text += " attempt " + std::to_string(key.attempt);
  if (key.microbatch != -1) text += " microbatch " + std::to_string(key.microbatch);
  return text;
}

step_key key_at(const statement& row) {
  const auto narrow = [](std::int64_t n) {
    if (n < -1 || n > std::numeric_limits<std::int32_t>::max()) throw payload_error("an impossible key");
    return static_cast<std::int32_t>(n);
  };
  return {row.integer(0), narrow(row.integer(1)), narrow(row.integer(2))};
}

void check_identity(database& db) {
  sqlite3_limit(db.get(), SQLITE_LIMIT_LENGTH, static_cast<int>(payload_limit));
  for (const char* const pragma : {"PRAGMA trusted_schema=OFF", "PRAGMA cell_size_check=ON", "PRAGMA mmap_size=0"})
    db.run(pragma);
  sqlite3_db_config(db.get(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  const auto number = [&](const char* pragma) {
    statement s(db, pragma);
    return s.row() ? s.integer(0) : 0;
  };
  if (number("PRAGMA application_id") != application_id)
    throw input_error(db.path(), "header", "is an SQLite database but no ulpscope recording");
  std::error_code ignored;
  if (std::filesystem::file_size(db.path(), ignored) % static_cast<std::uint64_t>(number("PRAGMA page_size")) != 0)
    throw input_error(db.path(), "end of file", "does not end with a whole page: the file was cut short");
  const std::int64_t version = number("PRAGMA user_version");
  if (version < 1 || version > format_version)
    throw input_error(db.path(), "header",
                      "has recording format " + std::to_string(version) + "; this program reads up to " +
                          std::to_string(format_version) + ": use a newer ulpscope");
  statement objects(db, "SELECT type, name FROM sqlite_schema WHERE type NOT IN ('table', 'index')");
  if (objects.row())
    throw input_error(db.path(), "schema",
                      "holds a " + std::string{objects.bytes(0)} + " '" + std::string{objects.bytes(1)} +
                          "'; a recording has tables and indexes only");
}

std::vector<tensor_info> read_tensors(const database& db) {
  std::vector<tensor_info> tensors;
  statement s(db, "SELECT id, name, kind, role, through, shape, numel FROM tensor ORDER BY id");
  while (s.row()) {
    tensor_info t;
    t.name = s.bytes(1);
    check_name(db.path(), "table of tensors", t.name);
    const auto kind = parse_kind(s.bytes(2));
    const auto role = parse_role(s.bytes(3));
    if (s.integer(0) != static_cast<std::int64_t>(tensors.size()) || !kind || !role)
      throw input_error(db.path(), "tensor '" + t.name + "'", "its row in the table of tensors is damaged");
    t.kind = *kind;
    t.role = *role;
    t.through = s.bytes(4);
    t.shape = split<std::uint64_t>(s.bytes(5));
    t.numel = static_cast<std::uint64_t>(s.integer(6));
    tensors.push_back(std::move(t));
  }
  return tensors;
}

}  // namespace ulp::io
