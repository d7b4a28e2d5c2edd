// How SQLite keeps a recording whole while it is written: by a write-ahead log, where several processes of one machine
// share memory through the file system, else by a rollback journal.
#ifndef ULP_IO_DATABASE_JOURNAL_HPP
#define ULP_IO_DATABASE_JOURNAL_HPP

#include <cstdint>
#include <string>

#include "sqlite.hpp"

namespace ulp::io {

enum class journal : std::uint8_t {
  write_ahead,  // others read while it is written
  rollback      // no memory is shared, the file is locked all the time: others wait until it is closed
};

// By what statfs calls the type of a file system.
[[nodiscard]] journal journal_on(std::uint64_t file_system) noexcept;
// For a recording at this path, which need not exist.
[[nodiscard]] journal journal_at(const std::string& path) noexcept;

// Where a write-ahead log is refused the journal is a rollback journal. Returns which it is.
journal set_journal(database& db, journal how);

}  // namespace ulp::io

#endif
