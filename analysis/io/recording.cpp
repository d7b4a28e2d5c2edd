#include <ulp/io/recording.hpp>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <tuple>

#include "payload.hpp"
#include "sqlite.hpp"

namespace ulp {
namespace {

using io::database;
using io::statement;

constexpr std::int64_t application_id = 0x756C7072;  // "ulpr"
constexpr std::int64_t format_version = 1;

constexpr const char* schema = R"sql(
  CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE tensor(
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, role TEXT NOT NULL, through TEXT NOT NULL,
    shape TEXT NOT NULL, numel INTEGER NOT NULL);
  CREATE TABLE step(
    step INTEGER NOT NULL, attempt INTEGER NOT NULL, microbatch INTEGER NOT NULL, ranks TEXT NOT NULL,
    loss REAL, grad_norm REAL, lr REAL, loss_scale REAL, found_inf INTEGER, applied INTEGER, max_abs REAL,
    summary BLOB NOT NULL, cells BLOB NOT NULL, PRIMARY KEY(step, attempt, microbatch));
  CREATE TABLE total(
    step INTEGER NOT NULL, attempt INTEGER NOT NULL, microbatch INTEGER NOT NULL,
    kind TEXT NOT NULL, role TEXT NOT NULL, tensors INTEGER NOT NULL, summary BLOB NOT NULL, cells BLOB NOT NULL);
  CREATE INDEX total_key ON total(step, attempt, microbatch);
)sql";

// "3,4,5"; empty for none.
template <typename Number>
std::string join(const std::vector<Number>& numbers) {
  std::string text;
  for (const Number n : numbers) text += (text.empty() ? "" : ",") + std::to_string(n);
  return text;
}

template <typename Number>
std::vector<Number> split(std::string_view text) {
  std::vector<Number> numbers;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view item = text.substr(0, comma);
    Number n{};
    const auto [end, error] = std::from_chars(item.data(), item.data() + item.size(), n);
    if (error != std::errc{} || end != item.data() + item.size()) throw io::payload_error("a list that is none");
    numbers.push_back(n);
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
  }
  return numbers;
}

std::string describe(const step_key& key) {
  std::string text = "step " + std::to_string(key.step);
  if (key.attempt != 0) text += " attempt " + std::to_string(key.attempt);
  if (key.microbatch != -1) text += " microbatch " + std::to_string(key.microbatch);
  return text;
}

// Refuses what is no recording of ours before any of its content is used.
void check_identity(database& db) {
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

// The tables of a step merged by (kind, role, factor), in that order; unknown factors first.
std::vector<step_total> totals_of(const step& row, const std::vector<tensor_info>& tensors) {
  std::map<std::tuple<tensor_kind, tensor_role, bool, double>, step_total> groups;
  for (const tensor_row& t : row.tensors) {
    const tensor_info& info = tensors[t.tensor];
    const bool known = !std::isnan(t.factor);
    step_total& total = groups[{info.kind, info.role, known, known ? t.factor : 0}];
    total.kind = info.kind;
    total.role = info.role;
    total.factor = t.factor;
    ++total.tensors;
    if (total.tensors == 1)
      total.table = t.table;
    else
      total.table.merge(t.table);
  }
  std::vector<step_total> all;
  for (auto& [key, total] : groups) {
    total.key = row.key;
    all.push_back(std::move(total));
  }
  return all;
}

}  // namespace

struct recording_writer::state {
  std::string path;
  bool created = false;
  std::unique_ptr<database> db;
  std::unique_ptr<statement> insert_tensor;
  std::unique_ptr<statement> insert_step;
  std::unique_ptr<statement> insert_total;
  std::vector<tensor_info> tensors;             // in the file
  std::map<std::string, std::uint32_t> by_name;  // their ids
  std::vector<std::uint32_t> ids;               // id in the file of each tensor of the source

  void learn(const std::vector<tensor_info>& from);
  void insert(const step& row, const std::vector<tensor_info>& from);
};

