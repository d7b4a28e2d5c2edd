#include "guarded_files.hpp"

#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <stdexcept>

namespace ulp::io {
namespace {

template <file_access How>
sqlite3_vfs* base() {
  static sqlite3_vfs* const found = sqlite3_vfs_find(How == file_access::reading_still ? "unix-none" : nullptr);
  return found;
}

thread_local bool is_reading = false;

// SQLite gives what lies beside a database to its owner where the superuser opens it: for reading too, and whatever it was. It is
// given what is new and empty.
int give_new_files(int descriptor, uid_t user, gid_t group) {
  struct stat found {};
  if (is_reading || fstat(descriptor, &found) != 0 || found.st_size > 0 || found.st_nlink > 1) return 0;
  return fchown(descriptor, user, group);
}

template <file_access How>
int open_file(sqlite3_vfs* /*self*/, const char* name, sqlite3_file* file, int flags, int* got) {
  file->pMethods = nullptr;  // says that it is not open
  if ((flags & SQLITE_OPEN_SUPER_JOURNAL) != 0) return SQLITE_CANTOPEN;
  if constexpr (How != file_access::writing) {
    constexpr int known = SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_WAL;
    if ((flags & known) == 0) return SQLITE_CANTOPEN;
    flags &= ~(SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_EXCLUSIVE | SQLITE_OPEN_DELETEONCLOSE);
    flags |= SQLITE_OPEN_READONLY;
  }
  is_reading = How != file_access::writing;
  const int result = base<How>()->xOpen(base<How>(), name, file, flags, got);
  is_reading = false;
  return result;
}

int delete_nothing(sqlite3_vfs* /*self*/, const char* /*name*/, int /*sync_folder*/) { return SQLITE_IOERR_DELETE; }

template <file_access How>
const char* registered(const char* name) {
  static sqlite3_vfs own{};
  static const bool done = [name] {
    if (base<How>() == nullptr) return false;
    const auto chown = reinterpret_cast<sqlite3_syscall_ptr>(give_new_files);
    if (base<How>()->xSetSystemCall(base<How>(), "fchown", chown) != SQLITE_OK) return false;
    own = *base<How>();
    own.pNext = nullptr;
    own.zName = name;
    own.xOpen = open_file<How>;
    if (How != file_access::writing) own.xDelete = delete_nothing;
    return sqlite3_vfs_register(&own, 0) == SQLITE_OK;
  }();
  if (!done) throw std::runtime_error("SQLite has no Unix file system here");
  return name;
}

}  // namespace

const char* file_system_for(file_access how) {
  switch (how) {
    case file_access::reading: return registered<file_access::reading>("ulp-reading");
    case file_access::reading_still: return registered<file_access::reading_still>("ulp-reading-still");
    case file_access::writing: break;
  }
  return registered<file_access::writing>("ulp-writing");
}

}  // namespace ulp::io
