#include <ulp/report/pictures/layer_scales.hpp>

#include <cmath>

namespace ulp {

layer_scale layer_scale_of(const fp8_row& row) {
  return {.step = row.key.step,
          .tensor = row.tensor,
          .has_ideal = !std::isnan(row.ideal),
          .is_stale = row.is_stale(),
          .nonzero = row.counts.nonzero().high,
          .saturated = row.counts.overflow};
}

layer_cell cell_of(layer_metric metric, const layer_scale& of) {
  if (metric == layer_metric::stale) {
    const double is = of.is_stale ? 1 : 0;
    return {.part = {is, is}, .whole = {1, 1}, .known = of.has_ideal};
  }
  const auto nonzero = static_cast<double>(of.nonzero);
  return {.part = {static_cast<double>(of.saturated.low), static_cast<double>(of.saturated.high)},
          .whole = {nonzero, nonzero},
          .known = of.nonzero > 0};
}

}  // namespace ulp
