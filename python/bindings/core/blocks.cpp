// Formats of blocks: arrays to codes and scales, and back.
#include <fmt/format.h>
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <ulp/formats/block_formats.hpp>
#include <ulp/formats/names.hpp>
#include <vector>

#include "array_numbers.hpp"
#include "module.hpp"

namespace ulp::python {
namespace {

namespace py = pybind11;

using floats = py::array_t<float, py::array::c_style>;
using bytes = py::array_t<std::uint8_t, py::array::c_style>;

template <class T, int Flags>
std::span<const T> span_of(const py::array_t<T, Flags>& array) {
  return {array.data(), static_cast<std::size_t>(array.size())};
}
template <class T, int Flags>
std::span<T> place_in(py::array_t<T, Flags>& array) {
  return {array.mutable_data(), static_cast<std::size_t>(array.size())};
}

const block_format& row_named(std::string_view name, std::string_view dialect) {
  if (const block_format* const row = find_block_format(name, dialect)) return *row;
  const parsed<const block_format*> meant = read_block_format(name);
  if (!meant.value) throw std::invalid_argument(fmt::format("format: {}; block_formats() has them", meant.error));
  if (dialect.empty()) return **meant.value;
  std::string known;
  for (const block_dialect& d : block_dialects())
    if (find_block_format(d.format) == &listed_row(**meant.value))
      known += fmt::format("{}{}", known.empty() ? "" : ", ", d.dialect);
  throw std::invalid_argument(
      fmt::format("dialect: '{}' of {} is not known; there are {}", dialect, name, known.empty() ? "none" : known));
}

bool is_block_format(const std::string& name) { return find_block_format(name) != nullptr; }

// What Python shapes its arrays by: canonical name, rows of a block, columns of a block, whether scales are numbers, whether
// the transpose is quantized, bits of a code, whether scales are kept for each row.
py::tuple row(const std::string& name, const std::string& dialect) {
  const block_format& r = row_named(name, dialect);
  return py::make_tuple(std::string{r.name}, r.block.rows, r.block.columns, r.scale == scale_type::float32,
                        r.transposed_hadamard, r.element.width, r.scale_for_each_row);
}

// x, a matrix, to (codes, scales, numbers, amax of the second level).
py::tuple quantize(const std::string& name, const floats& x, std::size_t rows, std::size_t columns,
                   const std::optional<floats>& amax, const std::optional<array_conversion>& rounding,
                   std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  const block_format& r = row_named(name, "");
  const matrix_extent of{rows, columns};
  const block_grid grid = grid_of(r, of);
  const auto size = static_cast<py::ssize_t>(rows * columns);
  const bool is_number = r.scale == scale_type::float32;
  bytes codes(size);
  floats numbers(size);
  floats scale_numbers(is_number ? static_cast<py::ssize_t>(grid.scales()) : 0);
  bytes scale_codes(is_number ? 0 : static_cast<py::ssize_t>(grid.scales()));
  const std::span<const float> from = span_of(x);
  const std::span<std::uint8_t> to = place_in(codes);
  const std::span<float> values = place_in(numbers);
  const scale_span scales = is_number ? scale_span{place_in(scale_numbers)} : scale_span{place_in(scale_codes)};
  std::vector<float> level;
  if (amax) level.assign(span_of(*amax).begin(), span_of(*amax).end());
  {
    const py::gil_scoped_release others_run;
    if (level.empty()) level = tensor_amax(r, from, of);
    block_conversion how{.tensor_amax = level, .random = {.seed = seed, .stream = stream, .first = index}};
    if (rounding) how.rounding = rounding->how.rounding;
    quantize_blocks(r, from, of, to, scales, how, values);
  }
  py::array_t<float> second(static_cast<py::ssize_t>(level.size()));
  std::copy(level.begin(), level.end(), second.mutable_data());
  return py::make_tuple(codes, is_number ? py::object(scale_numbers) : py::object(scale_codes), numbers, second);
}

floats dequantize(const std::string& name, const bytes& codes, const py::object& scales, std::size_t rows,
                  std::size_t columns, const std::optional<floats>& amax) {
  const block_format& r = row_named(name, "");
  const bool is_number = r.scale == scale_type::float32;
  const floats scale_numbers = is_number ? scales.cast<floats>() : floats(0);
  const bytes scale_codes = is_number ? bytes(0) : scales.cast<bytes>();
  const const_scale_span kept =
      is_number ? const_scale_span{span_of(scale_numbers)} : const_scale_span{span_of(scale_codes)};
  floats numbers(static_cast<py::ssize_t>(rows * columns));
  const std::span<float> to = place_in(numbers);
  const std::span<const std::uint8_t> from = span_of(codes);
  const std::span<const float> level = amax ? span_of(*amax) : std::span<const float>{};
  {
    const py::gil_scoped_release others_run;
    dequantize_blocks(r, from, kept, {rows, columns}, to, {.tensor_amax = level});
  }
  return numbers;
}

floats transformed(const floats& x, std::size_t rows, std::size_t columns) {
  const std::vector<float> made = hadamard_of_transpose(span_of(x), {rows, columns});
  floats numbers(static_cast<py::ssize_t>(made.size()));
  std::copy(made.begin(), made.end(), numbers.mutable_data());
  return numbers;
}

py::list rows() {
  py::list all;
  for (const block_format& r : block_formats()) {
    using namespace py::literals;
    py::list names;
    for (const block_alias& alias : block_aliases())
      if (alias.stands_for == r.name) names.append(std::string{alias.name});
    all.append(py::dict("name"_a = std::string{r.name}, "names"_a = names, "summary"_a = std::string{r.summary},
                        "element"_a = std::string{r.element.name}, "bits"_a = r.element.width,
                        "block"_a = py::make_tuple(r.block.rows, r.block.columns),
                        "scale"_a = r.scale == scale_type::float32 ? "float32"
                                    : r.scale == scale_type::e4m3  ? "float8_e4m3fn"
                                                                   : "float8_e8m0",
                        "rounding"_a = to_string(rounding{.direction = r.rounding}),
                        "source"_a = std::string{r.source}));
  }
  return all;
}

}  // namespace

void bind_blocks(py::module_& module) {
  module.def("is_block_format", &is_block_format);
  module.def("block_format", &row);
  module.def("block_format_rows", &rows);
  module.def("quantize_blocks", &quantize);
  module.def("dequantize_blocks", &dequantize);
  module.def("hadamard_of_transpose", &transformed);
}

}  // namespace ulp::python
