#include "guarded_files.hpp"

#include <sqlite3.h>

#include <stdexcept>

namespace ulp::io {
namespace {

template <file_access How>
sqlite3_vfs* base() {
  static sqlite3_vfs* const found = sqlite3_vfs_find(How == file_access::reading_still ? "unix-none" : nullptr);
  return found;
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
  return base<How>()->xOpen(base<How>(), name, file, flags, got);
}

int delete_nothing(sqlite3_vfs* /*self*/, const char* /*name*/, int /*sync_folder*/) { return SQLITE_IOERR_DELETE; }

template <file_access How>
const char* registered(const char* name) {
  static sqlite3_vfs own{};
  static const bool done = [name] {
    if (base<How>() == nullptr) return false;
    own = *base<How>();
    own.pNext = nullptr;
    own.zName = name;
    own.xOpen = open_file<How>;
    if (How != file_access::writing) own.xDelete = delete_nothing;
    return sqlite3_vfs_register(&own, 0) == SQLITE_OK;
  }();
  if (!done) throw std::runtime_error("SQLite has no file system of Unix here");
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
