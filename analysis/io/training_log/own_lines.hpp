// A script's own lines beside those of DeepSpeed, which prints no loss, and of the steps only some.
#ifndef ULP_IO_TRAINING_LOG_OWN_LINES_HPP
#define ULP_IO_TRAINING_LOG_OWN_LINES_HPP

#include <cstdint>
#include <vector>

#include "dialects/record.hpp"

namespace ulp::io {

// Where both count alike the script's lines are those of the steps, if they tell of each and no skipped step lacks a line;
// else DeepSpeed's lines get their losses. Returns how many lines with losses count otherwise: they are left as they are.
std::uint64_t settle_own_lines(std::vector<scale_record>& records);

}  // namespace ulp::io

#endif
