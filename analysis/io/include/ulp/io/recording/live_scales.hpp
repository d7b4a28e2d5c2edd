// The scales that an 8-bit run itself had, as a recording holds them: docs/recording-format.md, "Scales of 8-bit runs".
#ifndef ULP_IO_RECORDING_LIVE_SCALES_HPP
#define ULP_IO_RECORDING_LIVE_SCALES_HPP

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <ulp/io/source/source.hpp>
#include <ulp/model/cells/step.hpp>

namespace ulp {

// Of one tensor in one step: the amaxes that its policy saw since the step before, and the scale that they have led to.
struct live_scale {
  std::string tensor;
  std::vector<float> amaxes;  // in their order; none where nothing but zeros came
  float scale = 0;            // after them
  bool starts_late = false;   // amaxes came before that are not known
};

// The content of such a row of `extra`. Throws input_error, which names the place.
[[nodiscard]] std::vector<live_scale> parse_live_scales(std::string_view content, const std::string& file,
                                                        const std::string& place);

// Ascending by step and attempt, each with all its tensors. Throws input_error.
using take_live_scales = std::function<void(const step_key& key, const std::vector<live_scale>& tensors)>;
void read_live_scales(const std::string& recording, which_attempts attempts, const take_live_scales& act);

// Whether it holds any. Throws input_error.
[[nodiscard]] bool has_live_scales(const std::string& recording);

}  // namespace ulp

#endif
