// Which attempt of a step counts, where a resumed run recorded it more than once.
#ifndef ULP_IO_RECORDING_ATTEMPTS_HPP
#define ULP_IO_RECORDING_ATTEMPTS_HPP

#include <cstdint>
#include <vector>

#include <ulp/io/source.hpp>

#include "database/sqlite.hpp"

namespace ulp::io {

// The rows of `step` that count. Attempts of which all before the last were skipped are one update that was tried until it
// could be applied, as fairseq does: each of them moved the loss scale, and all count.
class counted_attempts {
 public:
  counted_attempts() = default;  // all
  // One that has no accumulated gradient was cut short, and counts only where no other has one. Reads keys alone, and where
  // all attempts count, nothing. Throws input_error, also payload_error.
  counted_attempts(const database& db, which_attempts which);

  [[nodiscard]] bool takes(const step_key& key) const;
  // Steps of which some rows do not count.
  [[nodiscard]] std::uint64_t repeated() const noexcept { return repeated_.size(); }
  [[nodiscard]] bool repeats_between(std::int64_t first, std::int64_t last) const;
  // Rows that do not count.
  [[nodiscard]] std::uint64_t left_out(std::int64_t first, std::int64_t last) const;

 private:
  struct repeated_step {
    std::int64_t step = 0;
    std::int32_t attempt = 0;  // that counts
    std::uint64_t left_out = 0;
  };
  using place = std::vector<repeated_step>::const_iterator;
  [[nodiscard]] place from(std::int64_t step) const;

  std::vector<repeated_step> repeated_;  // ascending
};

}  // namespace ulp::io

#endif
