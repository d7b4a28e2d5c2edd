// Of few steps: what rises in them, and that they are few.
#ifndef ULP_MODEL_CAUSES_EXCERPT_HPP
#define ULP_MODEL_CAUSES_EXCERPT_HPP

#include <cstdint>
#include <optional>
#include <vector>

#include <ulp/model/causes/diagnosis.hpp>

namespace ulp {

// nullopt where the steps are enough: 20 that tell whether they overflowed, with as many losses or norms where any are known.
[[nodiscard]] std::optional<excerpt> excerpt_of(const std::vector<step_survey>& steps, std::uint64_t told);

}  // namespace ulp

#endif
