#include "block_layout.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

#include <ulp/io/bytes/error.hpp>
#include <ulp/model/cells/byte_order.hpp>

#include "bytes/text.hpp"

namespace ulp::io {
namespace {

[[noreturn]] void fail(const std::string& path, const stored_array& array, const std::string& reason) {
  throw input_error(path, "array " + in_quotes(array.name), reason);
}

// Elements of 4 bytes; none where there is no such array.
template <class Element>
std::vector<Element> elements_named(const std::string& path, const array_input& input, const std::string& name,
                                    std::string_view type) {
  const stored_array* const array = array_named(input, name);
  if (array == nullptr) return {};
  if (array->type != type) fail(path, *array, "is of type " + array->type + ", not " + std::string{type});
  std::vector<Element> elements(array->numel);
  const auto in = input.open(static_cast<std::size_t>(array - input.arrays().data()));
  const std::span bytes{reinterpret_cast<std::uint8_t*>(elements.data()), elements.size() * sizeof(Element)};
  in->read(bytes);
  reverse_unless_native(bytes, sizeof(Element), std::endian::little);
  return elements;
}

}  // namespace

std::uint64_t product(const array_shape& shape, std::size_t first, std::size_t end) {
  return std::accumulate(shape.begin() + static_cast<std::ptrdiff_t>(first),
                         shape.begin() + static_cast<std::ptrdiff_t>(end), std::uint64_t{1}, std::multiplies<>{});
}

std::string text_of(const array_shape& shape) {
  std::string text;
  for (const std::uint64_t n : shape) text += (text.empty() ? "" : ", ") + std::to_string(n);
  return "(" + text + (shape.size() == 1 ? ",)" : ")");
}

bool same_shape(const array_shape& a, const array_shape& b) {
  const auto without_ones = [](array_shape shape) {
    std::erase(shape, 1U);
    return shape;
  };
  return without_ones(a).size() <= 1 || without_ones(a) == without_ones(b);
}

const stored_array* array_named(const array_input& input, std::string_view name) {
  const auto found = std::ranges::find(input.arrays(), name, &stored_array::name);
  return found == input.arrays().end() ? nullptr : &*found;
}

std::vector<std::uint8_t> bytes_of(const std::string& path, const array_input& input, const stored_array& array,
                                   std::size_t element, const block_format& row) {
  const bool is_float32 = array.type == "<f4" || array.type == "F32";
  const bool is_byte =
      array.type.ends_with('1') || array.type == "U8" || array.type == "I8" || array.type.starts_with("F8_");
  if (element == 4 ? !is_float32 : !is_byte)
    fail(path, array,
         "is of type " + array.type + ", not of " +
             (element == 4 ? "float32 numbers" : "bytes: codes, as " + std::string{row.name} + " stores it"));
  if (array.by_columns) fail(path, array, "is stored by columns (Fortran order): save numpy.ascontiguousarray of it");
  std::vector<std::uint8_t> all(array.numel * element);
  input.open(static_cast<std::size_t>(&array - input.arrays().data()))->read(all);
  return all;
}

stated_blocks stated_beside(const std::string& path, const array_input& input, const std::string& prefix,
                            const stored_array& array, const block_format& row) {
  stated_blocks stated{.tensor = elements_named<std::int32_t>(path, input, prefix + "tensor", "<i4"),
                       .amax = elements_named<float>(path, input, prefix + "global_amax", "<f4"),
                       .block = {}};
  if (row.block.columns != 0) return stated;
  const auto extents = elements_named<std::int32_t>(path, input, prefix + "block", "<i4");
  if (extents.empty()) return stated;
  if (extents.size() != 2 || extents[0] < 1 || extents[1] < 1) fail(path, array, "`block` is not two extents above 0");
  stated.block = {static_cast<std::size_t>(extents[0]), static_cast<std::size_t>(extents[1])};
  return stated;
}

std::vector<tensor_rows> tensors_of(const std::string& path, const stored_array& array, const block_format& row,
                                    std::size_t rows, const stated_blocks& stated) {
  const auto& [tensor, amax, block] = stated;
  if (tensor.empty() || row.scales_rows) {
    if (!amax.empty() && amax.size() != (row.scales_rows ? rows : 1))
      fail(path, array,
           "has " + std::to_string(amax.size()) + " numbers in `global_amax`, and no `tensor` that says of what");
    return {{0, rows, amax}};
  }
  if (tensor.size() != rows)
    fail(path, array, "has " + std::to_string(rows) + " rows, and `tensor` " + std::to_string(tensor.size()));
  std::vector<tensor_rows> all;
  for (std::size_t r = 0; r < rows; ++r) {
    if (r > 0 && tensor[r] == tensor[r - 1]) {
      ++all.back().count;
      continue;
    }
    all.push_back({.first = r, .count = 1});
    if (amax.empty()) continue;
    if (tensor[r] < 0 || static_cast<std::size_t>(tensor[r]) >= amax.size())
      fail(path, array, "`tensor` has " + std::to_string(tensor[r]) + ", which `global_amax` has no number for");
    all.back().amax = {amax[static_cast<std::size_t>(tensor[r])]};
  }
  return all;
}

std::size_t axis_of(const std::string& path, const stored_array& array, const block_format& row,
                    std::optional<int> asked) {
  const auto dimensions = static_cast<int>(std::max<std::size_t>(1, array.shape.size()));
  const int axis = asked.value_or(-1);
  if (axis < -dimensions || axis >= dimensions)
    fail(path, array,
         "has " + std::to_string(array.shape.size()) + " dimensions: there is no axis " + std::to_string(axis));
  const int from_first = axis < 0 ? axis + dimensions : axis;
  if (from_first != dimensions - 1 && (row.block.rows > 1 || row.transposed_hadamard))
    fail(path, array,
         std::string{row.name} + " has blocks of several rows, which run along the last axis: leave out --axis");
  if (array.by_columns) fail(path, array, "is stored by columns (Fortran order): save numpy.ascontiguousarray of it");
  if (row.block.rows == 0) return static_cast<std::size_t>(dimensions - 1);  // one scale, whatever the axis
  return static_cast<std::size_t>(from_first);
}

std::uint64_t matrices_in(const array_shape& shape, const block_format& row) {
  const bool squares = row.block.rows > 1 || row.transposed_hadamard;
  return squares && shape.size() > 2 ? product(shape, 0, shape.size() - 2) : 1;
}

array_shape scale_shape(const quantized_array& q, const block_format& row, const stated_blocks& stated) {
  if (row.block.rows == 0 && !stated.block) return q.scales() == 0 ? array_shape{0} : array_shape{};
  array_shape shape = q.shape;
  if (row.block.rows > 1 && !row.scale_for_each_row && shape.size() > 1) {
    std::uint64_t& rows = shape[shape.size() - 2];
    rows = (rows + row.block.rows - 1) / row.block.rows;
  }
  shape[q.axis] = 1;
  const std::uint64_t others = product(shape, 0, shape.size());
  shape[q.axis] = others == 0 ? 0 : q.scales() / others;
  if (shape[q.axis] == 1) shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(q.axis));
  return shape;
}

}  // namespace ulp::io
