// What TransformerEngine's statistics of tensors are called: NVIDIA/TransformerEngine @d0067d0d
// transformer_engine/debug/features/utils/stats_buffer.py (_Buffer.log).
#ifndef ULP_IO_AMAX_STATISTIC_NAMES_HPP
#define ULP_IO_AMAX_STATISTIC_NAMES_HPP

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace ulp::io {

// Of one tensor in one step, what was logged of its largest magnitude.
struct logged_amax {
  enum class part : std::uint8_t { amax, minimum, maximum };

  std::optional<float> amax;
  std::optional<float> minimum;
  std::optional<float> maximum;

  [[nodiscard]] std::optional<float>& of(part what) {
    return what == part::amax ? amax : what == part::minimum ? minimum : maximum;
  }
  // The amax, or the larger magnitude of the other two.
  [[nodiscard]] std::optional<float> largest() const {
    if (amax) return std::abs(*amax);
    if (!minimum || !maximum) return std::nullopt;
    const bool is_nan = std::isnan(*minimum) || std::isnan(*maximum);
    return is_nan ? std::nanf("") : std::max(std::abs(*minimum), std::abs(*maximum));
  }
};

// The tensor and what its statistic is, by the last part of its name: "fc1_activation_cur_amax"; nullopt where it is none of
// these.
[[nodiscard]] std::optional<std::pair<std::string_view, logged_amax::part>> tensor_of_statistic(std::string_view name);

}  // namespace ulp::io

#endif
