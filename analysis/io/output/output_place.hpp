// Where a file that is going to be written lies, links resolved.
#ifndef ULP_IO_OUTPUT_OUTPUT_PLACE_HPP
#define ULP_IO_OUTPUT_OUTPUT_PLACE_HPP

#include <sys/stat.h>

#include <optional>
#include <string>

#include "descriptor.hpp"

namespace ulp::io {

struct output_place {
  std::string given;
  descriptor folder;  // held open: nobody can put another in its place
  std::string path;   // absolute, without links
  std::string name;   // its last part
  std::optional<struct stat> there;
  int own = -1;  // a descriptor of this process (/dev/stdout): nothing else is set

  [[nodiscard]] bool is_regular() const { return !there || S_ISREG(there->st_mode); }
  // With the reason of errno.
  [[noreturn]] void fail() const;
  [[noreturn]] void fail(const std::string& reason) const;
};

// As the last name, a link of another user (but the superuser) is refused; on the way, of others only those of the folder's
// owner are followed. In a sticky folder that all may write, other users' files and pipes are refused too. Throws input_error.
[[nodiscard]] output_place place_of_output(const std::string& path);

}  // namespace ulp::io

#endif
