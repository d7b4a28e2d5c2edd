#include "schema.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <functional>
#include <iterator>
#include <limits>
#include <unordered_set>

#include "journal.hpp"
#include "readers/text.hpp"

namespace ulp::io {

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
  return {row.integer(0), narrow(row.integer(1), 0), narrow(row.integer(2), -1)};
}

namespace {

// Of recordings made before there was an index on more of total's columns.
constexpr std::string_view old_index = "CREATE INDEX total_key ON total(step, attempt, microbatch)";

// A statement as it is compared: without blanks, and without what SQLite does not keep of it.
std::string bare(std::string_view sql) {
  std::string text;
  std::ranges::copy_if(sql, std::back_inserter(text),
                       [](char c) { return std::string_view{" \t\r\n"}.find(c) == std::string_view::npos; });
  constexpr std::string_view condition = "IFNOTEXISTS";
  if (const std::size_t at = text.find(condition); at != std::string::npos) text.erase(at, condition.size());
  return text;
}

std::vector<std::string> known_statements() {
  std::vector<std::string> all{bare(old_index)};
  for (std::string_view rest : {schema_of_steps, schema_of_levels})
    for (std::size_t end = rest.find(';'); end != std::string_view::npos; end = rest.find(';')) {
      all.push_back(bare(rest.substr(0, end)));
      rest.remove_prefix(end + 1);
    }
  return all;
}

// Views, triggers, virtual tables, generated columns and expressions in indexes run what a stranger wrote; so nothing is
// taken but our own statements.
void check_schema(database& db) {
  const std::vector<std::string> known = known_statements();
  std::array<bool, 4> tables{};
  constexpr std::array<std::string_view, 4> needed{"meta", "tensor", "step", "total"};
  statement objects(db, "SELECT type, name, sql FROM sqlite_schema");
  while (objects.row()) {
    const std::string_view type = objects.text_at(0);
    const std::string_view name = objects.text_at(1);
    if (type != "table" && type != "index") {
      const std::string what{type == "view" || type == "trigger" ? type : "thing"};
      throw input_error(db.path(), "schema",
                        "holds a " + what + " " + in_quotes(name) + "; a recording has tables and indexes only");
    }
    const bool automatic = objects.is_null(2) && name.starts_with("sqlite_autoindex_");
    if (!automatic && (objects.is_null(2) || std::ranges::find(known, bare(objects.text_at(2))) == known.end()))
      throw input_error(db.path(), "schema",
                        "its " + std::string{type} + " " + in_quotes(name) + " is not as recordings have it");
    const auto one = std::ranges::find(needed, name);
    if (one != needed.end()) tables[static_cast<std::size_t>(one - needed.begin())] = true;
  }
  for (std::size_t i = 0; i < needed.size(); ++i)
    if (!tables[i])
      throw input_error(db.path(), "schema", "lacks the table '" + std::string{needed[i]} + "' of a recording");
}

void check_list(std::string_view text) {
  constexpr std::size_t longest = 1 << 20;
  if (text.size() > longest) throw payload_error("a list that is none");
}

}  // namespace

void check_identity(database& db) {
  take_back_unfinished(db.path());
  try {
    const auto number = [&](const char* pragma) {
      statement s(db, pragma);
      return s.row() ? s.integer(0) : 0;
    };
    if (number("PRAGMA application_id") != application_id) {
      const bool nothing = number("PRAGMA schema_version") == 0;
      throw input_error(db.path(), "header",
                        nothing ? "is empty: who began to write it was stopped before the first step"
                                : "is an SQLite database but no ulpscope recording");
    }
    std::error_code ignored;
    if (std::filesystem::file_size(db.path(), ignored) % static_cast<std::uint64_t>(number("PRAGMA page_size")) != 0)
      throw input_error(db.path(), "end of file",
                        "does not end with a whole page: the file was cut short; copy it again");
    const std::int64_t version = number("PRAGMA user_version");
    if (version < 1 || version > format_version)
      throw input_error(db.path(), "header",
                        "has recording format " + std::to_string(version) + "; this program reads up to " +
                            std::to_string(format_version) + ": use a newer ulpscope");
    check_schema(db);
  } catch (const payload_error& problem) {
    throw input_error(db.path(), "schema", problem.what());
  }
}

run_header read_header(const database& db) {
  run_header header;
  std::size_t keys = 0;
  statement s(db, "SELECT key, value FROM meta");
  while (s.row()) {
    const std::string_view key = s.text_at(0);
    const std::string_view value = s.text_at(1);
    const auto fail = [&](const std::string& reason) {
      throw input_error(db.path(), "header", in_quotes(key) + " " + reason);
    };
    const auto number = [&] {
      std::uint32_t n = 0;
      const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), n);
      if (error != std::errc{} || end != value.data() + value.size()) fail("is no number: " + in_quotes(value));
      return n;
    };
    const auto one_of = [&](std::string_view a, std::string_view b) {
      if (value != a && value != b) fail("is neither " + std::string{a} + " nor " + std::string{b});
      return std::string{value};
    };
    constexpr std::size_t most_keys = 1000;
    if (++keys > most_keys) throw input_error(db.path(), "header", "has more keys than any recording");
    if (key == "run_id") {
      check_text(db.path(), "header", "run_id", value);
      header.run_id = value;
    }
    if (key == "rank") header.rank = number();
    if (key == "world") header.world = number();
    if (key == "reduction") header.reduction = one_of("local", "reduced");
    if (key == "layout") header.layout = one_of("replica", "shard");
  }
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
  statement s(db, "SELECT id, name, kind, role, through, shape, numel FROM tensor ORDER BY id");
  const auto place = [&] { return "tensor " + std::to_string(tensors.size()) + " in the table of tensors"; };
  try {
    while (s.row()) {
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
    throw input_error(db.path(), place(), problem.what());
  }
  return tensors;
}

}  // namespace ulp::io
