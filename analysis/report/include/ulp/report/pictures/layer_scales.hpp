// What an FP8 recipe does to each tensor in each step, as cells of the view of layers: the rows of `ulp replay
// --recipe`.
#ifndef ULP_REPORT_PICTURES_LAYER_SCALES_HPP
#define ULP_REPORT_PICTURES_LAYER_SCALES_HPP

#include <cstdint>
#include <vector>

#include <ulp/model/cells/step.hpp>
#include <ulp/model/replay/fp8_replay.hpp>
#include <ulp/report/pictures/layer_metrics.hpp>

namespace ulp {

// Of one tensor in one step.
struct layer_scale {
  std::int64_t step = 0;
  std::uint32_t tensor = 0;
  bool has_ideal = false;
  bool is_stale = false;
  std::uint64_t nonzero = 0;  // values; 0 where amaxes alone are known
  count_range saturated;
};
[[nodiscard]] layer_scale layer_scale_of(const fp8_row& row);

// Values that saturate, of those that are not zero; or whether the scale is stale, where there is an ideal one to
// judge by. Precondition: is_of_recipe(metric).
[[nodiscard]] layer_cell cell_of(layer_metric metric, const layer_scale& of);

}  // namespace ulp

#endif
