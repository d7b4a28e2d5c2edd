// The steps of a recording without their tensors.
#ifndef ULP_IO_RECORDING_RECORDED_STEPS_HPP
#define ULP_IO_RECORDING_RECORDED_STEPS_HPP

#include <memory>
#include <string>

#include <ulp/io/recording/recording.hpp>

namespace ulp {

// As open_recording, of the steps within the bounds; `tensors` lists what the recording knows, and no step has any. Takes some
// microseconds a step, whatever it holds. Throws input_error.
[[nodiscard]] std::unique_ptr<source> open_without_tensors(const std::string& path, step_bounds within = {},
                                                           which_attempts attempts = which_attempts::all);

}  // namespace ulp

#endif
