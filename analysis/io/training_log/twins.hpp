// Lines that several ranks print without a label, and that changed places on the way to the log.
#ifndef ULP_IO_TRAINING_LOG_TWINS_HPP
#define ULP_IO_TRAINING_LOG_TWINS_HPP

#include <cstdint>
#include <vector>

#include "dialects/record.hpp"

namespace ulp::io {

// Leaves one record of each step where nearly all steps are told several times within a few lines, and puts overflows whose
// lines changed places into the order of their scales: a scale that is higher than the one before it, and that a fall just
// before has left out, did not grow. Returns how many records were left out.
std::uint64_t put_in_order(std::vector<scale_record>& records);

}  // namespace ulp::io

#endif
