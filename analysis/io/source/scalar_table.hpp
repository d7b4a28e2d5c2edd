// What a training loop logged of the steps of a run.
#ifndef ULP_IO_SOURCE_SCALAR_TABLE_HPP
#define ULP_IO_SOURCE_SCALAR_TABLE_HPP

#include <cstdint>
#include <utility>
#include <vector>

#include <ulp/model/cells/step.hpp>

namespace ulp::io {

// Ascending by step.
using scalar_table = std::vector<std::pair<std::int64_t, step_scalars>>;
// What was logged of one step; nullptr where nothing was.
[[nodiscard]] const step_scalars* logged_at(const scalar_table& scalars, std::int64_t step);

}  // namespace ulp::io

#endif
