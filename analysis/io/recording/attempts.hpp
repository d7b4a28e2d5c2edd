// Which attempt of a step counts, where a resumed run recorded it more than once.
#ifndef ULP_IO_RECORDING_ATTEMPTS_HPP
#define ULP_IO_RECORDING_ATTEMPTS_HPP

#include <cstdint>
#include <vector>

#include <ulp/io/source/source.hpp>

#include "database/sqlite.hpp"

namespace ulp::io {

// The rows of `step` that count. An attempt that was skipped and the next are one update that was tried until it could be
// applied, as fairseq does, where nothing else was written between the two and the loss scale fell, or is not known: such
// tries count together, since each of them moved the loss scale. Any other repetition is that of a run which was resumed.
class counted_attempts {
 public:
  counted_attempts() = default;  // all
  // One that has no accumulated gradient was cut short, and counts only where no other has one. Of the last attempts those
  // do not count that were written before a resumed run repeated an earlier step: it has not come there again. Merged
  // recordings have lost the order of writing, and all the last attempts count there. Reads keys and what tells tries
  // apart, and where all attempts count, nothing. Throws input_error, also payload_error.
  counted_attempts(const database& db, which_attempts which);

  [[nodiscard]] bool takes(const step_key& key) const;
  // Steps of which some rows count and some do not.
  [[nodiscard]] std::uint64_t repeated() const noexcept { return left_out_.size() - abandoned_; }
  // Steps of which no row counts.
  [[nodiscard]] std::uint64_t abandoned() const noexcept { return abandoned_; }
  // Whether rows of these steps do not count.
  [[nodiscard]] bool repeats_between(std::int64_t first, std::int64_t last) const;
  // Rows that do not count.
  [[nodiscard]] std::uint64_t left_out(std::int64_t first, std::int64_t last) const;

 private:
  struct partly_left_out {
    std::int64_t step = 0;
    std::int32_t first = 0;  // of the attempts that count
    std::int32_t last = 0;   // below `first` where none does
    std::uint64_t rows = 0;  // that do not
  };
  using place = std::vector<partly_left_out>::const_iterator;
  [[nodiscard]] place from(std::int64_t step) const;

  std::vector<partly_left_out> left_out_;  // ascending
  std::uint64_t abandoned_ = 0;
};

}  // namespace ulp::io

#endif