recording_writer::recording_writer(const std::string& path, mode how, const run_header& header)
    : state_(std::make_unique<state>()) {
  state& s = *state_;
  s.path = path;
  std::error_code ignored;
  const bool empty = !std::filesystem::exists(path, ignored) || std::filesystem::file_size(path, ignored) == 0;
  if (how == mode::create && !empty)
    throw input_error(path, "", "already exists: give another name, remove it, or add to it with --append");
  if (how == mode::append && empty) throw input_error(path, "", "does not exist or is empty: nothing to append to");
  s.created = how == mode::create;
  try {
    s.db = std::make_unique<database>(path, SQLITE_OPEN_READWRITE | (s.created ? SQLITE_OPEN_CREATE : 0));
    database& db = *s.db;
    if (!s.created) check_identity(db);
    if (s.created) {
      db.run("PRAGMA page_size=8192");
      db.run(("PRAGMA application_id=" + std::to_string(application_id)).c_str());
      db.run(("PRAGMA user_version=" + std::to_string(format_version)).c_str());
    }
    // Where a write-ahead log is not possible SQLite keeps its rollback journal: slower, as safe.
    db.run("PRAGMA journal_mode=WAL");
    db.run("PRAGMA synchronous=NORMAL");
    if (s.created) {
      db.run("BEGIN IMMEDIATE");
      db.run(schema);
      statement insert(db, "INSERT INTO meta VALUES(?, ?)");
      for (const auto& [key, value] : std::initializer_list<std::pair<const char*, std::string>>{
               {"run_id", header.run_id},
               {"rank", std::to_string(header.rank)},
               {"world", std::to_string(header.world)},
               {"reduction", header.reduction},
               {"layout", header.layout}})
        insert.bind(std::string_view{key}, std::string_view{value}).row();
      db.run("COMMIT");
    } else {
      s.tensors = read_tensors(db);
      for (std::uint32_t id = 0; id < s.tensors.size(); ++id) s.by_name[s.tensors[id].name] = id;
    }
    s.insert_tensor = std::make_unique<statement>(db, "INSERT INTO tensor VALUES(?,?,?,?,?,?,?)");
    s.insert_step = std::make_unique<statement>(db, "INSERT INTO step VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)");
    s.insert_total = std::make_unique<statement>(db, "INSERT INTO total VALUES(?,?,?,?,?,?,?,?)");
  } catch (...) {
    discard();
    throw;
  }
}

recording_writer::~recording_writer() {
  try {
    close();
  } catch (const input_error&) {  // the file is a valid recording all the same
  }
}

void recording_writer::state::learn(const std::vector<tensor_info>& from) {
  for (std::size_t i = ids.size(); i < from.size(); ++i) {
    const tensor_info& t = from[i];
    const auto known = by_name.find(t.name);
    if (known != by_name.end()) {
      const tensor_info& old = tensors[known->second];
      if (old.kind != t.kind || old.shape != t.shape)
        throw input_error(path, "tensor '" + t.name + "'", "has another kind or shape in the recording");
      ids.push_back(known->second);
      continue;
    }
    const auto id = static_cast<std::uint32_t>(tensors.size());
    insert_tensor
        ->bind(std::int64_t{id}, std::string_view{t.name}, to_string(t.kind), to_string(t.role),
               std::string_view{t.through}, std::string_view{join(t.shape)}, static_cast<std::int64_t>(t.numel))
        .row();
    tensors.push_back(t);
    by_name[t.name] = id;
    ids.push_back(id);
  }
}

void recording_writer::state::insert(const step& row, const std::vector<tensor_info>& from) {
  std::string summary;
  std::string payload;
  for (tensor_row t : row.tensors) {
    t.tensor = ids[t.tensor];
    io::append_summary(summary, t);
    io::append_payload(payload, t.table);
  }
  const step_scalars& x = row.scalars;
  insert_step
      ->bind(row.key.step, std::int64_t{row.key.attempt}, std::int64_t{row.key.microbatch},
             std::string_view{join(row.ranks)}, x.loss, x.grad_norm, x.learning_rate, x.loss_scale, x.found_inf,
             x.applied, row.max_abs, statement::blob{summary},
             statement::blob{io::compress(payload)})
      .row();
  for (const step_total& total : totals_of(row, from)) {
    std::string total_summary;
    std::string total_payload;
    tensor_row as_row;
    as_row.factor = total.factor;
    as_row.table = total.table;
    io::append_summary(total_summary, as_row);
    io::append_payload(total_payload, total.table);
    insert_total
        ->bind(row.key.step, std::int64_t{row.key.attempt}, std::int64_t{row.key.microbatch}, to_string(total.kind),
               to_string(total.role), static_cast<std::int64_t>(total.tensors), statement::blob{total_summary},
               statement::blob{io::compress(total_payload)})
        .row();
  }
}

