// Units that die: tensors whose gradients vanish as training goes on.
#ifndef ULP_MODEL_CAUSES_VANISHED_HPP
#define ULP_MODEL_CAUSES_VANISHED_HPP

#include <cstdint>
#include <vector>

#include <ulp/model/causes/diagnosis.hpp>

namespace ulp {

// Whether some tensor that had gradients before the step has almost none after it.
[[nodiscard]] bool units_die_at(const survey& run, const std::vector<tensor_info>& tensors, std::int64_t step);

}  // namespace ulp

#endif
