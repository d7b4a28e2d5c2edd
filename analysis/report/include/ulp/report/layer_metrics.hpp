// One number for each tensor and column of a run.
#ifndef ULP_REPORT_LAYER_METRICS_HPP
#define ULP_REPORT_LAYER_METRICS_HPP

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include <ulp/formats/format.hpp>
#include <ulp/formats/rounding.hpp>
#include <ulp/report/run_picture.hpp>

namespace ulp {

enum class layer_metric : std::uint8_t {
  underflow,  // share of nonzero values that become zero
  subnormal,  // share of nonzero values whose result is subnormal
  overflow,   // share of nonzero values
  zeros,      // share of all values that were zero before rounding
  largest,    // log2 of the largest magnitude of the true gradient
  headroom,   // binades between the largest scaled gradient and overflow
};

struct layer_question {
  layer_metric metric = layer_metric::underflow;
  format to;
  rounding mode;
  std::vector<double> scales;  // of each column
};

struct layer_answer {
  layer_metric metric = layer_metric::underflow;
  std::size_t tensors = 0;
  std::vector<double> values;  // of column c and tensor t at c * tensors + t; NaN where there is nothing to tell
  std::vector<double> rank;    // of each tensor: the mean over its columns; NaN likewise

  [[nodiscard]] double at(std::size_t column, std::size_t tensor) const { return values[column * tensors + tensor]; }
};

// A few microseconds for each tensor and column. `told` hears the share that is done; what it throws ends the work.
[[nodiscard]] layer_answer answer_to(const layer_question& question, const run_picture& run, std::size_t tensors,
                                     const std::function<void(double)>& told);

// The lower a value, the worse it is.
[[nodiscard]] constexpr bool low_is_bad(layer_metric m) noexcept { return m == layer_metric::headroom; }

}  // namespace ulp

#endif
