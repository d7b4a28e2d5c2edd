#include "transactions.hpp"

#include <array>
#include <charconv>
#include <exception>

#include <ulp/io/bytes/error.hpp>

#include "checksum.hpp"
#include "schema.hpp"

namespace ulp::io {
namespace {

constexpr std::string_view key = "binding";
constexpr std::size_t id_size = 32;
constexpr std::string_view hex = "0123456789abcdef";

// The number of pages at which SQLite takes a log in by itself (SQLITE_DEFAULT_WAL_AUTOCHECKPOINT).
constexpr int most_pages = 1000;

std::string new_id() {
  std::array<unsigned char, id_size / 2> bytes{};
  sqlite3_randomness(static_cast<int>(bytes.size()), bytes.data());
  std::string id;
  for (const unsigned char byte : bytes) id += {hex[byte >> 4], hex[byte & 15]};
  return id;
}

}  // namespace

std::optional<binding> binding_of(const database& db) {
  if (db.number("SELECT count(*) FROM sqlite_schema") == 0) return std::nullopt;
  const auto damaged = [&](const std::string& what) { return input_error(db.path(), "header", "'binding' " + what); };
  try {
    statement s(db, ("SELECT key, value, " + crc_column(db) + " FROM meta WHERE key=?").c_str());
    if (!s.bind(key).row()) return std::nullopt;
    check_row(db, s, meta_row, 1);
    const std::string_view text = s.text_at(1);
    const std::string_view id = text.substr(0, id_size);
    const std::string_view rest = text.substr(id.size());
    binding found{.id = std::string{id}};
    const char* const end = text.data() + text.size();
    if (id.find_first_not_of(hex) != std::string_view::npos || rest.size() < 2 || rest[0] != ' ' ||
        std::from_chars(rest.data() + 1, end, found.number).ptr != end)
      throw damaged("is malformed: the file is damaged");
    return found;
  } catch (const payload_error& problem) {
    throw damaged(std::string{"is unreadable: "} + problem.what());
  }
}

transactions::transactions(database& db) : db_(&db) {
  if (const auto found = binding_of(db))
    next_ = {.id = found->id, .number = found->number + 1};
  else
    next_.id = new_id();
  has_tables_ = db.number("SELECT count(*) FROM sqlite_schema") > 0;
  // Equal recordings are equal files: no drawn digits stay in them.
  db.run("PRAGMA secure_delete=FAST");
  statement mode(db, "PRAGMA journal_mode");
  has_log_ = mode.row() && mode.bytes(0) == "wal";
  mode.reset();
  // In place of SQLite's own, which would take the log in without a word.
  const auto count = [](void* self, sqlite3*, const char*, int pages) {
    static_cast<transactions*>(self)->pages_ = pages;
    return SQLITE_OK;
  };
  sqlite3_wal_hook(db.get(), count, this);
  if (has_log_) take_log_in();
}

void transactions::keep_by(journal how) {
  has_log_ = set_journal(*db_, how) == journal::write_ahead;
  if (has_log_)
    take_log_in();
  else
    changes_binding_ = true;
}

// As far as nobody reads what it would replace. A log that was taken in as a whole begins anew with the next transaction.
void transactions::take_log_in() {
  int all = 0;
  int taken = 0;
  const int result = sqlite3_wal_checkpoint_v2(db_->get(), nullptr, SQLITE_CHECKPOINT_PASSIVE, &all, &taken);
  changes_binding_ = result == SQLITE_OK && all == taken;
  if (changes_binding_) pages_ = 0;
}

void transactions::run(const std::function<void()>& work) {
  if (has_log_ && pages_ >= most_pages) take_log_in();
  const bool changes = changes_binding_;
  const auto bind = [&] { write_meta(*db_, key, next_.id + " " + std::to_string(next_.number)); };
  db_->run("BEGIN IMMEDIATE");
  try {
    if (changes && has_tables_) bind();  // first, so that every journal has it
    work();
    if (changes && !has_tables_) bind();
    db_->run("COMMIT");
  } catch (...) {
    sqlite3_exec(db_->get(), "ROLLBACK", nullptr, nullptr, nullptr);
    throw;
  }
  has_tables_ = true;
  if (!changes) return;
  ++next_.number;
  changes_binding_ = !has_log_;
}

bool transactions::end() {
  const auto unbind = [&] { db_->run("DELETE FROM meta WHERE key='binding'"); };
  if (!has_log_) unbind();
  if (sqlite3_exec(db_->get(), "PRAGMA journal_mode=DELETE", nullptr, nullptr, nullptr) != SQLITE_OK) {
    if ((sqlite3_errcode(db_->get()) & 0xFF) != SQLITE_BUSY) db_->fail("");
    db_->run("PRAGMA wal_checkpoint(PASSIVE)");
    return false;
  }
  if (has_log_) unbind();
  return true;
}

}  // namespace ulp::io
