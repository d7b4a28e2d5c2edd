#include "locks.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include <ulp/io/bytes/error.hpp>

#include "bytes/open_failure.hpp"

namespace ulp::io {
namespace {

using identity = std::pair<dev_t, ino_t>;

std::mutex guard;
// What this process writes: to open such a file once more and close it would drop SQLite's locks.
std::set<identity> written;
// Descriptors of files whose locks were asked for. They stay open, since closing one drops SQLite's locks on the file.
std::map<identity, int> kept;

struct flock lock_of(off_t byte) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = 1;
  return lock;
}

}  // namespace

writer_lock::writer_lock(const std::string& path, file which) {
  struct stat state {};
  const std::lock_guard hold(guard);
  if (stat(path.c_str(), &state) == 0 && written.contains({state.st_dev, state.st_ino}))
    throw input_error(path, "", "is being written by this program: close that first, or give another name");
  constexpr int common = O_RDWR | O_CLOEXEC | O_NONBLOCK;
  constexpr mode_t of_files = 0666;
  if (which == file::made) {
    descriptor_ = open(path.c_str(), common | O_CREAT | O_EXCL | O_NOFOLLOW, of_files);
    made_ = descriptor_ >= 0;
    if (!made_ && errno == EEXIST) descriptor_ = open(path.c_str(), common | O_NOFOLLOW);
  } else {
    descriptor_ = open(path.c_str(), common);
  }
  if (descriptor_ < 0) {
    if (errno == ENOENT && which == file::there) fail(path, "does not exist or is empty: nothing to append to");
    if (errno == ELOOP) fail(path, "is a symbolic link: give the name of the file itself");
    fail(path, open_failure(errno));
  }
  if (fstat(descriptor_, &state) != 0) fail(path, std::strerror(errno));
  if (!S_ISREG(state.st_mode)) fail(path, "is not a regular file, as a recording must be");
  if (which == file::made && state.st_size > 0)
    fail(path, "already exists: give another name, remove it, or add to it with --append");
  // An empty file that somebody else put there may be readable by him, or be a name of another file.
  if (which == file::made && !made_ && (state.st_nlink > 1 || state.st_uid != geteuid()))
    fail(path,
         "exists as an empty file that belongs to another user or has a second name: remove it, or give another name");
  device_ = state.st_dev;
  inode_ = state.st_ino;
  take(path);
  struct stat named {};
  if (stat(path.c_str(), &named) != 0 || named.st_dev != device_ || named.st_ino != inode_)
    fail(path, "was replaced while it was opened: another program has that name; give another one");
  if (fstat(descriptor_, &state) != 0) fail(path, std::strerror(errno));
  if (which == file::made && state.st_size > 0)  // somebody was faster
    fail(path, "already exists: give another name, remove it, or add to it with --append");
  if (which == file::there && state.st_size == 0) fail(path, "does not exist or is empty: nothing to append to");
}

writer_lock::~writer_lock() { release(); }

void writer_lock::release() {
  const std::lock_guard hold(guard);
  if (listed_) written.erase({device_, inode_});
  struct flock lock = lock_of(writers_byte);
  lock.l_type = F_UNLCK;
  if (descriptor_ >= 0) fcntl(descriptor_, F_OFD_SETLK, &lock);  // forks may have the descriptor too
  if (descriptor_ >= 0) close(descriptor_);
  listed_ = false;
  descriptor_ = -1;
}

void writer_lock::take(const std::string& path) {
  struct flock lock = lock_of(writers_byte);
  const bool taken = fcntl(descriptor_, F_OFD_SETLK, &lock) == 0;
  // Where there are no such locks, SQLite's own are all there is.
  if (!taken && (errno == EAGAIN || errno == EACCES))
    fail(path, "is being written by another process: wait until it has ended, or give another name");
  listed_ = written.insert({device_, inode_}).second;
  if (!listed_) fail(path, "is being written by this program: close that first, or give another name");
}

void writer_lock::fail(const std::string& path, const std::string& reason) {
  if (listed_) written.erase({device_, inode_});
  if (descriptor_ >= 0) close(descriptor_);
  throw input_error(path, "", reason);
}

bool writer_lock::is(const std::string& path) const {
  struct stat state {};
  return lstat(path.c_str(), &state) == 0 && state.st_dev == device_ && state.st_ino == inode_;
}

bool is_being_written(const std::string& resolved) { return is_locked(resolved, writers_byte); }

bool is_locked(const std::string& file, off_t byte) {
  struct stat state {};
  const std::lock_guard hold(guard);
  if (lstat(file.c_str(), &state) != 0 || !S_ISREG(state.st_mode)) return false;
  const auto [at, is_new] = kept.try_emplace({state.st_dev, state.st_ino}, -1);
  if (is_new) at->second = open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (at->second < 0) {
    kept.erase(at);
    return false;
  }
  struct flock lock = lock_of(byte);
  return fcntl(at->second, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

}  // namespace ulp::io
