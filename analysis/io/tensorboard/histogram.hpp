// What a histogram of TensorBoard tells of a tensor, as a cell table with buckets.
#ifndef ULP_IO_TENSORBOARD_HISTOGRAM_HPP
#define ULP_IO_TENSORBOARD_HISTOGRAM_HPP

#include <optional>
#include <stdexcept>

#include <ulp/model/cells/cell_table.hpp>

#include "event.hpp"

namespace ulp::io {

// A histogram that contradicts itself; the caller knows where it stands.
class histogram_error : public std::runtime_error {
  using runtime_error::runtime_error;
};

// Of HistogramProto. Smallest and largest value are exact and cut the buckets. Values that are in no bucket (numpy leaves
// out NaN, infinities and what exceeds the last edge, 1e20 by default) are NaN where the smallest and largest are NaN, else
// infinities where these are, else lie between the last edge and the largest. Lower limits belong to a bucket and upper
// ones do not, except for the last: so numpy.histogram and TensorFlow count.
[[nodiscard]] cell_table table_of(const tf_histogram& h);

// Of a tensor [k, 3] of the plugin "histograms": rows of left edge, right edge, count. Edges are widened by what the sums
// they come from were rounded by. nullopt where values are counted between edges that are no numbers, as they are once the
// tensor held a NaN or an infinity: nothing is known then.
[[nodiscard]] std::optional<cell_table> table_of(const tf_tensor& t);

}  // namespace ulp::io

#endif
