// A database that is read without SQLite's locks, because nobody writes to it: somebody may begin to.
#ifndef ULP_IO_DATABASE_UNLOCKED_FILE_HPP
#define ULP_IO_DATABASE_UNLOCKED_FILE_HPP

#include <sys/stat.h>

#include <optional>
#include <string>

#include <ulp/io/bytes/error.hpp>

namespace ulp::io {

// What was read is of no single state of the file, and says nothing about it: to be read again.
class changed_error : public input_error {
 public:
  explicit changed_error(const std::string& path)
      : input_error(path, "", "changed while it was read: a job has resumed writing it; run this again") {}
};

// Remembers the file as it was when this was made.
class unlocked_file {
 public:
  explicit unlocked_file(std::string file);
  // Whether it was written to since, as its size and time tell. A log that only grew is read up to where it ended before, and
  // one begins again after its pages went to the file. A file that took the place of this one is no change of it.
  [[nodiscard]] bool was_written() const;

 private:
  std::string file_;
  std::optional<struct stat> before_;
};

// Reads again what changed meanwhile: by then its writer is known, and it is read under SQLite's locks.
template <typename Read>
auto read_steadily(Read read) {
  constexpr int most = 5;
  for (int tries = 1; tries < most; ++tries) try {
      return read();
    } catch (const changed_error&) {
    }
  return read();
}

}  // namespace ulp::io

#endif
