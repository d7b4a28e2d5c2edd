// A write-ahead log as it lies there. SQLite reads one up to the first page that is not as it was written, and says nothing of
// what comes behind.
#ifndef ULP_IO_DATABASE_LOG_FILE_HPP
#define ULP_IO_DATABASE_LOG_FILE_HPP

#include <cstdint>
#include <string>

namespace ulp::io {

enum class log_state : std::uint8_t {
  empty,    // at most its header
  no_log,   // what begins it is no header, or was damaged: nothing of it is read
  whole,    // or as a kill leaves it
  cut,      // within a page, or the last page is not as it was written
  damaged,  // a page is not as it was written, and transactions are behind it
};

// Of a log that nobody writes to. Throws input_error where it cannot be read.
[[nodiscard]] log_state state_of_log(const std::string& file);

}  // namespace ulp::io

#endif
