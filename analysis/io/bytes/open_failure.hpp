// Why a file could not be opened or made.
#ifndef ULP_IO_BYTES_OPEN_FAILURE_HPP
#define ULP_IO_BYTES_OPEN_FAILURE_HPP

#include <cerrno>
#include <cstring>
#include <string>

namespace ulp::io {

// Of errno, with what to do about it. `otherwise`: the reason where there is a better one than strerror's.
[[nodiscard]] inline std::string open_failure(int error, const std::string& otherwise = "") {
  switch (error) {
    case EMFILE: return "too many files are open in this process: close some, or raise the limit (ulimit -n)";
    case ENFILE: return "too many files are open on this machine: close some";
    case EACCES:
    case ENOENT:
    case ENOTDIR:
    case EPERM:
    case EROFS:
    case 0:
      return (otherwise.empty() ? std::string{std::strerror(error)} : otherwise) +
             ": does its folder exist, and is it writable?";
    default: return otherwise.empty() ? std::strerror(error) : otherwise + ": " + std::strerror(error);
  }
}

}  // namespace ulp::io

#endif
