// What becomes of each array under a block row: read whole, quantized tensor by tensor, written member by member.
#include <ulp/io/arrays/convert_blocks.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>

#include <ulp/formats/codec.hpp>
#include <ulp/formats/random_bits.hpp>
#include <ulp/io/arrays/npz.hpp>
#include <ulp/io/bytes/error.hpp>

#include "arrays.hpp"
#include "bytes/text.hpp"
#include "chunks.hpp"

namespace ulp {
namespace {

using namespace io;

using shape_of_array = std::vector<std::uint64_t>;

std::uint64_t product(const shape_of_array& shape, std::size_t first, std::size_t end) {
  return std::accumulate(shape.begin() + static_cast<std::ptrdiff_t>(first),
                         shape.begin() + static_cast<std::ptrdiff_t>(end), std::uint64_t{1}, std::multiplies<>{});
}

template <class Element>
std::string_view bytes_of(const std::vector<Element>& elements) {
  static_assert(std::endian::native == std::endian::little);
  return {reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(Element)};
}

// Rows that belong to one tensor, with its amax where the file says it.
struct tensor_rows {
  std::size_t first = 0;
  std::size_t count = 0;
  std::vector<float> amax{};
};

// What is made of one array.
struct quantized {
  std::vector<float> x;  // as it was quantized
  std::vector<std::uint8_t> codes;
  std::vector<std::uint8_t> scale_codes;
  std::vector<float> scale_numbers;
  std::vector<float> numbers;
  std::vector<float> amax;  // of the second level
};

void add_errors(const quantized& q, block_counts& counts) {
  for (std::size_t i = 0; i < q.x.size(); ++i) {
    const double x = static_cast<double>(q.x[i]);
    const double error = x - static_cast<double>(q.numbers[i]);
    if (q.numbers[i] != q.numbers[i]) ++counts.nan;
    if (x == 0)
      ++counts.zeros;
    else if (q.numbers[i] == 0)
      ++counts.newly_zero;
    if (!std::isfinite(error)) continue;
    counts.energy += x * x;
    counts.error_energy += error * error;
  }
}

// Two codes in a byte, the first in the low half.
std::vector<std::uint8_t> in_pairs(const std::vector<std::uint8_t>& codes) {
  std::vector<std::uint8_t> packed((codes.size() + 1) / 2);
  for (std::size_t i = 0; i < codes.size(); ++i)
    packed[i / 2] = static_cast<std::uint8_t>(packed[i / 2] | codes[i] << (i % 2 * 4));
  return packed;
}

// Tiles of 128 x 4 in which row r has its four codes at (r mod 32) * 16 + (r div 32) * 4: cuBLAS, "1D Block Scaling Factors
// Layout"; torchao to_blocked.
std::vector<std::uint8_t> in_tiles(const std::vector<std::uint8_t>& scales, std::size_t rows, std::size_t columns) {
  const std::size_t down = (rows + 127) / 128;
  const std::size_t across = (columns + 3) / 4;
  std::vector<std::uint8_t> tiles(down * across * 512);
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < columns; ++c)
      tiles[(r / 128 * across + c / 4) * 512 + r % 32 * 16 + r % 128 / 32 * 4 + c % 4] = scales[r * columns + c];
  return tiles;
}

}  // namespace

block_counts& block_counts::operator+=(const block_counts& other) noexcept {
  zeros += other.zeros;
  newly_zero += other.newly_zero;
  clipped += other.clipped;
  nan += other.nan;
  blocks += other.blocks;
  energy += other.energy;
  error_energy += other.error_energy;
  return *this;
}

double block_counts::sqnr() const noexcept { return 10 * std::log10(energy / error_energy); }

struct block_file_conversion::state {
  std::string path;
  block_conversion_options options;
  std::unique_ptr<array_input> input;
  std::vector<std::size_t> chosen;
  std::vector<block_array> arrays;
  bool is_x = false;  // the array of that name alone, and what the file says of it

  state(const std::string& file, block_conversion_options given)
      : path(file), options(std::move(given)), input(open_array_file(path, options.limits)) {
    const auto& all = input->arrays();
    is_x =
        !options.selects && std::ranges::any_of(all, [](const stored_array& a) { return a.name == "x" && a.numbers; });
    for (std::size_t i = 0; i < all.size(); ++i) {
      const bool selected = is_x ? all[i].name == "x" : !options.selects || options.selects(all[i].name);
      if (!all[i].numbers || !selected) continue;
      chosen.push_back(i);
      arrays.push_back({.name = all[i].name, .from = all[i].type, .shape = all[i].shape, .numel = all[i].numel});
      static_cast<void>(axis_of(all[i]));
    }
    if (chosen.empty())
      throw input_error(path, "",
                        options.selects ? "--tensor selects no array of floating-point numbers"
                                        : "holds no array of floating-point numbers");
  }

