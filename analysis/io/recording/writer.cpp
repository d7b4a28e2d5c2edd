#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <thread>

#include <ulp/io/encoding/block_content.hpp>
#include <ulp/io/encoding/joint_content.hpp>
#include <ulp/io/recording/recording.hpp>

#include "bytes/text.hpp"
#include "checksum.hpp"
#include "database/journal.hpp"
#include "database/sqlite.hpp"
#include "encoding/bounds.hpp"
#include "encoding/payload.hpp"
#include "encoding/tables.hpp"
#include "level_writer.hpp"
#include "opening.hpp"
#include "output/locks.hpp"
#include "schema.hpp"
#include "totals.hpp"
#include "transactions.hpp"

namespace ulp {
namespace {

using io::database;
using io::statement;

}  // namespace

struct recording_writer::state {
  state(const std::string& name, mode how)
      : path(name), lock(name, how == mode::create ? io::writer_lock::file::made : io::writer_lock::file::there) {}

  std::string path;
  // Outlives the database.
  io::writer_lock lock;
  bool created = false;  // the database
  bool begun = false;    // to write: it is to be closed
  std::unique_ptr<io::transactions> commits;
  std::unique_ptr<database> db;
  std::unique_ptr<statement> insert_tensor;
  std::unique_ptr<statement> insert_step;
  std::unique_ptr<statement> insert_total;
  std::unique_ptr<io::level_writer> levels;
  std::vector<tensor_info> tensors;              // in the file
  std::map<std::string, std::uint32_t> by_name;  // their ids

