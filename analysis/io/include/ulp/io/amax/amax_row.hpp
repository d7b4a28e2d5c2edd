// The largest magnitude (amax) of one tensor in one step.
#ifndef ULP_IO_AMAX_AMAX_ROW_HPP
#define ULP_IO_AMAX_AMAX_ROW_HPP

#include <cstdint>
#include <string>

namespace ulp {

struct amax_row {
  std::int64_t step = 0;
  std::string tensor;
  float amax = 0;  // not below 0; infinity, NaN
  friend bool operator==(const amax_row&, const amax_row&) = default;
};

}  // namespace ulp

#endif
