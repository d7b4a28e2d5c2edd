// The files that SQLite takes for parts of a database because of their names. Who may write into the folder of a recording
// can put them there, so none of them is believed without a look.
#ifndef ULP_IO_DATABASE_COMPANIONS_HPP
#define ULP_IO_DATABASE_COMPANIONS_HPP

#include <cstdint>
#include <optional>
#include <string>

namespace ulp::io {

struct companions {
  std::optional<std::uint64_t> log;      // FILE-wal: its size
  std::optional<std::uint64_t> journal;  // FILE-journal
  bool linked = false;                   // one of them, or FILE-shm, has another name too
};

// The name without symbolic links, which is what SQLite puts these names after. Of a file that is not there, the name given.
[[nodiscard]] std::string resolved(const std::string& path);

// Throws input_error where `path` is no regular file, where one of these is none, or where one belongs to somebody else: not
// to the owner of the recording, the superuser or who runs this.
[[nodiscard]] companions look_for_companions(const std::string& path, const std::string& resolved);

// Refuses a rollback journal that names a super-journal: SQLite would delete the file of that name. Recordings are single
// databases, whose journals name none. Throws input_error. Reads the end of the journal (https://www.sqlite.org/fileformat.html
// has its head; the end is written by writeSuperJournal, src/pager.c).
void refuse_super_journal(const std::string& shown, const std::string& resolved);

// Whether some process is connected to the database by its shared memory: each holds a lock on byte 128 of it
// (https://www.sqlite.org/walformat.html#wal_locks calls those before; UNIX_SHM_DMS, src/os_unix.c).
[[nodiscard]] bool is_connected(const std::string& resolved);

// Refuses the index of a log that somebody is connected to where it is cut short: SQLite would find none of the log's steps
// by it. It grows in pieces of 32 KiB (WALINDEX_PGSZ, src/wal.c), each in a moment that is waited for. Throws input_error.
void refuse_cut_index(const std::string& resolved);

}  // namespace ulp::io

#endif
