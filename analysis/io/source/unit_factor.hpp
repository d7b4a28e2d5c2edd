// Factors that nobody says, where the loss scale does: at the scale 1 a gradient is the same before and after unscaling.
#ifndef ULP_IO_SOURCE_UNIT_FACTOR_HPP
#define ULP_IO_SOURCE_UNIT_FACTOR_HPP

#include <memory>

#include <ulp/io/source/source.hpp>

#include "scalar_table.hpp"

namespace ulp::io {

// Whether every step logs the loss scale 1, here or in the source itself.
[[nodiscard]] bool is_unit_scale(const source& from, const scalar_table& scalars);

// The source with factor 1 where none is known, and with a note that says so.
[[nodiscard]] std::unique_ptr<source> with_unit_factor(std::unique_ptr<source> from);

}  // namespace ulp::io

#endif
