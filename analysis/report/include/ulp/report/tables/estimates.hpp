// What a recording does not decide of a replay, in words.
#ifndef ULP_REPORT_TABLES_ESTIMATES_HPP
#define ULP_REPORT_TABLES_ESTIMATES_HPP

#include <cstdint>
#include <string>
#include <ulp/model/replay/trajectory.hpp>

namespace ulp {

// "7"; "~7 [5, 19]" where steps are uncertain; "~7" where too much may have happened for bounds.
[[nodiscard]] std::string skipped_text(std::uint64_t skipped, std::uint64_t uncertain, const bounds_of_run& bounds);

// "found_inf is estimated in 3 steps; ...", empty where all are certain.
[[nodiscard]] std::string uncertain_text(const trajectory_summary& sum);

// "diverges from the recorded run at step 3, by estimate: ...", or that it does not.
[[nodiscard]] std::string open_loop_text(const trajectory_summary& sum);

}  // namespace ulp

#endif
