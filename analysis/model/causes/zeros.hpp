// Gradients that are exact zeros: all of them, those of some modules, and those that rounding made zero.
#ifndef ULP_MODEL_CAUSES_ZEROS_HPP
#define ULP_MODEL_CAUSES_ZEROS_HPP

#include <cstdint>
#include <optional>
#include <vector>

#include <ulp/model/causes/diagnosis.hpp>

namespace ulp {

[[nodiscard]] std::optional<zero_gradients> zero_gradients_of(const std::vector<step_survey>& steps);
// Of weight gradients.
[[nodiscard]] std::optional<underflow_before_recording> underflow_before_recording_of(
    const survey& run, const std::vector<tensor_info>& tensors);
// By what the steps up to `last` hold, after which the run was lost.
[[nodiscard]] std::optional<dead_tensors> dead_tensors_of(const survey& run, const std::vector<tensor_info>& tensors,
                                                          std::int64_t last);

}  // namespace ulp

#endif
