// What rounding to a format does to each tensor in each column of steps: as parts of sums, so that tensors and columns are
// added before a share is taken.
#ifndef ULP_REPORT_PICTURES_LAYER_METRICS_HPP
#define ULP_REPORT_PICTURES_LAYER_METRICS_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <ulp/ask/columns/run_picture.hpp>
#include <ulp/ask/progress/listener.hpp>
#include <ulp/formats/format.hpp>
#include <ulp/formats/rounding.hpp>

namespace ulp {

enum class layer_metric : std::uint8_t {
  underflow,  // share of nonzero values that become zero
  subnormal,  // share of nonzero values whose result is subnormal
  overflow,   // share of nonzero values
  lost_l1,    // share of the sum of magnitudes that underflow takes
  lost_l2,    // share of the L2 norm likewise
  sqnr,       // signal to rounding noise, in decibels
  zeros,      // share of all values that were zero before rounding
  largest,    // log2 of the largest magnitude of the true gradient
  headroom,   // binades between the largest scaled gradient and overflow
  // Share of updates that weights in the format lose without a master copy: not of the values, see layer_updates.hpp.
  lost_updates,
  // Under an FP8 recipe, see layer_scales.hpp: values that are above what its scale takes to the largest number,
  // share of nonzero;
  saturated,
  stale,  // and the share of steps in which the scale is off by more than a binade
};

// The lower a value, the worse it is.
[[nodiscard]] constexpr bool low_is_bad(layer_metric m) noexcept {
  return m == layer_metric::headroom || m == layer_metric::sqnr;
}
[[nodiscard]] constexpr bool is_share(layer_metric m) noexcept {
  return m != layer_metric::sqnr && m != layer_metric::largest && m != layer_metric::headroom;
}
// Whether there is a line that a value may cross: a share above 0, headroom below 0.
[[nodiscard]] constexpr bool has_threshold(layer_metric m) noexcept {
  return is_share(m) || m == layer_metric::headroom;
}
// Whether an FP8 recipe is replayed for it.
[[nodiscard]] constexpr bool is_of_recipe(layer_metric m) noexcept {
  return m == layer_metric::saturated || m == layer_metric::stale;
}
// Whether the format matters, or the recipe.
[[nodiscard]] constexpr bool is_of_format(layer_metric m) noexcept {
  return m != layer_metric::zeros && m != layer_metric::largest;
}
// Whether the loss scale matters, too.
[[nodiscard]] constexpr bool is_of_scale(layer_metric m) noexcept {
  return is_of_format(m) && m != layer_metric::lost_updates && !is_of_recipe(m);
}

struct layer_question {
  layer_metric metric = layer_metric::underflow;
  format to;
  rounding mode;
  friend bool operator==(const layer_question&, const layer_question&) = default;
};

// Of some values in some steps. Of the largest magnitude a maximum, of all others sums.
struct layer_cell {
  value_range part;   // what is lost, counted or measured
  value_range whole;  // and of how much
  double open = 0;    // so much is in the upper ends of both, and the same: lost_updates::open_zeros
  bool modelled = false;
  bool known = false;  // some value is there to tell of
};
// `into` becomes that of both.
void add(layer_metric metric, layer_cell& into, const layer_cell& other);

// The values of a table, in steps whose loss scales are `scales.low` to `scales.high`: bounds where they differ. Of lost updates
// and of what a recipe does they tell nothing.
[[nodiscard]] layer_cell cell_of(const layer_question& question, const tensor_tables::entry& of,
                                 const value_range& scales);

// NaN where nothing is known.
[[nodiscard]] value_range value_of(const layer_question& question, const layer_cell& cell);
// Crosses the threshold for certain, or perhaps. Precondition: has_threshold.
[[nodiscard]] bool crosses(const layer_question& question, const layer_cell& cell);
[[nodiscard]] bool may_cross(const layer_question& question, const layer_cell& cell);

// "0.0075 %", "[52.76, 72.05] %", "~73.6 dB", "-3.2", in the digits of `ulp outcomes`; empty where nothing is known.
[[nodiscard]] std::string value_text(const layer_question& question, const layer_cell& cell);
[[nodiscard]] std::string value_text(const layer_question& question, const value_range& value, bool modelled);

struct layer_column {
  const tensor_tables* tables = nullptr;
  value_range scales;
  friend bool operator==(const layer_column&, const layer_column&) = default;
};

struct layer_answer {
  layer_question question;
  std::size_t tensors = 0;
  std::vector<layer_cell> cells;  // of column c and tensor t at c * tensors + t

  [[nodiscard]] const layer_cell& at(std::size_t column, std::size_t tensor) const {
    return cells[column * tensors + tensor];
  }
};

// A few microseconds for each tensor and column.
[[nodiscard]] layer_answer answer_to(const layer_question& question, const std::vector<layer_column>& columns,
                                     std::size_t tensors, listener& to);

}  // namespace ulp

#endif
