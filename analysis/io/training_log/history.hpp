// From the records of a log to the steps of a run: which were skipped, and what is known of the scale around them.
#ifndef ULP_IO_TRAINING_LOG_HISTORY_HPP
#define ULP_IO_TRAINING_LOG_HISTORY_HPP

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dialects/record.hpp"

namespace ulp::io {

// Steps in a row that were all applied, or all skipped.
struct scale_run {
  std::int64_t step = 0;     // the first; they are consecutive
  std::int32_t attempt = 0;  // of the first, at that step; skipped ones of fairseq are all attempts at the same step
  std::uint32_t count = 1;
  bool skipped = false;
  bool retries = false;     // each is a further attempt at the same step
  bool after_gap = false;   // steps before it are missing, or their scale says nothing of it
  bool is_assumed = false;  // applied, as the scale did not fall, which is not known to fall ever
  bool placed = true;       // false where the log does not tell in which order steps were applied and skipped
  bool numbered = true;     // false where steps are numbered by the order of the lines
  bool decided = true;      // false where nothing is known of them but that they were
  bool nan = false;         // skipped because the forward pass gave no finite loss
  bool nonfinite = false;   // the loss or the norm of its only step was logged, and is not finite
  bool sure = true;         // false where that may be of a step before it
  bool counted = false;     // the framework counts skipped steps, and did not count these
  // Steps of its interval between which and it nothing tells the order: as many more may lie between its scales and those
  // before or after the interval.
  std::uint32_t loose_applied = 0;
  std::uint32_t loose_skipped = 0;
  bool after_is_loose = false;       // the scale after it, too: not printed at the end of the interval
  double used = not_known;           // the scale of its first step, where it was printed
  double after = not_known;          // the scale after its last
  double after_at_most = not_known;  // where it was printed too roughly to be known
  bool after_is_zero = false;        // which was printed as 0, as the one before it was
  double loss = not_known;           // these three of its last step
  double grad_norm = not_known;
  double learning_rate = not_known;
  bool loss_is_nan = false;
  bool grad_norm_is_nan = false;

  // With what a line says of its only step.
  void describe(const scale_record& line);
};

// The last step of the last run becomes one of its own.
void split_last(std::vector<scale_run>& runs);

// What was replaced when the run went on from an earlier step.
struct replaced_runs {
  std::int64_t from = 0;        // that step
  std::vector<scale_run> runs;  // after it, and some before it
};

struct scale_history {
  std::vector<scale_run> runs;          // ascending
  std::vector<replaced_runs> replaced;  // in the order of the log
  std::string frameworks;               // "DeepSpeed and Megatron-LM"
  double window = 0;                    // applied steps in a row after which the scale grows; 0 where not known
  bool float16 = true;                  // false where the log says that the run was in another format
  bool resets_scale = false;            // the script sets the scale itself, so that nothing follows from one that stays
  std::string row_unit = "step";        // as source::row_unit: an epoch or a line, which counts as one step
  double constant_scale = not_known;    // as far as the log tells: it says nothing of overflow
  std::optional<double> ended_at_scale{};   // as source::ended_at_scale
  std::uint64_t unread = 0;                 // lines, or parts of lines, that look like records and were not read
  std::vector<std::string> lost_elsewhere;  // these two as in source
  std::vector<std::string> doubts;
  std::vector<std::string> notes;
};

// Keeps, at the end of `to`, the steps after `from`, and enough before them to compare them with. Not of every run that begins again
// and again.
void keep_replaced(std::vector<replaced_runs>& to, const std::vector<scale_run>& runs, std::int64_t from);

// Records in the order of their lines. A run that goes back to an earlier step, as after a restart from a checkpoint,
// replaces what came after that step; without step numbers see by_order.hpp. Empty, `frameworks` too, where no record is of a
// known framework; throws input_error where the records contradict each other.
// `ranks`: the names of scale_record::label, where there are some.
[[nodiscard]] scale_history history_of(std::vector<scale_record> records, const std::string& path,
                                       std::span<const std::string> ranks = {});

}  // namespace ulp::io

#endif