void recording_writer::write(const step& row, const std::vector<tensor_info>& tensors) {
  state& s = *state_;
  const std::size_t in_file = s.tensors.size();
  const std::size_t mapped = s.ids.size();
  s.db->run("BEGIN IMMEDIATE");
  try {
    s.learn(tensors);
    s.insert(row, tensors);
    s.db->run("COMMIT");
  } catch (const std::exception&) {
    const bool duplicate = sqlite3_extended_errcode(s.db->get()) == SQLITE_CONSTRAINT_PRIMARYKEY;
    sqlite3_exec(s.db->get(), "ROLLBACK", nullptr, nullptr, nullptr);
    for (; s.tensors.size() > in_file; s.tensors.pop_back()) s.by_name.erase(s.tensors.back().name);
    s.ids.resize(mapped);
    if (duplicate) throw input_error(s.path, describe(row.key), "is in the recording already");
    throw;
  }
}

void recording_writer::close() {
  if (!state_ || !state_->db) return;
  state& s = *state_;
  s.insert_tensor.reset();
  s.insert_step.reset();
  s.insert_total.reset();
  const std::unique_ptr<database> db = std::move(s.db);
  db->run("PRAGMA wal_checkpoint(TRUNCATE)");
  db->run("PRAGMA journal_mode=DELETE");
}

void recording_writer::discard() noexcept {
  if (!state_) return;
  try {
    close();
  } catch (...) {  // removed below, or left as it is
  }
  if (state_->created)
    for (const char* const suffix : {"", "-wal", "-shm", "-journal"}) std::remove((state_->path + suffix).c_str());
}

namespace {

class recording final : public source {
 public:
  explicit recording(const std::string& path) : db_(path, SQLITE_OPEN_READONLY) {
    try {
      check_identity(db_);
      read_header();
      tensors_ = read_tensors(db_);
      statement count(db_, "SELECT count(*) FROM step");
      if (count.row()) count_ = static_cast<std::uint64_t>(count.integer(0));
      steps_ = std::make_unique<statement>(
          db_,
          "SELECT step, attempt, microbatch, ranks, loss, grad_norm, lr, loss_scale, found_inf, applied, max_abs, "
          "summary, cells FROM step ORDER BY step, attempt, microbatch");
    } catch (const io::payload_error& problem) {
      throw input_error(path, "", problem.what());
    }
  }

  [[nodiscard]] std::string description() const override { return "recording"; }
  [[nodiscard]] const std::vector<tensor_info>& tensors() const override { return tensors_; }
  [[nodiscard]] std::uint64_t step_count() const override { return count_; }
  [[nodiscard]] run_header header() const override { return header_; }

  [[nodiscard]] bool next(step& into) override {
    if (!steps_ || !steps_->row()) {
      steps_.reset();
      return false;
    }
    const statement& s = *steps_;
    into = {};
    into.key = {s.integer(0), static_cast<std::int32_t>(s.integer(1)), static_cast<std::int32_t>(s.integer(2))};
    try {
      into.ranks = split<std::uint32_t>(s.bytes(3));
      into.scalars = {s.real(4), s.real(5), s.real(6), s.real(7), s.flag(8), s.flag(9)};
      into.max_abs = s.optional_real(10);
      read_tables(into, s.bytes(11), s.bytes(12));
    } catch (const io::payload_error& problem) {
      throw input_error(db_.path(), describe(into.key), problem.what());
    }
    return true;
  }

 private:
  void read_header() {
    statement s(db_, "SELECT key, value FROM meta");
    while (s.row()) {
      const std::string_view key = s.bytes(0);
      const std::string_view value = s.bytes(1);
      const auto number = [&] {
        const auto one = split<std::uint32_t>(value);
        if (one.size() != 1) throw io::payload_error("'" + std::string{key} + "' in its header is no number");
        return one.front();
      };
      if (key == "run_id") header_.run_id = value;
      if (key == "rank") header_.rank = number();
      if (key == "world") header_.world = number();
      if (key == "reduction") header_.reduction = value;
      if (key == "layout") header_.layout = value;
    }
  }

