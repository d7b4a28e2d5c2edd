#include <cstdio>
#include <filesystem>
#include <map>

#include <ulp/io/recording.hpp>

#include "bounds.hpp"
#include "journal.hpp"
#include "level_writer.hpp"
#include "payload.hpp"
#include "readers/text.hpp"
#include "schema.hpp"
#include "sqlite.hpp"
#include "tables.hpp"
#include "totals.hpp"

namespace ulp {
namespace {

using io::database;
using io::statement;

}  // namespace

struct recording_writer::state {
  std::string path;
  bool created = false;
  bool was_there = false;  // as an empty file
  std::unique_ptr<database> db;
  std::unique_ptr<statement> insert_tensor;
  std::unique_ptr<statement> update_numel;
  std::unique_ptr<statement> insert_step;
  std::unique_ptr<statement> insert_total;
  std::unique_ptr<io::level_writer> levels;
  std::vector<tensor_info> tensors;              // in the file
  std::map<std::string, std::uint32_t> by_name;  // their ids

  std::uint32_t id_of(const tensor_info& t);
  std::vector<std::uint32_t> ids;  // of the row inserted last, and its totals
  std::vector<group_total> totals;
  void insert(const step& row, const std::vector<tensor_info>& from);
};

recording_writer::recording_writer(const std::string& path, mode how, const run_header& header)
    : state_(std::make_unique<state>()) {
  state& s = *state_;
  s.path = path;
  io::check_text(path, "header", "the run id", header.run_id);
  std::error_code ignored;
  const bool empty = !std::filesystem::exists(path, ignored) || std::filesystem::file_size(path, ignored) == 0;
  if (how == mode::create && !empty)
    throw input_error(path, "", "already exists: give another name, remove it, or add to it with --append");
  if (how == mode::append && empty) throw input_error(path, "", "does not exist or is empty: nothing to append to");
  s.created = how == mode::create;
  s.was_there = s.created && std::filesystem::exists(path, ignored);
  try {
    s.db = std::make_unique<database>(path, SQLITE_OPEN_READWRITE | (s.created ? SQLITE_OPEN_CREATE : 0));
    database& db = *s.db;
    if (!s.created) io::check_identity(db);
    if (s.created) db.run("PRAGMA page_size=8192");
    io::set_journal(db, io::journal_at(path));
    db.run("PRAGMA synchronous=NORMAL");
    if (s.created) {
      // In one transaction: who is killed here leaves a recording or nothing.
      db.run("BEGIN IMMEDIATE");
      db.run(("PRAGMA application_id=" + std::to_string(io::application_id)).c_str());
      db.run(("PRAGMA user_version=" + std::to_string(io::format_version)).c_str());
      db.run(io::schema_of_steps);
      statement insert(db, "INSERT INTO meta VALUES(?, ?)");
      for (const auto& [key, value] :
           std::initializer_list<std::pair<const char*, std::string>>{{"run_id", header.run_id},
                                                                      {"rank", std::to_string(header.rank)},
                                                                      {"world", std::to_string(header.world)},
                                                                      {"reduction", header.reduction},
                                                                      {"layout", header.layout}})
        insert.bind(std::string_view{key}, std::string_view{value}).row();
      db.run("COMMIT");
    } else {
      s.tensors = io::read_tensors(db);
      for (std::uint32_t id = 0; id < s.tensors.size(); ++id) s.by_name[s.tensors[id].name] = id;
    }
    s.insert_tensor = std::make_unique<statement>(db, "INSERT INTO tensor VALUES(?,?,?,?,?,?,?)");
    s.update_numel = std::make_unique<statement>(db, "UPDATE tensor SET numel=0 WHERE id=?");
    s.insert_step = std::make_unique<statement>(db, "INSERT INTO step VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)");
    s.insert_total = std::make_unique<statement>(db, "INSERT INTO total VALUES(?,?,?,?,?,?,?,?)");
    s.levels = std::make_unique<io::level_writer>(db);
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

// The id in the file; a tensor that is new there is added.
std::uint32_t recording_writer::state::id_of(const tensor_info& t) {
  const auto known = by_name.find(t.name);
  if (known == by_name.end()) {
    const auto id = static_cast<std::uint32_t>(tensors.size());
    insert_tensor
        ->bind(std::int64_t{id}, std::string_view{t.name}, to_string(t.kind), to_string(t.role),
               std::string_view{t.through}, std::string_view{io::join(t.shape)}, static_cast<std::int64_t>(t.numel))
        .row();
    tensors.push_back(t);
    by_name[t.name] = id;
    return id;
  }
  tensor_info& old = tensors[known->second];
  if (old.kind != t.kind || old.role != t.role || old.through != t.through || old.shape != t.shape)
    throw input_error(path, "tensor '" + t.name + "'", "has another kind, role or shape in the recording");
  if (old.numel != t.numel && old.numel != 0) {  // its size varies
    old.numel = 0;
    update_numel->bind(std::int64_t{known->second}).row();
  }
  return known->second;
}

void recording_writer::state::insert(const step& row, const std::vector<tensor_info>& from) {
  io::table_blobs tables;
  io::total_merger merged;
  ids.clear();
  for (const tensor_row& t : row.tensors) {
    const tensor_info& info = from[t.tensor];
    ids.push_back(id_of(info));
    tables.append(t, ids.back());
    merged.add(info.kind, info.role, t.factor, t.table);
  }
  if (tables.payload.size() > io::payload_limit)
    throw input_error(path, io::describe(row.key), "its tables are larger than a recording holds in one step");
  const step_scalars& x = row.scalars;
  const auto insert_with = [&](const auto& max_abs) {
    insert_step
        ->bind(row.key.step, std::int64_t{row.key.attempt}, std::int64_t{row.key.microbatch},
               std::string_view{io::join(row.ranks)}, x.loss, x.grad_norm, x.learning_rate, x.loss_scale, x.found_inf,
               x.applied, max_abs, statement::blob{tables.summary}, statement::blob{io::compress(tables.payload)})
        .row();
  };
  if (row.bounds && !row.max_abs)
    insert_with(std::string_view{io::to_text(*row.bounds)});
  else
    insert_with(row.max_abs);
  totals = merged.take();
  for (const group_total& total : totals) {
    const io::total_blobs blobs(total);
    insert_total
        ->bind(row.key.step, std::int64_t{row.key.attempt}, std::int64_t{row.key.microbatch}, to_string(total.kind),
               to_string(total.role), static_cast<std::int64_t>(total.tensors), statement::blob{blobs.summary},
               statement::blob{blobs.cells})
        .row();
  }
}

void recording_writer::write(const step& row, const std::vector<tensor_info>& tensors) {
  state& s = *state_;
  const std::size_t in_file = s.tensors.size();
  s.db->run("BEGIN IMMEDIATE");
  try {
    s.insert(row, tensors);
    s.db->run("COMMIT");
  } catch (const std::exception&) {
    const bool duplicate = sqlite3_extended_errcode(s.db->get()) == SQLITE_CONSTRAINT_PRIMARYKEY;
    sqlite3_exec(s.db->get(), "ROLLBACK", nullptr, nullptr, nullptr);
    for (; s.tensors.size() > in_file; s.tensors.pop_back()) s.by_name.erase(s.tensors.back().name);
    if (duplicate) throw input_error(s.path, io::describe(row.key), "is in the recording already");
    throw;
  }
  s.levels->add(row, s.ids, s.tensors.size(), s.totals);
}

void recording_writer::close() {
  if (!state_ || !state_->db) return;
  state& s = *state_;
  if (s.levels) s.levels->finish();
  s.levels.reset();
  s.insert_tensor.reset();
  s.update_numel.reset();
  s.insert_step.reset();
  s.insert_total.reset();
  const std::unique_ptr<database> db = std::move(s.db);
  db->run("PRAGMA wal_checkpoint(TRUNCATE)");
  db->run("PRAGMA journal_mode=DELETE");
}

void recording_writer::discard() noexcept {
  if (!state_) return;
  if (state_->created) state_->levels.reset();  // for nothing, where the file goes
  try {
    close();
  } catch (...) {  // removed below, or left as it is
  }
  if (!state_->created) return;
  std::error_code ignored;
  if (state_->was_there) std::filesystem::resize_file(state_->path, 0, ignored);
  for (const char* const suffix : {"", "-wal", "-shm", "-journal"})
    if (*suffix != '\0' || !state_->was_there) std::remove((state_->path + suffix).c_str());
}

}  // namespace ulp
