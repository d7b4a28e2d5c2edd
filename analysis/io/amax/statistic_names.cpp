#include "statistic_names.hpp"

#include <array>

namespace ulp::io {

std::optional<std::pair<std::string_view, logged_amax::part>> tensor_of_statistic(std::string_view name) {
  using part = logged_amax::part;
  constexpr std::array<std::pair<std::string_view, part>, 4> ends{
      {{"cur_amax", part::amax}, {"amax", part::amax}, {"min", part::minimum}, {"max", part::maximum}}};
  // "fp8_current_scaling_scale_inv_max" is of scales.
  if (name.ends_with("_scale_inv_min") || name.ends_with("_scale_inv_max")) return std::nullopt;
  for (const auto& [end, what] : ends) {
    if (!name.ends_with(end)) continue;
    const std::string_view tensor = name.substr(0, name.size() - end.size());
    if (tensor.size() > 1 && (tensor.back() == '_' || tensor.back() == '/'))
      return std::pair{tensor.substr(0, tensor.size() - 1), what};
  }
  return std::nullopt;
}

}  // namespace ulp::io
