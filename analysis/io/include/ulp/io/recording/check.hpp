// What is wrong in a recording: all of it, not only what the next reader would trip over.
#ifndef ULP_IO_RECORDING_CHECK_HPP
#define ULP_IO_RECORDING_CHECK_HPP

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <ulp/io/bytes/error.hpp>

namespace ulp {

// One line of text in each, without control characters.
struct recording_problem {
  std::string table;   // of the database; empty: the file as a whole
  std::string place;   // "step 7 attempt 1, tensor 'fc.weight'"; empty: all of the table
  std::string reason;  // "counts do not add up to the number of elements"
};

struct recording_report {
  // What was looked at.
  std::uint64_t tensors = 0;
  std::uint64_t steps = 0;
  std::uint64_t tables = 0;    // of tensors in steps
  std::uint64_t blocks = 0;    // of levels
  bool has_checksums = false;  // else damage that gives possible values is not noticed
  std::string missing;         // steps that may be, of which nothing in the file tells; not a problem. Empty: none
  std::vector<recording_problem> problems;
  bool gave_up = false;  // there may be more
};

struct recording_check_options {
  std::size_t most = 100;  // problems, then it gives up
  // Called with each step and block; may throw.
  std::function<void()> progress;
};

// Looks at everything in the file: SQLite's own structures and indices, header, tensors; checksums; that each row decodes and holds
// what values can have given; that sums in summaries are those of the payloads, totals those of their step's tensors, and
// blocks that claim to hold those of their steps. Sums that sources reported may differ by 1e-9 of them. A few times
// slower than reading; needs the memory of one step and of one block.
// Throws input_error where the file cannot be opened, or is not a recording of this version with its tables.
[[nodiscard]] recording_report check_recording(const std::string& path, const recording_check_options& options = {});

// Programs read of a recording what they need; one of up to 16 MiB is looked at wholly before anything of it is believed. Throws
// input_error with the first problem and how many there are. `progress` as above.
void refuse_damaged(const std::string& path, const std::function<void()>& progress = {});

}  // namespace ulp

#endif
