// What SQLite may do to files, whatever these say: its file system (https://www.sqlite.org/vfs.html) with what recordings do
// not need taken out.
#ifndef ULP_IO_DATABASE_GUARDED_FILES_HPP
#define ULP_IO_DATABASE_GUARDED_FILES_HPP

#include <cstdint>

namespace ulp::io {

enum class file_access : std::uint8_t {
  reading,        // opens what is there, to read it; creates, writes and deletes nothing
  reading_still,  // the same without locks and shared memory, of what nobody writes to
  writing         // no journal of several databases is opened: what such a one names is deleted
};

// The name under which SQLite knows it. Thread-safe.
[[nodiscard]] const char* file_system_for(file_access how);

}  // namespace ulp::io

#endif
