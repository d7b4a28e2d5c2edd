// How recordings are opened. Reading leaves no trace: nothing is created, written, locked against writers or deleted.
#ifndef ULP_IO_RECORDING_OPENING_HPP
#define ULP_IO_RECORDING_OPENING_HPP

#include <string>

#include "database/sqlite.hpp"

namespace ulp::io {

// Opens a recording for reading, by what lies beside it:
//
// - nothing: the file alone, without locks;
// - a write-ahead log and somebody who is connected: as SQLite's own, so that what is committed meanwhile is seen. Only then
//   is shared memory touched, which is there;
// - a log that a killed writer left: its index is made in memory;
// - a rollback journal that a killed writer left: a private copy, in which it is played back. One that names a super-journal
//   is refused;
// - a rollback journal of a living writer: a private copy too, since to read would keep it from writing.
//
// Private copies are made in the folder for temporary files and have no name any more when this returns. Identity, version
// and schema were checked: what is no recording of ours is refused before anything beside it is looked at, and what differs
// from ours in its schema before any of its rows is. Throws input_error.
[[nodiscard]] database open_for_reading(const std::string& path);

// Opens a recording that is there, for the holder of its writer_lock. The same is refused; recordings of version 1 too, which
// have no checksums. A killed writer's log or journal is taken in; closing leaves the log. Throws input_error.
[[nodiscard]] database open_for_appending(const std::string& path);

// Opens an empty file to make a recording of, for the holder of its writer_lock. Refused where something of another database lies
// beside it, which SQLite would take in. Throws input_error.
[[nodiscard]] database open_for_creating(const std::string& path);

}  // namespace ulp::io

#endif
