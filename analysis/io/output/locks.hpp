// Locks by which processes tell each other that they write a recording. They go with the process, however it ends.
#ifndef ULP_IO_OUTPUT_LOCKS_HPP
#define ULP_IO_OUTPUT_LOCKS_HPP

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace ulp::io {

// The process that writes a recording locks this byte of it, by a lock of the open file description (fcntl(2), F_OFD_SETLK):
// SQLite's own locks, of the process, would be lost whenever any descriptor of the file is closed. Nothing reads or writes
// so far out, and SQLite locks other bytes, so readers do not notice.
inline constexpr off_t writers_byte = off_t{1} << 62;

// Held from before the first byte is written until after SQLite closed the file: to be destroyed after the database.
class writer_lock {
 public:
  enum class file : std::uint8_t { made, there };

  // made: the file is made, or is there, empty and our own. there: it is there. Throws input_error where that is not so, or
  // where another recorder, of this process or another, writes to it; in both cases nothing has changed.
  writer_lock(const std::string& path, file which);
  ~writer_lock();
  writer_lock(const writer_lock&) = delete;
  writer_lock& operator=(const writer_lock&) = delete;

  // Ends it; the rest stays known. SQLite has closed the file.
  void release();
  // Whether it was made here.
  [[nodiscard]] bool made() const { return made_; }
  // Whether `path` still is this file.
  [[nodiscard]] bool is(const std::string& path) const;

 private:
  void take(const std::string& path);
  [[noreturn]] void fail(const std::string& path, const std::string& reason);

  int descriptor_ = -1;
  bool made_ = false;
  bool listed_ = false;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

// Whether a writer_lock is held on the file, by this process or another.
[[nodiscard]] bool is_being_written(const std::string& resolved);

// Whether somebody has a lock on that byte of the file. Files that cannot be opened, and file systems without locks, have none.
[[nodiscard]] bool is_locked(const std::string& file, off_t byte);

}  // namespace ulp::io

#endif
