#include "opening.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include <ulp/io/bytes/error.hpp>
#include <ulp/io/recording/check.hpp>

#include "database/companions.hpp"
#include "database/log_file.hpp"
#include "database/private_copy.hpp"
#include "lost_rows.hpp"
#include "output/locks.hpp"
#include "schema.hpp"
#include "transactions.hpp"

namespace ulp::io {
namespace {

// The first bytes of a database (https://www.sqlite.org/fileformat.html, 1.3), as they are in the file.
struct file_header {
  bool has_log = false;      // its changes are in a write-ahead log
  bool whole_pages = false;  // are what the file is made of
  std::uint32_t version = 0;
  std::uint32_t application = 0;
};

std::optional<file_header> header_of(const database& db) {
  sqlite3_file* file = nullptr;
  std::array<unsigned char, 100> bytes{};
  // By SQLite's own descriptor: closing another one would drop the locks that this process has on the file.
  if (sqlite3_file_control(db.get(), "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK || file == nullptr ||
      file->pMethods == nullptr || file->pMethods->xRead(file, bytes.data(), bytes.size(), 0) != SQLITE_OK)
    return std::nullopt;
  constexpr std::string_view magic{"SQLite format 3\0", 16};
  if (!std::ranges::equal(magic, std::span(bytes).first(magic.size()), {},
                          [](char c) { return static_cast<unsigned char>(c); }))
    return std::nullopt;
  const auto big_endian = [&](std::size_t at) {
    std::uint32_t n = 0;
    for (std::size_t i = at; i < at + 4; ++i) n = n << 8 | bytes[i];
    return n;
  };
  sqlite3_int64 size = 0;
  file->pMethods->xFileSize(file, &size);
  const int stated = bytes[16] << 8 | bytes[17];
  const int page = stated > 1 ? stated : 65536;
  return file_header{.has_log = bytes[19] == 2,
                     .whole_pages = size % page == 0,
                     .version = big_endian(60),
                     .application = big_endian(68)};
}

database opened(const std::string& path, const std::string& file, file_access how, bool alone = false) {
  return database({.shown = path, .file = file, .access = how, .alone = alone});
}

// With a log that nobody writes to, whose index is made in memory.
database opened_still(const std::string& path, const std::string& file) {
  database still = opened(path, file, file_access::reading_still);
  still.run("PRAGMA locking_mode=EXCLUSIVE");  // then SQLite makes it there
  sqlite3_db_config(still.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  return still;
}

// A recording as it lies there.
struct found {
  std::string file;  // without links
  unlocked_file before;
  database alone;  // the file without what lies beside it
  std::optional<file_header> header;
  bool is_ours = false;
  // Looked for where it is ours.
  companions beside;
  bool is_connected = false;  // somebody, to its log
  bool is_alive = false;      // its writer
};

using completeness = database::completeness;

completeness without_log(const std::optional<file_header>& header) {
  return header && header->has_log ? completeness::lacks_log : completeness::stopped;
}

// What is read of a log that nobody is connected to is nothing where somebody is by then.
template <typename Read>
auto read_still(const std::string& path, const std::string& file, Read read) {
  try {
    auto got = read();
    if (!is_connected(file)) return got;
  } catch (const input_error&) {
    if (!is_connected(file)) throw;
  }
  throw changed_error(path);
}

// What the log of a writer that is gone lacks.
completeness with_log_of(const std::string& path, const std::string& file) {
  switch (state_of_log(file + "-wal")) {
    case log_state::no_log:
      throw input_error(path, "",
                        "the file beside it is not a write-ahead log, or its beginning is damaged: move " + path +
                            "-wal away to read the recording without it");
    case log_state::empty:
    case log_state::cut: return completeness::cut_log;
    case log_state::damaged: return completeness::damaged_log;
    case log_state::whole: break;
  }
  return completeness::stopped;
}

// `appending`: the writer is who calls.
found look_at(const std::string& path, bool appending = false) {
  const std::string file = resolved(path);
  std::error_code unknown;
  const auto kind = std::filesystem::status(file, unknown).type();
  if (kind == std::filesystem::file_type::none) throw input_error(path, "", unknown.message());
  if (kind != std::filesystem::file_type::regular && kind != std::filesystem::file_type::not_found)
    throw input_error(path, "", "is not a regular file, as a recording must be");
  const unlocked_file before(file);
  found f{.file = file, .before = before, .alone = opened(path, file, file_access::reading, true)};
  f.alone.read_unlocked(before);
  f.header = header_of(f.alone);
  if (!f.header) return f;
  // The first step of version 1 was in the log as a whole, the header of ours with it.
  const bool begun = f.header->application == 0 && f.header->version == 0 && f.header->has_log;
  f.is_ours = f.header->application == application_id || begun;
  if (!f.is_ours) return f;
  f.beside = look_for_companions(path, file);
  const bool has_journal = f.beside.journal.value_or(0) > 0;
  f.is_connected = f.beside.log && is_connected(file);
  if (f.is_connected) refuse_cut_index(file);
  // A writer of version 1 has no lock to know it by.
  f.is_alive = !appending && (f.header->version < 2 ? f.is_connected : is_being_written(file));
  completeness complete = without_log(f.header);
  if (f.beside.log && f.header->has_log)
    complete = f.is_alive       ? completeness::whole
               : f.is_connected ? completeness::stopped
                                : read_still(path, file, [&] { return with_log_of(path, file); });
  f.alone.set_complete(complete);
  // One that holds nothing is left by a writer that had no room for more, or by a copy that failed.
  if (f.beside.log && !f.is_connected && *f.beside.log <= 32) f.beside.log.reset();
  // SQLite would read any log. A file says that it has one before it has, and until it has none.
  if (f.beside.log.value_or(0) > 0 && has_journal)
    throw input_error(path, "",
                      "has both a write-ahead log (-wal) and a journal (-journal) beside it, but a recording has only "
                      "one of them: move away the one that is not its own; keep both until you know which");
  if (f.beside.log.value_or(0) > 0 && !f.header->has_log)
    throw input_error(path, "",
                      "a write-ahead log lies beside it that is not its own, and would be read as a part of it: move " +
                          path + "-wal away");
  if (has_journal) refuse_super_journal(path, file);
  if (has_journal || f.beside.log) return f;
  if (!f.header->whole_pages)
    throw input_error(path, "end of file", "does not end with a whole page: the file was cut short; copy it again");
  return f;
}

// What can be read of what may be torn.
struct condition {
  bool is_recording = false;
  bool has_meta = false;  // what follows is known
  std::string name;       // run and rank
  bool is_closed = false;
  std::optional<binding> bound;
  std::int64_t last_row = 0;  // the number of the last step that was written; 0 where there is none
};

condition condition_of(database& db) {
  condition found;
  const auto look = [](const auto& at) {
    try {
      at();
    } catch (const payload_error&) {
    } catch (const input_error&) {
    }
  };
  look([&] {
    check_identity(db);
    found.is_recording = true;
  });
  if (!found.is_recording) return found;
  look([&] {
    statement name(db, "SELECT value FROM meta WHERE key IN ('run_id', 'rank') ORDER BY key");
    while (name.row()) found.name += std::string{name.text_at(0)} + '\n';
    found.is_closed = io::has_meta(db, closed_key);
    found.bound = binding_of(db);
    found.has_meta = true;
  });
  look([&] { found.last_row = db.number("SELECT max(rowid) FROM step"); });
  return found;
}

bool is_sound(const database& db) {
  try {
    statement s(db, "PRAGMA quick_check(1)");
    return s.row() && s.bytes(0) == "ok";
  } catch (const input_error&) {
    return false;
  }
}

// Whether two states are of one recording, and as near to each other as a file and what lies beside it can be, as far as they
// tell.
bool fit(const condition& older, const condition& newer) {
  if (!older.has_meta || !newer.has_meta) return true;
  if (older.name != newer.name) return false;
  if (!older.bound) return !newer.bound || newer.bound->number == 0;
  if (!newer.bound) return older.is_closed && newer.is_closed;
  return older.bound->id == newer.bound->id &&
         (newer.bound->number == older.bound->number || newer.bound->number == older.bound->number + 1);
}

// A log only adds to its recording.
void refuse_foreign_log(const std::string& path, database& alone, database& with_log) {
  alone.allow_torn();
  const condition own = condition_of(alone);
  const condition all = condition_of(with_log);
  if (!own.is_recording) return;  // so it is where a kill left the first step of version 1 in the log
  if (!all.is_recording || !fit(own, all) || own.last_row > all.last_row)
    throw input_error(path, "",
                      "the write-ahead log beside it belongs to another recording, or to this one at another time: "
                      "copy both again when no program is writing, or move " +
                          path + "-wal away to read the recording without it");
}

// A journal takes back one step that was in flight, or the beginning of a recording.
void refuse_foreign_journal(const std::string& path, database& alone, database& played_back) {
  const auto refuse = [&](const std::string& why) {
    throw input_error(path, "",
                      "the journal beside it " + why + ": move " + path +
                          "-journal away to read or append to the recording without it");
  };
  alone.allow_torn();
  const condition before = condition_of(alone);
  const condition after = condition_of(played_back);
  if (!before.is_recording) return;
  if (before.last_row > after.last_row + 1 || (before.last_row > 0 && !after.is_recording))
    refuse("belongs to another recording: it would remove " + std::to_string(before.last_row - after.last_row) +
           " steps");
  const bool is_beginning = !after.is_recording && (!before.bound || before.bound->number == 0);
  if (!is_beginning && !fit(after, before)) refuse("belongs to another recording, or to this one at another time");
  if (is_sound(alone) && !is_sound(played_back)) refuse("would damage it");
}

database with_journal(const std::string& path, found& f) {
  // A journal has each page once. It may be put there to fill the disk with copies.
  constexpr std::uint64_t more = 1 << 20;
  std::error_code unknown;
  if (*f.beside.journal > 2 * std::filesystem::file_size(f.file, unknown) + more)
    throw input_error(path, "", "the journal beside it is larger than its own can be: move " + path + "-journal away");
  const bool has_still_log = f.header->has_log && !f.is_connected;
  const database whole = has_still_log ? opened_still(path, f.file) : opened(path, f.file, file_access::reading);
  const bool is_hot = sqlite3_exec(whole.get(), "SELECT 1 FROM sqlite_schema", nullptr, nullptr, nullptr) != SQLITE_OK;
  if (is_hot && sqlite3_extended_errcode(whole.get()) != SQLITE_READONLY_ROLLBACK) whole.fail("");
  database copy = is_hot ? played_back(path, f.file) : snapshot(path, whole);
  if (is_hot) f.alone.refuse_change();
  if (is_hot) refuse_foreign_journal(path, f.alone, copy);
  if (is_hot)
    copy.set_complete(without_log(header_of(copy)));
  else if (!f.is_alive)
    copy.set_complete(f.alone.is_complete());
  return copy;
}

database with_log(const std::string& path, found& f) {
  if (f.is_connected) {
    database db = opened(path, f.file, file_access::reading);
    db.set_complete(f.alone.is_complete());
    return db;
  }
  return read_still(path, f.file, [&] {
    database still = opened_still(path, f.file);
    still.read_unlocked(f.before);
    refuse_foreign_log(path, f.alone, still);
    still.set_complete(f.alone.is_complete());
    return still;
  });
}

// The log stays until the file says that it was closed: else that is taken for a copy which lacks its log.
database opened_for_writing(const std::string& path, const std::string& file) {
  database db = opened(path, file, file_access::writing);
  sqlite3_db_config(db.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  return db;
}

database opened_for_reading(const std::string& path) {
  found f = look_at(path);
  if (!f.is_ours) return std::move(f.alone);
  if (f.beside.journal.value_or(0) > 0) return with_journal(path, f);
  if (f.beside.log && f.header->has_log) return with_log(path, f);
  // A living writer keeps its journal empty between steps.
  if (f.beside.journal && (f.header->version < 2 || f.is_alive))
    return snapshot(path, opened(path, f.file, file_access::reading));
  return std::move(f.alone);
}

// Before anything is added: by the journal beside it, or as it is.
void refuse_damage(const std::string& path, const found& f) {
  const bool has_journal = f.beside.journal.value_or(0) > 0;
  if (!has_journal && !f.is_ours) return;
  if (std::error_code unknown; !has_journal && std::filesystem::file_size(f.file, unknown) > checked_wholly)
    return refuse_lost_rows(open_for_reading(path));
  const recording_report left = check_recording(path, {.most = 2});
  const std::string known = what_is_missing(f.alone);
  for (const recording_problem& problem : left.problems)
    if (has_journal)
      throw input_error(path, "",
                        "the journal beside it would leave it damaged (" + problem.reason +
                            "): keep both; what can be read of them is copied by `ulp merge`, and appended to");
    else if (problem.reason != known)
      throw input_error(path, problem.place, problem.reason + ": nothing is appended (ulp check lists what is wrong)");
}

}  // namespace

database open_for_reading(const std::string& path) {
  return read_steadily([&] {
    const unlocked_file before(resolved(path));
    try {
      database db = opened_for_reading(path);
      check_identity(db);
      return db;
    } catch (const input_error&) {
      if (before.was_written()) throw changed_error(path);
      throw;
    }
  });
}

database open_for_appending(const std::string& path) {
  found f = look_at(path, true);
  if (f.beside.linked)
    throw input_error(path, "",
                      "one of the files beside it (-wal, -shm, -journal) has a second name, and would change under "
                      "that name, too: copy the recording, and append to the copy");
  const bool all_there = !f.is_ours || (!f.beside.log && f.beside.journal.value_or(0) == 0);
  if (all_there) check_identity(f.alone);
  if (f.header && f.header->version == 1)
    throw input_error(path, "header",
                      "has recording format 1, without checksums, which is read and no longer written: copy it by "
                      "`ulp merge OLD -o NEW`, and append to the copy");
  if (f.alone.is_complete() == completeness::damaged_log)
    throw input_error(path, "",
                      "its write-ahead log (FILE-wal) is damaged, and all steps behind the damage would be lost "
                      "forever: copy it by `ulp merge`, which keeps the steps before, and append to the copy");
  // SQLite takes in what lies beside it, forever: whoever would not read that does not append to it.
  if (!all_there) static_cast<void>(open_for_reading(path));
  if (f.beside.log && f.header && f.header->has_log) {
    f.alone.allow_torn();
    if (const condition own = condition_of(f.alone); own.is_recording && !own.has_meta)
      throw input_error(
          path, "",
          "is damaged where it names its write-ahead log (FILE-wal): copy it by `ulp merge`, and append to "
          "the copy");
  }
  struct stat file {};
  if (f.header && f.header->has_log && !f.beside.log && stat(f.file.c_str(), &file) == 0 && file.st_nlink > 1)
    throw input_error(
        path, "",
        "has a second name, and its write-ahead log may be beside that: append by that name, or copy the recording");
  refuse_damage(path, f);
  database db = opened_for_writing(path, f.file);
  check_identity(db);
  static_cast<void>(read_header(db));
  db.set_complete(f.beside.journal.value_or(0) > 0 ? without_log(header_of(db)) : f.alone.is_complete());
  return db;
}

database open_for_creating(const std::string& path) {
  for (const char* const suffix : {"-wal", "-journal", "-shm"})
    if (std::error_code ignored; std::filesystem::exists(std::filesystem::symlink_status(path + suffix, ignored)))
      throw input_error(path + suffix, "",
                        "exists without the recording that it was part of, and would be taken for a part of the new "
                        "one: remove it, or give another name");
  return opened_for_writing(path, resolved(path));
}

}  // namespace ulp::io
