#include "schema.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <iterator>
#include <limits>
#include <unordered_set>

#include <ulp/io/bytes/error.hpp>

#include "bytes/text.hpp"
#include "checksum.hpp"

namespace ulp::io {

bool has_extra(const database& db) {
  return db.number("SELECT count(*) FROM sqlite_schema WHERE type='table' AND name='extra'") > 0;
}

bool has_extra(const database& db, std::string_view name) {
  const std::string some = "SELECT count(*) FROM (SELECT 1 FROM extra WHERE name='" + std::string{name} + "' LIMIT 1)";
  return has_extra(db) && db.number(some.c_str()) > 0;
}

std::string describe(const step_key& key) {
  std::string text = "step " + std::to_string(key.step);
  if (key.attempt != 0) text += " attempt " + std::to_string(key.attempt);
  if (key.microbatch != -1) text += " microbatch " + std::to_string(key.microbatch);
  return text;
}

step_key key_at(const statement& row) {
  const auto narrow = [](std::int64_t n, std::int32_t least) {
    if (n < least || n > std::numeric_limits<std::int32_t>::max()) throw payload_error("an impossible key");
    return static_cast<std::int32_t>(n);
  };
  if (!may_be_step(row.integer(0))) throw payload_error("an impossible key");
  return {row.integer(0), narrow(row.integer(1), 0), narrow(row.integer(2), -1)};
}

namespace {

// Of recordings made before there was an index on more of total's columns.
constexpr std::string_view old_index = "CREATE INDEX total_key ON total(step, attempt, microbatch)";

void erase_all(std::string& from, std::string_view what) {
  for (std::size_t at = from.find(what); at != std::string::npos; at = from.find(what)) from.erase(at, what.size());
}

// A statement as it is compared: without blanks, and without what SQLite does not keep of it.
std::string bare(std::string_view sql) {
  std::string text;
  std::ranges::copy_if(sql, std::back_inserter(text),
                       [](char c) { return std::string_view{" \t\r\n"}.find(c) == std::string_view::npos; });
  return text;
}

// Version 1 had the same statements without checksums, and without the last table.
std::vector<std::string> known_statements(std::int64_t version) {
  std::vector<std::string> all;
  const auto add = [&](std::string_view statements) {
    for (std::size_t end = statements.find(';'); end != std::string_view::npos; end = statements.find(';')) {
      all.push_back(bare(statements.substr(0, end)));
      statements.remove_prefix(end + 1);
    }
  };
  add(schema);
  if (version > 1) {
    add(extra_schema);
    return all;
  }
  for (std::string& sql : all)
    for (const char* const since : {",crcBLOBNOTNULL", ",crc"}) erase_all(sql, since);
  all.push_back(bare(old_index));
  return all;
}

// Views, triggers, virtual tables, generated columns and expressions in indexes run what a stranger wrote; so nothing is
// taken but our own statements.
void check_schema(const database& db) {
  const std::vector<std::string> known = known_statements(db.version());
  std::vector<std::string> missing{"meta", "tensor", "step", "total"};
  if (db.version() > 1) missing.insert(missing.end(), {"level", "level_total"});
  statement objects(db, "SELECT type, name, sql FROM sqlite_schema");
  while (objects.row()) {
    const std::string_view type = objects.text_at(0);
    const std::string_view name = objects.text_at(1);
    if (type != "table" && type != "index") {
      const std::string what{type == "view" || type == "trigger" ? type : "thing"};
      db.refuse("schema", "holds a " + what + " " + in_quotes(name) + "; a recording has tables and indexes only");
    }
    const bool automatic = objects.is_null(2) && name.starts_with("sqlite_autoindex_");
    if (!automatic && (objects.is_null(2) || std::ranges::find(known, bare(objects.text_at(2))) == known.end()))
      db.refuse("schema", "its " + std::string{type} + " " + in_quotes(name) + " differs from that of a recording");
    std::erase(missing, name);
  }
  if (!missing.empty()) db.refuse("schema", "lacks the table '" + missing.front() + "' of a recording");
}

void check_list(std::string_view text) {
  constexpr std::size_t longest = 1 << 20;
  if (text.size() > longest) throw payload_error("a malformed list");
}

}  // namespace

void check_identity(database& db) {
  try {
    if (db.number("PRAGMA application_id") != application_id) {
      const bool nothing = db.number("PRAGMA schema_version") == 0;
      db.refuse("header", nothing ? "is empty: its writer was stopped before the first step; remove it and the files "
                                    "beside it (-journal, -wal, -shm)"
                                  : "is an SQLite database, but not a ulpscope recording");
    }
    const std::int64_t version = db.number("PRAGMA user_version");
    if (version < 1 || version > format_version)
      db.refuse("header", "has recording format " + std::to_string(version) + "; this program reads up to " +
                              std::to_string(format_version) + ": use a newer ulpscope");
    db.set_version(static_cast<int>(version));
    check_schema(db);
  } catch (const payload_error& problem) {
    db.refuse("schema", problem.what());
  }
}

bool has_meta(const database& db, std::string_view key) {
  statement s(db, "SELECT 1 FROM meta WHERE key=?");
  return s.bind(key).row();
}

void write_meta(const database& db, std::string_view key, std::string_view value) {
  statement insert(db, "INSERT OR REPLACE INTO meta VALUES(?,?,?)");
  insert_row(insert, meta_row, key, value);
}

std::string what_is_missing(const database& db) {
  using completeness = database::completeness;
  const completeness how = db.is_complete();
  const bool closed = how == completeness::whole || has_meta(db, closed_key);
  if (!closed && how == completeness::lacks_log)
    return "was not closed, and its write-ahead log (FILE-wal) is not beside it: if it was copied without that, "
           "the last steps are missing; copy both, or copy it again once it is closed";
  if (how == completeness::damaged_log)
    return "its write-ahead log (FILE-wal) is damaged, and the steps behind the damage are missing: if it was copied, "
           "copy both again";
  if (!closed && how == completeness::cut_log)
    return "was not closed, and its write-ahead log (FILE-wal) is empty or was cut short: "
           "the last steps may be missing; if it was copied, copy both again";
  if (has_meta(db, incomplete_key))
    return "steps may be missing: it was appended to when its write-ahead log was missing or cut short, or it was made "
           "from a recording that was not closed";
  // Writers of version 1 left no sign.
  if (!closed && db.has_checksums())
    return "was not closed: its writer was killed, or it was copied while it was being written; "
           "the last steps may be missing";
  return "";
}

run_header read_header(const database& db) {
  run_header header;
  header.format = static_cast<std::uint32_t>(db.version());
  std::vector<std::string> seen;
  statement s(db, ("SELECT key, value, " + crc_column(db) + " FROM meta").c_str());
  while (s.row()) {
    try {
      check_row(db, s, meta_row, 1);
    } catch (const payload_error& problem) {
      db.refuse("header", problem.what());
    }
    const std::string_view key = s.text_at(0);
    const std::string_view value = s.text_at(1);
    const auto fail = [&](const std::string& reason) { db.refuse("header", in_quotes(key) + " " + reason); };
    const auto number = [&] {
      std::uint32_t n = 0;
      const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), n);
      if (error != std::errc{} || end != value.data() + value.size()) fail("is not a number: " + in_quotes(value));
      return n;
    };
    const auto one_of = [&](std::string_view a, std::string_view b) {
      if (value != a && value != b) fail("is neither " + std::string{a} + " nor " + std::string{b});
      return std::string{value};
    };
    constexpr std::size_t most_keys = 1000;
    if (seen.size() == most_keys) db.refuse("header", "has more keys than any recording");
    seen.emplace_back(key);
    if (key == "run_id") {
      check_text(db.path(), "header", "run_id", value);
      header.run_id = value;
    }
    if (key == "rank") header.rank = number();
    if (key == "world") header.world = number();
    if (key == "reduction") header.reduction = one_of("local", "reduced");
    if (key == "layout") header.layout = one_of("replica", "shard");
  }
  // Every recorder writes them with the tables; a page that was lost takes them away.
  constexpr std::array<std::string_view, 5> needed{"run_id", "rank", "world", "reduction", "layout"};
  for (const std::string_view key : needed)
    if (db.version() >= 2 && std::ranges::find(seen, key) == seen.end())
      db.refuse("header", in_quotes(key) + " is missing: the file is damaged");
  return header;
}

