// Optimizers as the libraries step them, and blockwise quantization.
#include <fmt/format.h>
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <ulp/formats/blocks.hpp>
#include <ulp/formats/codebooks.hpp>
#include <ulp/model/optimizers/optimizer.hpp>
#include <vector>

#include "array_numbers.hpp"
#include "module.hpp"

namespace ulp::python {
namespace {

namespace py = pybind11;

using floats = py::array_t<float, py::array::c_style>;
using bytes = py::array_t<std::uint8_t, py::array::c_style>;
using words = py::array_t<std::uint16_t, py::array::c_style>;

template <class T, int Flags>
std::span<const T> span_of(const py::array_t<T, Flags>& array) {
  return {array.data(), static_cast<std::size_t>(array.size())};
}

template <class T>
py::array_t<T> array_of(std::span<const T> values) {
  py::array_t<T> made(static_cast<py::ssize_t>(values.size()));
  std::copy(values.begin(), values.end(), made.mutable_data());
  return made;
}

parameter_value value_of(const py::object& value) {
  if (value.is_none()) return std::monostate{};
  if (py::isinstance<py::bool_>(value)) return value.cast<bool>();
  if (py::isinstance<py::str>(value)) return parse_parameter(value.cast<std::string>());
  return value.cast<double>();
}

py::object object_of(const parameter_value& value) {
  if (const auto* const word = std::get_if<std::string>(&value)) return py::str(*word);
  if (const auto* const number = std::get_if<double>(&value)) return py::float_(*number);
  if (const auto* const truth = std::get_if<bool>(&value)) return py::bool_(*truth);
  return py::none();
}

py::dict parameters_of(const std::vector<optimizer_parameter>& all) {
  py::dict made;
  for (const optimizer_parameter& p : all) made[py::str(p.name)] = object_of(p.value);
  return made;
}

optimizer made_optimizer(const std::string& dialect, std::size_t size, const std::string& weights,
                         const std::string& rounding, std::uint64_t seed, const std::string& tensor,
                         const py::dict& parameters) {
  optimizer_setup setup{.size = size, .weights = array_format_named(weights), .seed = seed, .tensor = tensor};
  const auto how = parse_weight_rounding(rounding);
  if (!how)
    throw std::invalid_argument("weight_rounding: must be own, nearest, stochastic or kahan, not '" + rounding + "'");
  setup.rounding = *how;
  for (const auto& [name, value] : parameters)
    setup.parameters.emplace_back(name.cast<std::string>(), value_of(py::reinterpret_borrow<py::object>(value)));
  return make_optimizer(dialect, setup);
}

// g and bits are read, w is written where it lies.
void step(optimizer& of, const floats& g, floats& w, const std::optional<words>& bits) {
  const std::span<float> weights{w.mutable_data(), static_cast<std::size_t>(w.size())};
  const std::span<const std::uint16_t> random = bits ? span_of(*bits) : std::span<const std::uint16_t>{};
  const std::span<const float> gradients = span_of(g);
  const py::gil_scoped_release others_run;
  of.step(gradients, weights, random);
}

py::dict state(const optimizer& of) {
  py::dict all;
  for (const optimizer_state& s : of.state())
    std::visit([&](auto values) { all[py::str(s.name)] = array_of(values); }, s.values);
  return all;
}

py::list dialects() {
  py::list all;
  for (const optimizer_entry& entry : optimizer_catalog()) {
    py::dict row;
    row["dialect"] = std::string{entry.name};
    row["aliases"] = std::vector<std::string>(entry.aliases.begin(), entry.aliases.end());
    row["family"] = std::string{entry.family};
    row["summary"] = std::string{entry.summary};
    row["states"] = std::string{entry.states};
    row["defaults"] = parameters_of(entry.parameters);
    row["rules"] = std::string{entry.rules};
    row["quirks"] = std::string{entry.quirks};
    row["source"] = std::string{entry.source};
    all.append(row);
  }
  return all;
}

map_arithmetic arithmetic_named(const std::string& name) {
  for (const map_arithmetic how :
       {map_arithmetic::torch26_nofma, map_arithmetic::torch26_fma, map_arithmetic::correctly_rounded})
    if (to_string(how) == name) return how;
  throw std::invalid_argument("arithmetic: must be torch26_nofma, torch26_fma or correctly_rounded, not '" + name +
                              "'");
}

block_codec codec_of(const std::string& name, const floats& map) {
  if (const block_row* const entry = find_block_row(name)) return {entry->quantizer, span_of(map)};
  std::string known;
  for (const block_row& entry : block_rows()) known += (known.empty() ? "" : ", ") + std::string{entry.name};
  throw std::invalid_argument(fmt::format("quantizer: there is no '{}'; there are {}", name, known));
}

void expect_block(py::ssize_t block_size) {
  if (block_size < 1) throw std::invalid_argument(fmt::format("block_size: must be from 1, not {}", block_size));
}

py::tuple quantize(const floats& x, const std::string& quantizer, const floats& map, py::ssize_t block_size) {
  expect_block(block_size);
  const block_codec codec = codec_of(quantizer, map);
  const std::span<const float> numbers = span_of(x);
  const auto block = static_cast<std::size_t>(block_size);
  py::array_t<std::uint8_t> codes(x.size());
  py::array_t<float> absmax(static_cast<py::ssize_t>(block_count(numbers.size(), block)));
  const std::span<std::uint8_t> to{codes.mutable_data(), numbers.size()};
  const std::span<float> scales{absmax.mutable_data(), static_cast<std::size_t>(absmax.size())};
  {
    const py::gil_scoped_release others_run;
    codec.quantize(numbers, block, to, scales);
  }
  return py::make_tuple(codes, absmax);
}

py::array_t<float> dequantize(const bytes& codes, const floats& absmax, const std::string& quantizer, const floats& map,
                              py::ssize_t block_size) {
  expect_block(block_size);
  const block_codec codec = codec_of(quantizer, map);
  py::array_t<float> x(codes.size());
  const std::span<float> to{x.mutable_data(), static_cast<std::size_t>(x.size())};
  const std::span<const std::uint8_t> from = span_of(codes);
  const std::span<const float> scales = span_of(absmax);
  {
    const py::gil_scoped_release others_run;
    codec.dequantize(from, scales, static_cast<std::size_t>(block_size), to);
  }
  return x;
}

py::list quantizers() {
  py::list all;
  for (const block_row& entry : block_rows())
    all.append(py::make_tuple(std::string{entry.name}, std::string{entry.summary}, std::string{entry.normalize},
                              std::string{entry.nearest}, std::string{entry.specials}, entry.whole_blocks_only));
  return all;
}

}  // namespace

void bind_optim(py::module_& module) {
  py::class_<optimizer>(module, "Optimizer")
      .def(py::init(&made_optimizer))
      .def("copy", [](const optimizer& of) { return optimizer(of); })
      .def("dialect", [](const optimizer& of) { return std::string{of.entry().name}; })
      .def("size", &optimizer::size)
      .def("steps", &optimizer::steps)
      .def("micro_batches", &optimizer::micro_batches)
      .def("gradient_norm", &optimizer::gradient_norm)
      .def("parameters", [](const optimizer& of) { return parameters_of(of.parameters()); })
      .def("set_parameter", [](optimizer& of, const std::string& name,
                               const py::object& value) { of.set_parameter(name, value_of(value)); })
      .def("state", &state)
      .def("step", &step, py::arg("g"), py::arg("w").noconvert(), py::arg("bits"));
  module.def("optimizer_dialects", &dialects);
  module.def("block_quantizers", &quantizers);
  module.def("quantize_blockwise", &quantize);
  module.def("dequantize_blockwise", &dequantize);
  module.def("dynamic_map", [](bool is_signed, const std::string& how, int exponent_bits, int bits) {
    return array_of<float>(dynamic_map(is_signed, arithmetic_named(how), exponent_bits, bits));
  });
  module.def("linear_map", [](bool is_signed, const std::string& how) {
    return array_of<float>(linear_map(is_signed, arithmetic_named(how)));
  });
  module.def("map_4bit", [](bool is_signed, const std::string& how) {
    return array_of<float>(map_4bit(is_signed, arithmetic_named(how)));
  });
}

}  // namespace ulp::python
