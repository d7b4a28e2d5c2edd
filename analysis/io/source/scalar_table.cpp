#include "scalar_table.hpp"

#include <algorithm>
#include <cmath>

namespace ulp::io {

const step_scalars* logged_at(const scalar_table& scalars, std::int64_t step) {
  const auto found = std::ranges::lower_bound(scalars, step, {}, &scalar_table::value_type::first);
  return found == scalars.end() || found->first != step ? nullptr : &found->second;
}

std::optional<double> norm_told(double printed) noexcept {
  if (!is_negative_norm(printed)) return printed;
  return printed == -1 ? std::optional(not_known) : std::nullopt;
}

bool is_negative_norm(double printed) noexcept { return printed < 0 && !std::isinf(printed); }

std::string negative_norms_text(const std::string& where, bool has_others) {
  if (!has_others)
    return "the gradient norm is negative in " + where +
           ", and nowhere anything else: none was computed, and none is taken";
  return "a gradient norm is negative in " + where +
         ": -1 is what DeepSpeed says of one that is not finite, and any other says nothing";
}

}  // namespace ulp::io
