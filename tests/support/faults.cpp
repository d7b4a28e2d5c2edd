// Preloaded into a program, makes one of its calls fail that change files below a folder, or that open or close them:
//
//   ULP_FAULT_CALL    write, sync, truncate, rename, open or close
//   ULP_FAULT_NUMBER  which of them, from 1 on; with a + behind it, all from that one on
//   ULP_FAULT_ERROR   the errno; 0 writes half of what is to be written
//   ULP_FAULT_FOLDER  the folder, without links
//   ULP_FAULT_MARK    a file elsewhere that is made when a call fails
//   ULP_FAULT_NETWORK the folder is on NFS, if set
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

struct settings {
  std::string call = variable("ULP_FAULT_CALL");
  std::string number = variable("ULP_FAULT_NUMBER");
  int error = std::atoi(variable("ULP_FAULT_ERROR").c_str());
  std::string folder = variable("ULP_FAULT_FOLDER");
  std::string mark = variable("ULP_FAULT_MARK");
  bool network = !variable("ULP_FAULT_NETWORK").empty();
};

const settings& asked() {
  static const settings all;
  return all;
}

bool is_below(std::string_view path) { return !asked().folder.empty() && path.starts_with(asked().folder); }

bool is_below(int descriptor) {
  char path[PATH_MAX];
  const ssize_t size = readlink(("/proc/self/fd/" + std::to_string(descriptor)).c_str(), path, sizeof path);
  return size > 0 && is_below(std::string_view(path, static_cast<std::size_t>(size)));
}

// Whether this call is to fail; errno is then what it fails with. `where`: a path or a descriptor.
template <typename Where>
bool fails(const char* call, Where where) {
  static std::atomic<int> calls{0};
  if (asked().call != call || !is_below(where)) return false;
  const int number = ++calls;
  const int which = std::atoi(asked().number.c_str());
  if (number < which || (number > which && !asked().number.ends_with('+'))) return false;
  const long made = syscall(SYS_openat, AT_FDCWD, asked().mark.c_str(), O_CREAT | O_WRONLY, 0600);
  if (made >= 0) syscall(SYS_close, made);
  errno = asked().error;
  return true;
}

// What would be called without this.
template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

template <typename Work>
ssize_t written(int file, std::size_t size, Work work) {
  if (!fails("write", file)) return work(size);
  return asked().error == 0 && size > 1 ? work(size / 2) : -1;
}

int opened(const char* name, int folder, const char* path, int flags, mode_t mode) {
  if (fails("open", path)) return -1;
  return next<int(int, const char*, int, ...)>(name)(folder, path, flags, mode);
}

FILE* opened(const char* name, const char* path, const char* mode) {
  return fails("open", path) ? nullptr : next<FILE*(const char*, const char*)>(name)(path, mode);
}

mode_t mode_in(int flags, va_list rest) {
  return (flags & (O_CREAT | O_TMPFILE)) == 0 ? mode_t{0} : static_cast<mode_t>(va_arg(rest, int));
}

template <typename State>
int state_of(const char* name, const char* path, State* state) {
  const int result = next<int(const char*, State*)>(name)(path, state);
  constexpr int nfs = 0x6969;
  if (result == 0 && asked().network && is_below(path)) state->f_type = nfs;
  return result;
}

}  // namespace

extern "C" {

ssize_t write(int file, const void* from, std::size_t size) {
  static auto* const real = next<ssize_t(int, const void*, std::size_t)>("write");
  return written(file, size, [&](std::size_t n) { return real(file, from, n); });
}

ssize_t writev(int file, const iovec* parts, int count) {
  static auto* const real = next<ssize_t(int, const iovec*, int)>("writev");
  return written(file, 2, [&](std::size_t n) { return real(file, parts, n == 2 ? count : 1); });
}

ssize_t pwrite(int file, const void* from, std::size_t size, off_t at) {
  static auto* const real = next<ssize_t(int, const void*, std::size_t, off_t)>("pwrite");
  return written(file, size, [&](std::size_t n) { return real(file, from, n, at); });
}

ssize_t pwrite64(int file, const void* from, std::size_t size, off64_t at) {
  static auto* const real = next<ssize_t(int, const void*, std::size_t, off64_t)>("pwrite64");
  return written(file, size, [&](std::size_t n) { return real(file, from, n, at); });
}

int fsync(int file) { return fails("sync", file) ? -1 : next<int(int)>("fsync")(file); }
int fdatasync(int file) { return fails("sync", file) ? -1 : next<int(int)>("fdatasync")(file); }

int ftruncate(int file, off_t size) noexcept {
  return fails("truncate", file) ? -1 : next<int(int, off_t)>("ftruncate")(file, size);
}
int ftruncate64(int file, off64_t size) noexcept {
  return fails("truncate", file) ? -1 : next<int(int, off64_t)>("ftruncate64")(file, size);
}

int rename(const char* from, const char* to) noexcept {
  return fails("rename", to) ? -1 : next<int(const char*, const char*)>("rename")(from, to);
}
int renameat(int in, const char* from, int into, const char* to) noexcept {
  return fails("rename", to) ? -1 : next<int(int, const char*, int, const char*)>("renameat")(in, from, into, to);
}
int renameat2(int in, const char* from, int into, const char* to, unsigned flags) noexcept {
  if (fails("rename", to)) return -1;
  return next<int(int, const char*, int, const char*, unsigned)>("renameat2")(in, from, into, to, flags);
}

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = mode_in(flags, rest);
  va_end(rest);
  return opened("openat", AT_FDCWD, path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = mode_in(flags, rest);
  va_end(rest);
  return opened("openat64", AT_FDCWD, path, flags, mode);
}
int openat(int folder, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = mode_in(flags, rest);
  va_end(rest);
  return opened("openat", folder, path, flags, mode);
}
int openat64(int folder, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = mode_in(flags, rest);
  va_end(rest);
  return opened("openat64", folder, path, flags, mode);
}
FILE* fopen(const char* path, const char* mode) { return opened("fopen", path, mode); }
FILE* fopen64(const char* path, const char* mode) { return opened("fopen64", path, mode); }

// The descriptor is free all the same, as on Linux.
int close(int file) {
  const bool failed = fails("close", file);
  const int result = next<int(int)>("close")(file);
  if (failed) errno = asked().error;
  return failed ? -1 : result;
}
int fclose(FILE* file) {
  const bool failed = fails("close", fileno(file));
  const int result = next<int(FILE*)>("fclose")(file);
  if (failed) errno = asked().error;
  return failed ? EOF : result;
}

int statfs(const char* path, struct statfs* state) noexcept { return state_of("statfs", path, state); }
int statfs64(const char* path, struct statfs64* state) noexcept { return state_of("statfs64", path, state); }

}  // extern "C"