  [[nodiscard]] const block_format& row() const { return *options.row; }

  [[noreturn]] void fail(const stored_array& array, const std::string& reason) const {
    throw input_error(path, "array " + in_quotes(array.name), reason);
  }

  // Of the array's shape, a scalar's being one element.
  [[nodiscard]] std::size_t axis_of(const stored_array& array) const {
    const auto dimensions = static_cast<int>(std::max<std::size_t>(1, array.shape.size()));
    const int axis = options.axis.value_or(-1);
    if (axis < -dimensions || axis >= dimensions)
      fail(array,
           "has " + std::to_string(array.shape.size()) + " dimensions: there is no axis " + std::to_string(axis));
    const int from_first = axis < 0 ? axis + dimensions : axis;
    if (from_first != dimensions - 1 && (row().block.rows != 1 || row().transposed_hadamard))
      fail(array,
           std::string{row().name} + " has blocks of several rows, which run along the last axis: leave out --axis");
    if (array.by_columns) fail(array, "is stored by columns (Fortran order): save numpy.ascontiguousarray of it");
    return static_cast<std::size_t>(from_first);
  }

  [[nodiscard]] std::vector<float> floats_of(std::size_t index) const {
    const stored_array& array = input->arrays()[index];
    std::vector<float> x(array.numel);
    chunk_converter chunks(binary32, {.of = binary32});
    chunks.start(*array.numbers, {.threads = options.threads});
    const auto in = input->open(index);
    for (std::size_t at = 0; at < x.size();) {
      const std::size_t size = std::min(x.size() - at, chunk_elements);
      in->read(chunks.input(size));
      const auto bytes = chunks.convert();
      std::memcpy(x.data() + at, bytes.data(), bytes.size());
      at += size;
    }
    return x;
  }

  // A member beside x, of a type whose elements are 4 bytes; empty where there is none.
  template <class Element>
  [[nodiscard]] std::vector<Element> beside(std::string_view name, std::string_view type) const {
    if (!is_x) return {};
    for (std::size_t i = 0; i < input->arrays().size(); ++i) {
      const stored_array& array = input->arrays()[i];
      if (array.name != name) continue;
      if (array.type != type) fail(array, "is of type " + array.type + ", not " + std::string{type});
      std::vector<Element> elements(array.numel);
      const auto in = input->open(i);
      in->read({reinterpret_cast<std::uint8_t*>(elements.data()), elements.size() * sizeof(Element)});
      return elements;
    }
    return {};
  }

  [[nodiscard]] std::optional<block_extent> block_beside(const stored_array& array) const {
    if (row().block.columns != 0) return {};
    const auto extents = beside<std::int32_t>("block", "<i4");
    if (extents.empty()) return {};
    if (extents.size() != 2 || extents[0] < 1 || extents[1] < 1) fail(array, "`block` is not two extents above 0");
    return block_extent{static_cast<std::size_t>(extents[0]), static_cast<std::size_t>(extents[1])};
  }

  // All rows are one tensor where nothing else is said.
  [[nodiscard]] std::vector<tensor_rows> tensors_of(const stored_array& array, std::size_t rows) const {
    const auto tensor = beside<std::int32_t>("tensor", "<i4");
    const auto amax = beside<float>("global_amax", "<f4");
    if (tensor.empty() || row().scales_rows) {
      if (!amax.empty() && amax.size() != (row().scales_rows ? rows : 1))
        fail(array,
             "has " + std::to_string(amax.size()) + " numbers in `global_amax`, and no `tensor` that says of what");
      return {{0, rows, amax}};
    }
    if (tensor.size() != rows)
      fail(array, "has " + std::to_string(rows) + " rows, and `tensor` " + std::to_string(tensor.size()));
    std::vector<tensor_rows> all;
    for (std::size_t r = 0; r < rows; ++r) {
      if (r > 0 && tensor[r] == tensor[r - 1]) {
        ++all.back().count;
        continue;
      }
      all.push_back({.first = r, .count = 1});
      if (amax.empty()) continue;
      if (tensor[r] < 0 || static_cast<std::size_t>(tensor[r]) >= amax.size())
        fail(array, "`tensor` has " + std::to_string(tensor[r]) + ", which `global_amax` has no number for");
      all.back().amax = {amax[static_cast<std::size_t>(tensor[r])]};
    }
    return all;
  }

