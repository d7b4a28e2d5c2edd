// Zeros that rounding made before the gradients were recorded.
#include <cmath>
#include <utility>

#include "evidence.hpp"
#include "places.hpp"
#include "series.hpp"
#include "tensor_parts.hpp"

namespace ulp {
namespace {

// Of the values that are not zero, in least numbers of what they were rounded to; NaN where they were not.
double mean_units_of(const tensor_survey& t) {
  // A zero may have been half of the least number.
  const double least = t.censored == 0 ? 0 : 2 * t.censored_magnitude / static_cast<double>(t.censored);
  const std::uint64_t nonzero = t.numel - t.zeros - t.nonfinite;
  if (!(least > 0) || nonzero == 0) return not_known;
  // Where the sum is not known, the middle of what it may be.
  const value_range all = t.magnitudes();
  const double sum = std::isfinite(all.high) ? (all.low + all.high) / 2 : all.low;
  return sum / static_cast<double>(nonzero) / least;
}

// Of weight gradients.
std::optional<underflow> underflow_of(const survey& run, const std::vector<tensor_info>& tensors) {
  // Values that are spread as widely as gradients are, and average 16 least numbers, lose some to rounding.
  constexpr double near_least = 16;
  constexpr double many_zeros = 0.1;
  constexpr double share_of_elements = 0.1;
  underflow u;
  std::uint64_t elements = 0;
  std::uint64_t of_these = 0;
  for (std::uint32_t i = 0; i < run.tensors().size(); ++i) {
    const tensor_survey& t = run.tensors()[i];
    if (!has_values(t) || !is_weight_gradient(tensors[i]) || t.numel == 0) continue;
    if (t.max_abs == 0) {
      ++u.all_zero;
      continue;
    }
    ++u.of;
    elements += t.numel;
    const double zeros = static_cast<double>(t.zeros) / static_cast<double>(t.numel);
    const double mean = mean_units_of(t);
    if (!(mean <= near_least) || zeros < many_zeros) continue;
    ++u.tensors;
    of_these += t.numel;
    if (zeros <= u.zeros) continue;
    u.worst = i;
    u.zeros = zeros;
    u.mean_units = mean;
  }
  if (u.tensors == 0 || static_cast<double>(of_these) < share_of_elements * static_cast<double>(elements))
    return std::nullopt;
  std::vector<double> scales;
  for (const step_survey& s : run.steps())
    if (const double scale = scale_of(s); !std::isnan(scale)) scales.push_back(scale);
  u.scale = median(std::move(scales));
  return u;
}

}  // namespace

void examine_underflow(const evidence& e, std::vector<cause>& found) {
  if (e.died || e.forward || e.nan || e.unhandled || e.depth) return;
  if (const auto lost = underflow_of(e.run, e.tensors)) found.emplace_back(*lost);
}

}  // namespace ulp
