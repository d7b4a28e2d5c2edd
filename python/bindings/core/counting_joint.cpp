// The joint table of a tensor's weights and updates, as python/ulpscope/_counting/joint.py makes it.
#include <pybind11/stl.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <ulp/formats/convert.hpp>
#include <ulp/formats/processor_state.hpp>
#include <ulp/io/encoding/joint_content.hpp>
#include <ulp/model/cells/element_types.hpp>
#include <ulp/model/updates/joint_table.hpp>

#include "counting.hpp"

namespace py = pybind11;

namespace ulp::python {
namespace {

// Values of an array in memory, aligned or not, as doubles, some at a time.
class double_reader {
 public:
  explicit double_reader(const value_array& of) : of_(of) {}

  std::span<const double> read(std::size_t first, std::size_t size) {
    doubles_.resize(size);
    if (of_.type == dtype::float64) {
      copy(first, doubles_);
    } else if (of_.type == dtype::float32) {
      floats_.resize(size);
      copy(first, floats_);
      std::copy(floats_.begin(), floats_.end(), doubles_.begin());
    } else if (size_of(of_.type) == 2) {
      decode(first, size, codes16_);
    } else {
      decode(first, size, codes8_);
    }
    return doubles_;
  }

 private:
  template <typename Value>
  void copy(std::size_t first, std::vector<Value>& into) const {
    std::memcpy(into.data(), static_cast<const Value*>(of_.values) + first, into.size() * sizeof(Value));
  }
  template <typename Code>
  void decode(std::size_t first, std::size_t size, std::vector<Code>& codes) {
    codes.resize(size);
    copy(first, codes);
    decode_array(*format_of_codes(of_.type), std::span<const Code>{codes}, std::span{doubles_}, 1);
  }

  value_array of_;
  std::vector<double> doubles_;
  std::vector<float> floats_;
  std::vector<std::uint16_t> codes16_;
  std::vector<std::uint8_t> codes8_;
};

py::bytes joint_of(const array_tuple& weights, const array_tuple& updates) {
  constexpr std::size_t at_once = std::size_t{1} << 14;
  const value_array w = array_at(weights);
  const value_array d = array_at(updates);
  if (w.size != d.size) throw std::invalid_argument("a weight and its update have different sizes");
  std::string content;
  {
    const py::gil_scoped_release released;
    const default_processor_state processor;  // the job may take subnormal numbers for zero
    double_reader of_weights(w);
    double_reader of_updates(d);
    joint_counter counter;
    for (std::size_t first = 0; first < w.size; first += at_once) {
      const std::size_t size = std::min(at_once, w.size - first);
      counter.add(of_weights.read(first, size), of_updates.read(first, size));
    }
    content = joint_content({.tensor = {}, .weight_type = w.type, .table = counter.take()});
  }
  return {content};
}

}  // namespace

void bind_joint(py::module_& counting) {
  counting.def("joint_content", &joint_of, py::arg("weights"), py::arg("updates"),
               "The joint table of two arrays in memory as the content of a row of `extra`.");
}

}  // namespace ulp::python