  // Of rows of `columns` elements, in the order of blocks.
  quantized quantize(const stored_array& array, std::vector<float> x, std::size_t rows, std::size_t columns,
                     conversion_counts& counts) const {
    quantized q{.x = std::move(x)};
    q.codes.resize(q.x.size());
    q.numbers.resize(q.x.size());
    block_conversion how{.rounding = options.rounding,
                         .random = {.seed = options.seed, .stream = stream_of(array.name, 0)},
                         .threads = options.threads,
                         .block = block_beside(array)};
    for (const tensor_rows& tensor : tensors_of(array, rows)) {
      const std::size_t begin = tensor.first * columns;
      matrix_extent of{tensor.count, columns};
      const std::span<float> x_of{q.x.data() + begin, tensor.count * columns};
      if (row().transposed_hadamard) {
        if (of.rows % 16 != 0) fail(array, "has " + std::to_string(of.rows) + " rows, no multiple of 16");
        const std::vector<float> transformed = hadamard_of_transpose(x_of, of);
        std::ranges::copy(transformed, x_of.begin());
        of = {of.columns, of.rows};
      }
      const block_grid grid = grid_of(row(), of, how.block);
      const std::vector<float> found = tensor.amax.empty() ? tensor_amax(row(), x_of, of) : tensor.amax;
      how.tensor_amax = found;
      how.random.first = begin;
      std::vector<std::uint8_t> scale_codes(row().scale == scale_type::float32 ? 0 : grid.scales());
      std::vector<float> scale_numbers(row().scale == scale_type::float32 ? grid.scales() : 0);
      const scale_span scales = scale_numbers.empty() ? scale_span{scale_codes} : scale_span{scale_numbers};
      quantize_blocks(row(), x_of, of, std::span{q.codes}.subspan(begin, x_of.size()), scales, how,
                      std::span{q.numbers}.subspan(begin, x_of.size()), &counts);
      keep(grid, of, scale_codes, q.scale_codes);
      keep(grid, of, scale_numbers, q.scale_numbers);
      q.amax.insert(q.amax.end(), found.begin(), found.end());
    }
    return q;
  }

  // Once for each row of blocks, or for each row.
  template <class Scale>
  void keep(const block_grid& grid, matrix_extent of, const std::vector<Scale>& scales, std::vector<Scale>& all) const {
    if (scales.empty()) return;
    const std::size_t copies = row().scale_for_each_row ? grid.block.rows : 1;
    for (std::size_t down = 0; down < grid.down; ++down)
      for (std::size_t r = down * grid.block.rows; r < std::min(of.rows, down * grid.block.rows + copies); ++r)
        for (std::size_t across = 0; across < grid.across; ++across) all.push_back(scales[down * grid.across + across]);
  }

  void write(npz_writer& out, std::size_t n) {
    const stored_array& array = input->arrays()[chosen[n]];
    shape_of_array shape = array.shape.empty() ? shape_of_array{1} : array.shape;
    const std::size_t axis = axis_of(array);
    const axis_extent extent{product(shape, 0, axis), shape[axis], product(shape, axis + 1, shape.size())};
    std::vector<float> x = floats_of(chosen[n]);
    if (extent.inner != 1) {
      std::vector<float> rows(x.size());
      rows_along<float>(extent, x, rows);
      x = std::move(rows);
    }
    conversion_counts counts;
    quantized q = quantized_matrices(array, shape, extent.matrix(), std::move(x), counts);
    add_errors(q, arrays[n].counts);
    arrays[n].counts.clipped = counts.overflowed;
    arrays[n].counts.blocks = q.scale_codes.size() + q.scale_numbers.size();
    put(out, array, shape, axis, extent, q);
  }

  // Squares are of the last two dimensions, each matrix on its own.
  [[nodiscard]] quantized quantized_matrices(const stored_array& array, shape_of_array& shape, matrix_extent all,
                                             std::vector<float> x, conversion_counts& counts) const {
    const bool squares = row().block.rows > 1 || row().transposed_hadamard;
    const std::uint64_t matrices = squares && shape.size() > 2 ? product(shape, 0, shape.size() - 2) : 1;
    if (matrices == 1) {
      quantized q = quantize(array, std::move(x), all.rows, all.columns, counts);
      if (row().transposed_hadamard) transpose(array, shape, q);
      return q;
    }
    quantized joined;
    const std::size_t rows = shape[shape.size() - 2];
    const std::size_t size = rows * all.columns;
    for (std::uint64_t m = 0; m < matrices; ++m) {
      const auto from = x.begin() + static_cast<std::ptrdiff_t>(m * size);
      const quantized q = quantize(array, {from, from + static_cast<std::ptrdiff_t>(size)}, rows, all.columns, counts);
      const auto append = [](auto& to, const auto& part) { to.insert(to.end(), part.begin(), part.end()); };
      append(joined.x, q.x);
      append(joined.codes, q.codes);
      append(joined.scale_codes, q.scale_codes);
      append(joined.scale_numbers, q.scale_numbers);
      append(joined.numbers, q.numbers);
      append(joined.amax, q.amax);
    }
    if (row().transposed_hadamard) std::swap(shape[shape.size() - 2], shape[shape.size() - 1]);
    return joined;
  }

