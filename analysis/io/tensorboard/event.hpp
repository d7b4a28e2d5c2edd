// The messages of TensorBoard's event files, as far as they are read: scalars and histograms, each in its old form
// (simple_value, HistogramProto) and as a tensor of a plugin. Source: tensorflow/core/util/event.proto, summary.proto,
// tensor.proto.
#ifndef ULP_IO_TENSORBOARD_EVENT_HPP
#define ULP_IO_TENSORBOARD_EVENT_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ulp/io/bytes/limits.hpp>

#include "bytes/cursor.hpp"

namespace ulp::io {

// HistogramProto. Value i was counted between limits[i - 1] (the first from the lowest double) and limits[i].
struct tf_histogram {
  double min = 0;
  double max = 0;
  double num = 0;
  double sum_squares = 0;
  std::vector<double> limits;
  std::vector<double> counts;
};

// TensorProto of DT_FLOAT or DT_DOUBLE; without values where it is of another type.
struct tf_tensor {
  bool is_double = false;
  std::vector<std::uint64_t> shape;
  std::vector<double> values;  // as stored: the last one stands for those that are missing
};

struct tf_value {
  std::string tag;
  std::string plugin;  // of the tag; only the first value of a tag names it
  std::optional<double> scalar;
  std::optional<tf_histogram> histogram;
  std::optional<tf_tensor> tensor;
};

struct tf_event {
  double wall_time = 0;
  std::int64_t step = 0;
  std::string version;    // of the first event of a file
  bool restarts = false;  // what was logged before of this step and later ones is void
  std::vector<tf_value> values;
};

// Throws input_error where the bytes are no such message, or hold more values than the limit of tensors: an empty value takes a hundred
// times its bytes.
[[nodiscard]] tf_event parse_event(cursor bytes, const read_limits& limits);

}  // namespace ulp::io

#endif
