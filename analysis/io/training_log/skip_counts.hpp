// Numbers of skipped steps that a script or a table logs under a name of its own.
#ifndef ULP_IO_TRAINING_LOG_SKIP_COUNTS_HPP
#define ULP_IO_TRAINING_LOG_SKIP_COUNTS_HPP

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "dialects/record.hpp"

namespace ulp::io {

struct logged_skips {
  double value = not_known;
  bool is_nonfinite = false;  // its line or row says itself that a step overflowed
};
// Whether they are those since the run began, and not those since the line before: they never fall, and are not flags.
[[nodiscard]] bool are_in_all(std::span<const logged_skips> told);
// How many each adds; nullopt where that is not known.
[[nodiscard]] std::vector<std::optional<std::int64_t>> skips_of(std::span<const logged_skips> told);

// Puts what a script's own lines say of skipped steps where a framework's count stands. Of records in their order, with
// the numbers of their steps. Returns in how many lines finite norms contradict it, which then is left out: something else is skipped
// there, or flows over.
std::uint64_t take_own_skips(std::vector<scale_record>& records);

}  // namespace ulp::io

#endif
