// Recordings read in parts, for who reads them while they grow.
#ifndef ULP_IO_RECORDING_READER_HPP
#define ULP_IO_RECORDING_READER_HPP

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <ulp/io/recording/recording.hpp>

#include "step_rows.hpp"

namespace ulp::io {

// How far a recording was read.
struct read_before {
  step_key last;         // of an accumulated gradient
  std::int64_t row = 0;  // recording_part::last_row then
};

struct part_asked {
  steps_asked steps;
  which_attempts attempts = which_attempts::all;
  bool with_blocks = false;  // block tables are read
  std::optional<read_before> before;
  // Nothing of later steps than the one that was written last, while more is being written: a job that was resumed may yet
  // repeat them.
  bool up_to_newest = false;
};

struct recording_part {
  std::unique_ptr<source> steps;
  std::int64_t last_row = 0;  // the number of the last row that was written; 0 where there is none
  bool goes_back = false;     // what was read before is not what would be read now
  bool holds_back = false;    // there are later steps, see part_asked::up_to_newest
};

// `merged`: totals in place of the tensors. Throws input_error.
[[nodiscard]] recording_part open_part(const std::string& path, bool merged, const part_asked& asked);

}  // namespace ulp::io

#endif