  void read_tables(step& into, std::string_view summary, std::string_view cells) const {
    if (summary.size() % io::summary_size != 0) throw io::payload_error("its summary has a broken length");
    const std::size_t n = summary.size() / io::summary_size;
    if (n > tensors_.size()) throw io::payload_error("has more rows than there are tensors");
    const std::string payload = io::decompress(cells, n * io::payload_limit);
    std::string_view rest = payload;
    std::vector<bool> seen(tensors_.size());
    into.tensors.reserve(n);
    for (std::size_t i = 0; i < n; ++i) {
      tensor_row row = io::parse_summary(summary.substr(i * io::summary_size, io::summary_size));
      if (row.tensor >= tensors_.size() || seen[row.tensor]) throw io::payload_error("a tensor that is none, or twice");
      seen[row.tensor] = true;
      io::take_payload(rest, row.table);
      into.tensors.push_back(std::move(row));
    }
    if (!rest.empty()) throw io::payload_error("has bytes left over");
  }

  database db_;
  run_header header_;
  std::vector<tensor_info> tensors_;
  std::uint64_t count_ = 0;
  std::unique_ptr<statement> steps_;
};

}  // namespace

std::unique_ptr<source> open_recording(const std::string& path) { return std::make_unique<recording>(path); }

std::vector<step_total> read_totals(const std::string& path) {
  database db(path, SQLITE_OPEN_READONLY);
  check_identity(db);
  statement s(db,
              "SELECT step, attempt, microbatch, kind, role, tensors, summary, cells FROM total "
              "ORDER BY step, attempt, microbatch, rowid");
  std::vector<step_total> all;
  while (s.row()) {
    step_total total;
    total.key = {s.integer(0), static_cast<std::int32_t>(s.integer(1)), static_cast<std::int32_t>(s.integer(2))};
    try {
      const auto kind = parse_kind(s.bytes(3));
      const auto role = parse_role(s.bytes(4));
      if (!kind || !role || s.bytes(6).size() != io::summary_size) throw io::payload_error("a damaged total");
      total.kind = *kind;
      total.role = *role;
      total.tensors = static_cast<std::uint64_t>(s.integer(5));
      tensor_row row = io::parse_summary(s.bytes(6));
      total.factor = row.factor;
      total.table = std::move(row.table);
      const std::string payload = io::decompress(s.bytes(7), io::payload_limit);
      std::string_view rest = payload;
      io::take_payload(rest, total.table);
    } catch (const io::payload_error& problem) {
      throw input_error(path, describe(total.key) + " total", problem.what());
    }
    all.push_back(std::move(total));
  }
  return all;
}

std::string digest_of(source& from) {
  XXH3_state_t hash;
  XXH3_128bits_reset(&hash);
  const auto take = [&](std::string_view bytes) {
    const std::uint64_t size = bytes.size();
    for (int i = 0; i < 8; ++i) {
      const char byte = static_cast<char>(size >> (8 * i));
      XXH3_128bits_update(&hash, &byte, 1);
    }
    XXH3_128bits_update(&hash, bytes.data(), bytes.size());
  };
  step now;
  while (from.next(now)) {
    take(describe(now.key));
    const auto& tensors = from.tensors();
    std::sort(now.tensors.begin(), now.tensors.end(), [&](const tensor_row& a, const tensor_row& b) {
      return tensors[a.tensor].name < tensors[b.tensor].name;
    });
    for (tensor_row& row : now.tensors) {
      const tensor_info& info = tensors[row.tensor];
      take(info.name);
      take(to_string(info.kind));
      take(to_string(info.role));
      row.tensor = 0;
      std::string bytes;
      io::append_summary(bytes, row);
      io::append_payload(bytes, row.table);
      take(bytes);
    }
  }
  const XXH128_hash_t value = XXH3_128bits_digest(&hash);
  std::array<char, 33> text{};
  std::snprintf(text.data(), text.size(), "%016llx%016llx", static_cast<unsigned long long>(value.high64),
                static_cast<unsigned long long>(value.low64));
  return text.data();
}

}  // namespace ulp
