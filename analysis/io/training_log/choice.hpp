// Which of a log's records tell of the run: several ranks, scalers, progress bars and scripts may print the same.
#ifndef ULP_IO_TRAINING_LOG_CHOICE_HPP
#define ULP_IO_TRAINING_LOG_CHOICE_HPP

#include <cstdint>
#include <string>
#include <vector>

#include "dialects/record.hpp"

namespace ulp::io {

// Lines of other ranks or scalers, and numbers.
struct left_out_lines {
  std::uint64_t count = 0;
  std::uint64_t nonfinite = 0;  // of steps that the lines which are left tell nothing of the kind of
  std::uint64_t first_nonfinite = 0;
  std::uint32_t label_of_nonfinite = 0;  // whose the first of them is
  bool several_are_nonfinite = false;    // others have some, too
  std::uint32_t label_that_is_read = 0;
  std::uint64_t evaluations = 0;  // lines that are taken for those of one
  std::uint64_t epochs = 0;       // lines of whole epochs, beside those of steps
  std::uint64_t of_scalers = 0;   // of `count`, those of other scalers: their overflows are none of those that are told
  std::uint64_t contradicted_skips = 0;  // lines of which norms contradict what they say of skipped steps
  std::uint64_t own_lines = 0;           // a script's, with losses, that count otherwise than the framework
  std::uint64_t own_nonfinite = 0;       // of a script or a bar, whose numbers are not those of the steps
  std::uint64_t first_own_nonfinite = 0;
  bool numbers_fit = true;  // false: those of a progress bar contradict the epochs of the lines, and are left out
};

// Leaves records of one rank, one scaler and one way of counting steps, with scales that are numbers or not known; none is
// `fatal`, and `metrics` only where nothing tells their steps.
// Returns what was left out. Throws input_error, of `path`, where steps of all epochs together cannot be numbered.
left_out_lines choose_records(std::vector<scale_record>& records, const std::string& path);

}  // namespace ulp::io

#endif