std::vector<std::uint32_t> parse_ranks(std::string_view text) {
  check_list(text);
  std::vector<std::uint32_t> ranks = split<std::uint32_t>(text);
  if (ranks.empty() || std::ranges::adjacent_find(ranks, std::greater_equal{}) != ranks.end())
    throw payload_error("ranks that are not ascending");
  return ranks;
}

std::vector<tensor_info> read_tensors(const database& db) {
  std::vector<tensor_info> tensors;
  std::unordered_set<std::string> names;
  const std::string select =
      "SELECT id, name, kind, role, through, shape, numel, " + crc_column(db) + " FROM tensor ORDER BY id";
  statement s(db, select.c_str());
  const auto place = [&] { return "tensor " + std::to_string(tensors.size()) + " in the table of tensors"; };
  try {
    while (s.row()) {
      check_row(db, s, tensor_row_parts, 1);
      tensor_info t;
      t.name = s.text_at(1);
      check_name(db.path(), place(), t.name);
      const auto kind = parse_kind(s.text_at(2));
      const auto role = parse_role(s.text_at(3));
      t.through = s.text_at(4);
      check_text(db.path(), place(), "through", t.through);
      check_list(s.text_at(5));
      t.shape = split<std::uint64_t>(s.text_at(5));
      const std::int64_t numel = s.integer(6);
      if (s.integer(0) != static_cast<std::int64_t>(tensors.size()) || !kind || !role || numel < 0 ||
          !names.insert(t.name).second)
        throw payload_error(
            "its row is damaged: ids without gaps, known kinds and roles and a name of its own are needed");
      t.kind = *kind;
      t.role = *role;
      t.numel = static_cast<std::uint64_t>(numel);
      tensors.push_back(std::move(t));
    }
  } catch (const payload_error& problem) {
    db.refuse(place(), problem.what());
  }
  return tensors;
}

}  // namespace ulp::io
