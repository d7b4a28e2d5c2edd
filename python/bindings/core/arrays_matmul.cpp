// Products of matrices as matrix units make them.
#include <fmt/format.h>
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <ulp/formats/catalog.hpp>
#include <ulp/formats/convert.hpp>
#include <ulp/model/precision/matmul.hpp>
#include <ulp/model/precision/unit_choice.hpp>
#include <utility>
#include <vector>

#include "module.hpp"
#include "number_vector.hpp"

namespace ulp::python {
namespace {

namespace py = pybind11;

// The rows of a and the columns of b, `depth` each, and so their scales. A vector of float16 or of float32, as results are.
py::array matmul(const py::tuple& a_array, const py::tuple& b_array, std::size_t depth,
                 const std::optional<std::string>& in, const std::string& unit,
                 const std::optional<std::string>& accumulate, std::optional<std::uint32_t> promote, std::size_t split,
                 const std::optional<std::pair<py::tuple, py::tuple>>& scales, const std::string& scale_format,
                 std::uint32_t block) {
  if (split == 0) throw std::invalid_argument("split_k: 0 parts have no sum");
  const number_vector a(a_array, "a", in);
  const number_vector b(b_array, "b", in);
  if (a.own_format() == binary64 || b.own_format() == binary64)
    throw std::invalid_argument("a, b: elements are float64, which no matrix unit here multiplies; pass `format`");
  if (!(a.own_format() == b.own_format()))
    throw std::invalid_argument("a, b: elements are of two formats; pass `format`");
  const std::vector<std::uint32_t> a_codes = a.codes();
  const std::vector<std::uint32_t> b_codes = b.codes();
  unit_choice choice{.unit = unit, .accumulator = optional_format(accumulate), .promote = promote};
  std::vector<std::uint32_t> a_scales;
  std::vector<std::uint32_t> b_scales;
  matmul_operands x{a.own_format(), a_codes, b.own_format(), b_codes, depth, {}};
  if (scales) {
    a_scales = number_vector(scales->first, "scales of a", scale_format).codes();
    b_scales = number_vector(scales->second, "scales of b", scale_format).codes();
    choice.scale = array_format_named(scale_format);
    choice.block = block;
    x.scales = row_scales{*choice.scale, a_scales, b_scales, block};
  }
  const matmul_order order = split_order(accumulation_of(choice, a.own_format()), split);
  std::vector<std::uint32_t> codes;
  {
    const py::gil_scoped_release others_run;
    codes = ulp::matmul(order, x);
  }
  const auto size = static_cast<py::ssize_t>(codes.size());
  if (order.result() == float16) {
    py::array_t<std::uint16_t> halves(size);
    std::transform(codes.begin(), codes.end(), halves.mutable_data(),
                   [](std::uint32_t code) { return static_cast<std::uint16_t>(code); });
    return halves.attr("view")("float16");
  }
  py::array_t<float> numbers(size);
  decode_array(order.result(), std::span(std::as_const(codes)), std::span(numbers.mutable_data(), codes.size()));
  return numbers;
}

}  // namespace

void bind_matmul(py::module_& module) { module.def("matmul", matmul); }

}  // namespace ulp::python
