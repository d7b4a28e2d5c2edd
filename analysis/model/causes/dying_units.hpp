// Zeros that come to many gradients together: units that no longer take part.
#ifndef ULP_MODEL_CAUSES_DYING_UNITS_HPP
#define ULP_MODEL_CAUSES_DYING_UNITS_HPP

#include <optional>

#include "evidence.hpp"

namespace ulp {

// Of the weight gradients up to the end of the healthy part; nullopt where they are fewer than three, or of one module.
[[nodiscard]] std::optional<dying_units> dying_units_of(const evidence& e);

}  // namespace ulp

#endif
