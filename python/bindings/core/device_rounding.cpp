// Conversions of arrays on a device, for the Python that launches its kernels: which one, and what it is told. Nothing here reads the
// device's memory.
#include <fmt/format.h>
#include <pybind11/stl.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <tuple>
#include <ulp/formats/codec.hpp>
#include <vector>

#include "array_numbers.hpp"
#include "device/by_codec.hpp"
#include "device/plans.hpp"
#include "module.hpp"

namespace ulp::python {
namespace {

namespace py = pybind11;

// Address, shape, strides in elements, bytes of an element, and a name of the format whose codes they are.
using device_array =
    std::tuple<std::uintptr_t, std::vector<std::ptrdiff_t>, std::vector<std::ptrdiff_t>, std::size_t, std::string>;

numbers numbers_on(const device_array& array) {
  const auto& [address, shape, strides, bytes, type] = array;
  numbers made{.view = {.data = reinterpret_cast<std::byte*>(address),
                        .shape = shape,
                        .strides = strides,
                        .bytes = bytes,
                        .writable = true},
               .format = format_named(type),
               .type = type};
  for (std::ptrdiff_t& stride : made.view.strides) stride *= static_cast<std::ptrdiff_t>(bytes);
  expect_element_size(made);
  return made;
}

template <class Plan>
py::bytes bytes_of(const Plan& plan) {
  return {reinterpret_cast<const char*>(&plan), sizeof plan};
}

device::codec_plan codec_plan_of(const numbers& x, const format& to, const conversion& how, const format& out,
                                 std::size_t out_bytes) {
  const unpacked scale = ulp::decode(how.scale);
  return {.elements = x.format,
          .to = to,
          .out = out,
          .rounding = how.rounding,
          .scale = scale.significand,
          .scale_exponent = scale.exponent,
          .element_bytes = static_cast<int>(x.view.bytes),
          .result_bytes = static_cast<int>(out_bytes),
          .seed = how.random.seed,
          .stream = how.random.stream,
          .first = how.random.first};
}

// Whether both arrays are spans with the same order of elements, and apart or one: else a copy of x in C order is converted to
// another one of out.
bool are_direct(numbers& x, numbers& out, bool in_any_order) {
  const bool overlaps = may_overlap(x.view, out.view) && !same_elements(x.view, out.view);
  const std::array views{&x.view, &out.view};
  flatten(views, in_any_order);
  return !overlaps && x.view.is_span() && out.view.is_span();
}

// The kernel, its plan, and whether it takes the arrays as they are.
py::tuple device_conversion(const array_conversion& c, const device_array& x_array, const device_array& out_array) {
  numbers x = numbers_on(x_array);
  numbers out = numbers_on(out_array);
  expect_output(out.view, x.view.shape);
  expect_holds(out, c.to, c.name);
  const bool direct = are_direct(x, out, !c.is_drawn());
  if (x.format == binary32 && out.format == binary32)
    if (const auto quick = device::plan_rounding(c.to, c.how))
      return py::make_tuple(quick->name(), bytes_of(quick->plan), direct);
  return py::make_tuple("convert", bytes_of(codec_plan_of(x, c.to, c.how, out.format, out.view.bytes)), direct);
}

// The plan, whether x is taken as it is.
py::tuple device_outcomes(const array_conversion& c, const device_array& x_array) {
  numbers x = numbers_on(x_array);
  const std::array views{&x.view};
  flatten(views, !c.is_drawn());
  return py::make_tuple(bytes_of(codec_plan_of(x, c.to, c.how, c.to, 0)), x.view.is_span());
}

// The plan, whether it takes the arrays as they are, and the bits that codes may have.
py::tuple device_decoding(const std::string& name, const device_array& codes, const device_array& out_array) {
  numbers out = numbers_on(out_array);
  const format f = array_format_named(name);
  numbers x{.view = {}, .format = f, .type = name};
  std::tie(std::ignore, x.view.shape, x.view.strides, x.view.bytes, std::ignore) = codes;
  x.view.data = reinterpret_cast<std::byte*>(std::get<0>(codes));
  for (std::ptrdiff_t& stride : x.view.strides) stride *= static_cast<std::ptrdiff_t>(x.view.bytes);
  expect_room_for_codes(x.view.bytes, f, name);
  expect_output(out.view, x.view.shape);
  expect_holds(out, f, name);
  const bool direct = are_direct(x, out, true);
  return py::make_tuple(bytes_of(codec_plan_of(x, out.format, {}, out.format, out.view.bytes)), direct, f.code_mask());
}

void device_refuse_code(const std::string& name, std::size_t i, std::uint64_t word) {
  refuse_code(i, word, format_named(name), name);
}

}  // namespace

void bind_device_rounding(py::module_& module) {
  module.def("device_conversion", device_conversion);
  module.def("device_outcomes", device_outcomes);
  module.def("device_decoding", device_decoding);
  module.def("device_refuse_code", device_refuse_code);
}

}  // namespace ulp::python
