// From the records of a log to intervals: what its lines say of the steps from one of them to the next.
#ifndef ULP_IO_TRAINING_LOG_INTERVALS_HPP
#define ULP_IO_TRAINING_LOG_INTERVALS_HPP

#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "dialects/record.hpp"

namespace ulp::io {

struct log_interval {
  const log_dialect* from = &no_dialect;
  std::uint64_t line = 0;
  std::int64_t step = 0;   // its last
  std::int64_t steps = 0;  // those of fairseq are updates: without the skipped ones
  std::int64_t skipped = 0;
  std::int64_t nans = 0;               // of the skipped ones, those whose loss was not finite
  bool updates_only = false;           // its steps are updates
  bool counted = false;                // its line says how many steps were skipped
  bool overflows_have_lines = false;   // each overflow of the log has a line of its own
  bool is_cut = false;                 // the first of a log that does not begin with the run: some of it may be missing
  bool begin_assumed = false;          // where its first step is follows from the lines after it, or from nothing
  std::int64_t covers = 0;             // steps from the line before to its own; 0 where that line is not known
  bool after_gap = false;              // steps before it are missing, or their scale says nothing of it
  bool is_mixed = false;               // its overflows may be another run's: nothing is known of the scale across it
  std::int64_t of_run_before = 0;      // overflows in front of its line that are not its own
  std::int64_t too_many = 0;           // overflows that have lines, and that its line does not count
  bool at_end = false;                 // no line follows the steps that it tells of
  std::vector<scale_record> events{};  // overflows that had lines of their own: at most those skipped
  double start = not_known;            // the scale of a fresh run
  double grown = not_known;            // the scale after it, where a line said that it grew
  scale_record record{};               // its line
};

// The run went on from an earlier step, as after a restart from a checkpoint.
struct log_restart {
  std::int64_t to = 0;
  bool keeps_scale = true;
};

using log_part = std::variant<log_interval, log_restart>;

// Gives `to` those of chosen records (choice.hpp), in the order of their lines, one by one: a log may be long. Throws input_error
// where they cannot be of one run.
void read_intervals(const std::vector<scale_record>& records, const std::string& path,
                    const std::function<void(const log_part&)>& to);

}  // namespace ulp::io

#endif
