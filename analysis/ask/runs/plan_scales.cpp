#include "plan_scales.hpp"

#include <algorithm>
#include <cmath>
#include <ulp/model/outcomes/outcome.hpp>

namespace ulp {

std::vector<int> scales_to_try(std::span<const double> largest, std::span<const format> formats) {
  constexpr int below = 8;
  constexpr std::size_t most = 48;
  constexpr int furthest = 126;
  std::vector<int> ends;
  for (const format& f : formats) {
    const threshold overflow = thresholds_of({f, {}}, false).overflow;
    for (const double x : largest) {
      if (!(x > 0) || !std::isfinite(x)) continue;
      int exponent = f.emax() - std::ilogb(x) + 1;
      while (reaches(overflow, {.scale = std::ldexp(1.0, exponent)}, x)) --exponent;
      ends.push_back(std::clamp(exponent, -furthest, furthest));
    }
  }
  std::vector<int> all;
  if (ends.empty()) return all;
  const auto [least, greatest] = std::ranges::minmax(ends);
  for (int e = greatest; e >= least - below && all.size() < most; --e) all.push_back(e);
  return all;
}

}  // namespace ulp