  // Tensors of as many rows, one below the other, each transposed.
  void transpose(const stored_array& array, shape_of_array& shape, const quantized&) const {
    if (shape.size() != 2) fail(array, "is no matrix, of which there is a transpose");
    const auto tensors = tensors_of(array, shape[0]);
    if (std::ranges::any_of(tensors, [&](const tensor_rows& t) { return t.count != tensors[0].count; }))
      fail(array, "has tensors of different numbers of rows, whose transposes make no matrix");
    const std::uint64_t rows = tensors[0].count;
    shape = {tensors.size() * shape[1], rows};
  }

  // With the blocks in place of what they divide.
  [[nodiscard]] shape_of_array scale_shape(const stored_array& array, shape_of_array shape, std::size_t axis,
                                           std::size_t scales) const {
    if (row().block.rows == 0 && !block_beside(array)) return {};
    const bool squares = row().block.rows > 1 && !row().scale_for_each_row;
    if (squares && shape.size() > 1) {
      std::uint64_t& rows = shape[shape.size() - 2];
      rows = (rows + row().block.rows - 1) / row().block.rows;
    }
    shape[axis] = 1;
    const std::uint64_t others = product(shape, 0, shape.size());
    shape[axis] = others == 0 ? 0 : scales / others;
    if (shape[axis] == 1) shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
    return shape;
  }

  // From the order of blocks to that of the array.
  template <class Element>
  void to_axis(axis_extent extent, std::vector<Element>& elements) const {
    if (extent.inner == 1 || elements.empty()) return;
    std::vector<Element> ordered(elements.size());
    from_rows_along<Element>({extent.outer, elements.size() / (extent.outer * extent.inner), extent.inner}, elements,
                             ordered);
    elements = std::move(ordered);
  }

  void put(npz_writer& out, const stored_array& array, const shape_of_array& shape, std::size_t axis,
           axis_extent extent, quantized& q) const {
    const std::string prefix = chosen.size() == 1 ? "" : array.name + ".";
    const std::size_t scales = q.scale_codes.size() + q.scale_numbers.size();
    shape_of_array of_scales = scale_shape(array, shape, axis, scales);
    to_axis(extent, q.codes);
    to_axis(extent, q.numbers);
    if (options.swizzled) {
      const std::size_t across = axis < of_scales.size() ? of_scales[axis] : 1;
      q.scale_codes = in_tiles(q.scale_codes, scales / std::max<std::size_t>(1, across), across);
      of_scales = {q.scale_codes.size()};
    } else {
      to_axis(extent, q.scale_codes);
      to_axis(extent, q.scale_numbers);
    }
    if (row().scale == scale_type::float32)
      out.add(prefix + "scale", "<f4", of_scales, bytes_of(q.scale_numbers));
    else
      out.add(prefix + "scale", "|u1", of_scales, bytes_of(q.scale_codes));
    if (options.packed) {
      shape_of_array halved = shape;
      if (halved.back() % 2 != 0 && halved.size() > 1)
        fail(array, "has rows of " + std::to_string(halved.back()) +
                        " elements, so that a byte would hold codes of two rows: leave out --packed");
      halved.back() = (halved.back() + 1) / 2;
      out.add(prefix + "codes", "|u1", halved, bytes_of(in_pairs(q.codes)));
    } else {
      out.add(prefix + "codes", "|u1", shape, bytes_of(q.codes));
    }
    out.add(prefix + "dequantized", "<f4", shape, bytes_of(q.numbers));
    if (!q.amax.empty()) out.add(prefix + "global_amax", "<f4", {q.amax.size()}, bytes_of(q.amax));
    if (row().transposed_hadamard) out.add(prefix + "transformed", "<f4", shape, bytes_of(q.x));
  }
};

block_file_conversion::block_file_conversion(const std::string& input, block_conversion_options options)
    : state_(std::make_unique<state>(input, std::move(options))) {}

block_file_conversion::~block_file_conversion() = default;

const std::vector<block_array>& block_file_conversion::arrays() const noexcept { return state_->arrays; }

std::uint64_t block_file_conversion::elements() const noexcept {
  std::uint64_t all = 0;
  for (const block_array& array : state_->arrays) all += array.numel;
  return all;
}

void block_file_conversion::write(const std::string& output, const std::function<void(std::uint64_t)>& advance) {
  npz_writer out(output);
  for (std::size_t n = 0; n < state_->chosen.size(); ++n) {
    state_->write(out, n);
    advance(state_->arrays[n].numel);
  }
  out.finish();
}

}  // namespace ulp