  void create(const run_header& header);
  void reopen(const run_header& more);
  bool finish();
  void put(const tensor_info& t, std::uint32_t id);
  std::uint32_t id_of(const tensor_info& t);
  std::vector<std::uint32_t> ids;  // of the row inserted last, and its totals
  std::vector<group_total> totals;
  void insert(const step& row, const std::vector<tensor_info>& from);
  void insert(const step_key& of, const std::vector<joint_row>& joints);
  void insert_blocks(const step& row);
};

// In one transaction, with a rollback journal, so that the file itself says what it is: who is killed here leaves a recording
// or nothing.
void recording_writer::state::create(const run_header& header) {
  db->run("PRAGMA page_size=8192");
  commits->run([&] {
    db->run(("PRAGMA application_id=" + std::to_string(io::application_id)).c_str());
    db->run(("PRAGMA user_version=" + std::to_string(io::format_version)).c_str());
    db->run(io::schema);
    for (const auto& [key, value] :
         std::initializer_list<std::pair<const char*, std::string>>{{"run_id", header.run_id},
                                                                    {"rank", std::to_string(header.rank)},
                                                                    {"world", std::to_string(header.world)},
                                                                    {"reduction", header.reduction},
                                                                    {"layout", header.layout}})
      io::write_meta(*db, key, value);
    if (header.incomplete) io::write_meta(*db, io::incomplete_key, "1");
  });
  db->set_version(io::format_version);
  begun = true;
}

// Before a log is there: a copy without the log is then known to lack it.
void recording_writer::state::reopen(const run_header& more) {
  using completeness = database::completeness;
  const completeness was = db->is_complete();
  const bool lost_log = was == completeness::lacks_log || was == completeness::cut_log;
  commits->run([&] {
    if (more.incomplete || (lost_log && !io::has_meta(*db, io::closed_key)))  // else nobody could tell any more
      io::write_meta(*db, io::incomplete_key, "1");
    db->run(("DELETE FROM meta WHERE key='" + std::string{io::closed_key} + "'").c_str());
  });
  begun = true;
}

recording_writer::recording_writer(const std::string& path, mode how, const run_header& header) {
  io::check_text(path, "header", "the run id", header.run_id);
  if (path.empty() || path == "-") throw input_error("'" + path + "'", "", "is not a valid recording name");
  state_ = std::make_unique<state>(path, how);
  state& s = *state_;
  try {
    if (how == mode::create) {
      s.db = std::make_unique<database>(io::open_for_creating(path));
      s.created = true;
      s.commits = std::make_unique<io::transactions>(*s.db);
      s.create(header);
    } else {
      s.db = std::make_unique<database>(io::open_for_appending(path));
      s.tensors = io::read_tensors(*s.db);
      for (std::uint32_t id = 0; id < s.tensors.size(); ++id) s.by_name[s.tensors[id].name] = id;
      s.commits = std::make_unique<io::transactions>(*s.db);
      s.reopen(header);
    }
    database& db = *s.db;
    s.commits->keep_by(io::journal_at(path));
    s.commits->run([] {});  // an empty log would look like one that was lost
    db.run("PRAGMA synchronous=NORMAL");
    s.insert_tensor = std::make_unique<statement>(db, "INSERT OR REPLACE INTO tensor VALUES(?,?,?,?,?,?,?,?)");
    s.insert_step = std::make_unique<statement>(db, "INSERT INTO step VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
    s.insert_total = std::make_unique<statement>(db, "INSERT INTO total VALUES(?,?,?,?,?,?,?,?,?)");
    s.levels = std::make_unique<io::level_writer>(db, *s.commits);
  } catch (...) {
    discard();
    throw;
  }
}

recording_writer::~recording_writer() {
  try {
    close();
  } catch (...) {  // the file is a valid recording all the same
  }
}

void recording_writer::state::put(const tensor_info& t, std::uint32_t id) {
  io::insert_row(*insert_tensor, io::tensor_row_parts, std::int64_t{id}, std::string_view{t.name}, to_string(t.kind),
                 to_string(t.role), std::string_view{t.through}, std::string_view{io::join(t.shape)},
                 static_cast<std::int64_t>(t.numel));
}

// The id in the file; a tensor that is new there is added.
std::uint32_t recording_writer::state::id_of(const tensor_info& t) {
  const auto known = by_name.find(t.name);
  if (known == by_name.end()) {
    const auto id = static_cast<std::uint32_t>(tensors.size());
    put(t, id);
    tensors.push_back(t);
    by_name[t.name] = id;
    return id;
  }
  tensor_info& old = tensors[known->second];
  if (old.kind != t.kind || old.role != t.role || old.through != t.through || old.shape != t.shape)
    throw input_error(path, "tensor '" + t.name + "'", "has another kind, role or shape in the recording");
  if (old.numel != t.numel && old.numel != 0) {  // its size varies
    old.numel = 0;
    put(old, known->second);
  }
  return known->second;
}

void recording_writer::state::insert(const step& row, const std::vector<tensor_info>& from) {
  if (!io::may_be_step(row.key.step))
    throw input_error(path, io::describe(row.key), "is outside the range of step numbers");
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
  const std::int64_t attempt = row.key.attempt;
  const std::int64_t microbatch = row.key.microbatch;
  const auto insert_with = [&](const auto& max_abs) {
    io::insert_row(*insert_step, io::step_row, row.key.step, attempt, microbatch, std::string_view{io::join(row.ranks)},
                   x.loss, x.grad_norm, x.learning_rate, x.loss_scale, x.found_inf, x.applied, max_abs,
                   statement::blob{tables.summary}, statement::blob{io::compress(tables.payload)});
  };
  if (row.bounds && !row.max_abs)
    insert_with(std::string_view{io::to_text(*row.bounds)});
  else
    insert_with(row.max_abs);
  totals = merged.take();
  for (const group_total& total : totals) {
    const io::total_blobs blobs(total);
    io::insert_row(*insert_total, io::total_row, row.key.step, attempt, microbatch, to_string(total.kind),
                   to_string(total.role), static_cast<std::int64_t>(total.tensors), statement::blob{blobs.summary},
                   statement::blob{blobs.cells});
  }
}

// The table is there from the first of them on.
void recording_writer::state::insert(const step_key& of, const std::vector<joint_row>& joints) {
  if (joints.empty()) return;
  if (!io::has_extra(*db)) db->run(io::extra_schema);
  statement insert_extra(*db, "INSERT INTO extra VALUES(?,?,?,?,?,?,?)");
  for (const joint_row& joint : joints) {
    const auto at = by_name.find(joint.tensor);
    if (at == by_name.end() || std::ranges::find(ids, at->second) == ids.end())
      throw input_error(path, io::describe(of), "has updates of '" + joint.tensor + "', but not its weights");
    io::insert_row(insert_extra, io::extra_row, of.step, std::int64_t{of.attempt}, std::int64_t{of.microbatch},
                   std::int64_t{at->second}, std::string_view{"joint"}, statement::blob{joint_content(joint)});
  }
}

// Of the row inserted last.
void recording_writer::state::insert_blocks(const step& row) {
  if (std::ranges::all_of(row.tensors, [](const tensor_row& t) { return t.blocks == nullptr; })) return;
  if (!io::has_extra(*db)) db->run(io::extra_schema);
  statement insert_extra(*db, "INSERT INTO extra VALUES(?,?,?,?,?,?,?)");
  for (std::size_t i = 0; i < ids.size(); ++i)
    if (const auto& blocks = row.tensors[i].blocks; blocks != nullptr)
      io::insert_row(insert_extra, io::extra_row, row.key.step, std::int64_t{row.key.attempt},
                     std::int64_t{row.key.microbatch}, std::int64_t{ids[i]}, std::string_view{"blocks"},
                     statement::blob{block_content(*blocks)});
}

void recording_writer::write(const step& row, const std::vector<tensor_info>& tensors) { write(row, tensors, {}); }

void recording_writer::write(const step& row, const std::vector<tensor_info>& tensors,
                             const std::vector<joint_row>& joints) {
  state& s = *state_;
  const std::size_t in_file = s.tensors.size();
  try {
    s.commits->run([&] {
      try {
        s.insert(row, tensors);
        s.insert(row.key, joints);
        s.insert_blocks(row);
      } catch (const std::exception&) {
        if (sqlite3_extended_errcode(s.db->get()) != SQLITE_CONSTRAINT_PRIMARYKEY) throw;
        throw input_error(s.path, io::describe(row.key), "is in the recording already");
      }
    });
  } catch (const std::exception&) {
    for (; s.tensors.size() > in_file; s.tensors.pop_back()) s.by_name.erase(s.tensors.back().name);
    throw;
  }
  s.levels->add(row, s.ids, s.tensors.size(), s.totals);
}

// Whether the file is all there is.
bool recording_writer::state::finish() {
  if (!db) return true;
  if (levels) levels->finish();
  levels.reset();
  insert_tensor.reset();
  insert_step.reset();
  insert_total.reset();
  const std::unique_ptr<database> last = std::move(db);
  if (!begun) return true;
  commits->run([&] { io::write_meta(*last, io::closed_key, "1"); });
  sqlite3_db_config(last->get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, nullptr);
  constexpr int patience = 2000;  // milliseconds
  sqlite3_busy_timeout(last->get(), patience);
  // SQLite does not wait where a connection leaves its log: a reader that looks in again and again is waited out here.
  constexpr int pause = 5;
  for (int waited = 0; !commits->end(); waited += pause) {
    if (waited >= patience) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(pause));
  }
  return true;
}

bool recording_writer::close() {
  if (!state_) return true;
  const bool alone = state_->finish();
  state_->lock.release();
  return alone;
}

void recording_writer::discard() noexcept {
  if (!state_) return;
  state& s = *state_;
  if (s.created) s.levels.reset();  // for nothing, where the file goes
  try {
    s.finish();
  } catch (...) {  // removed below, or left as it is
  }
  // What lies there now may be another file.
  if ((s.created || s.lock.made()) && s.lock.is(s.path)) {
    if (s.created)
      for (const char* const suffix : {"-wal", "-shm", "-journal"}) std::remove((s.path + suffix).c_str());
    std::error_code ignored;
    if (s.lock.made())
      std::remove(s.path.c_str());
    else  // as an empty file
      std::filesystem::resize_file(s.path, 0, ignored);
  }
  s.lock.release();
}

}  // namespace ulp
