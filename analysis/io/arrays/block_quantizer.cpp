#include "block_quantizer.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include <ulp/formats/random_bits.hpp>
#include <ulp/io/bytes/error.hpp>
#include <ulp/model/cells/byte_order.hpp>

#include "bytes/grouped_notes.hpp"
#include "bytes/text.hpp"
#include "chunks.hpp"

namespace ulp::io {
namespace {

// Once for each row of blocks, or for each row.
template <class Scale>
void add_scales(const block_format& row, const block_part& part, const std::vector<Scale>& scales,
                std::vector<Scale>& all) {
  if (scales.empty()) return;
  const block_grid& grid = part.grid;
  const std::size_t copies = row.scale_for_each_row ? grid.block.rows : 1;
  for (std::size_t down = 0; down < grid.down; ++down)
    for (std::size_t r = down * grid.block.rows; r < std::min(part.of.rows, down * grid.block.rows + copies); ++r)
      for (std::size_t across = 0; across < grid.across; ++across) all.push_back(scales[down * grid.across + across]);
}

}  // namespace

bool same_number(float a, float b) {
  return (a != a && b != b) || std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

bool have_same_blocks(const quantized_array& a, const quantized_array& b) {
  return a.scales() == b.scales() && std::ranges::equal(a.parts, b.parts, [](const block_part& x, const block_part& y) {
           return x.of == y.of && x.grid.block == y.grid.block;
         });
}

block_counts errors_of(const std::vector<float>& x, const std::vector<float>& numbers) {
  block_counts counts;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double exact = static_cast<double>(x[i]);
    const double error = exact - static_cast<double>(numbers[i]);
    if (numbers[i] != numbers[i]) ++counts.nan;
    if (std::isfinite(x[i]) && std::isinf(numbers[i])) ++counts.infinite;
    if (std::isfinite(x[i]) && std::isnan(numbers[i])) ++counts.lost;
    if (exact == 0)
      ++counts.zeros;
    else if (numbers[i] == 0)
      ++counts.newly_zero;
    if (!std::isfinite(error)) continue;
    counts.energy += exact * exact;
    counts.error_energy += error * error;
  }
  return counts;
}

block_quantizer::block_quantizer(const std::string& file, const block_conversion_options& options)
    : path_(file), options_(options), input_(open_array_file(path_, options_.limits)) {
  const auto& all = input_->arrays();
  // Scales whose codes are quantized go into these.
  const auto is_used_up = [&](const stored_array& array) {
    return array.goes_into && (!options_.selects || options_.selects(all[*array.goes_into].name));
  };
  is_x_ =
      !options_.selects && std::ranges::any_of(all, [](const stored_array& a) { return a.name == "x" && a.numbers; });
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool selected = is_x_ ? all[i].name == "x" : !options_.selects || options_.selects(all[i].name);
    if (all[i].numbers && selected && !is_used_up(all[i])) chosen_.push_back(i);
  }
  if (chosen_.empty())
    throw input_error(path_, "",
                      options_.selects ? "--tensor selects no array of floating-point numbers"
                                       : "holds no array of floating-point numbers");
}

void block_quantizer::fail(const stored_array& array, const std::string& reason) const {
  throw input_error(path_, "array " + in_quotes(array.name), reason);
}

std::vector<std::string> block_quantizer::notes() const {
  grouped_notes all;
  for (std::size_t n = 0; n < size(); ++n)
    if (!array(n).how.empty()) all.add(array(n).name, array(n).how);
  return all.all();
}

std::string block_quantizer::left_out() const {
  if (is_x_) return "";
  std::vector<std::string> others;
  const auto& all = input_->arrays();
  for (std::size_t i = 0; i < all.size(); ++i)
    if (std::ranges::find(chosen_, i) == chosen_.end() && !all[i].goes_into)
      others.push_back(in_quotes(all[i].name) + " (" + all[i].type + ")");
  return joined(others);
}

void block_quantizer::check(std::size_t n, const block_format& row) const {
  static_cast<void>(axis_of(path_, array(n), row, options_.axis));
}

std::vector<float> block_quantizer::floats_of(std::size_t index) const {
  const stored_array& array = input_->arrays()[index];
  std::vector<float> x(array.numel);
  chunk_converter chunks(binary32, {.of = binary32});
  chunks.start(*array.numbers, {.threads = options_.threads});
  const auto in = input_->open(index);
  for (std::size_t at = 0; at < x.size();) {
    const std::size_t size = std::min(x.size() - at, chunk_elements);
    in->read(chunks.input(size));
    const auto bytes = chunks.convert();
    load_little(bytes.data(), std::span{x}.subspan(at, size));
    at += size;
  }
  return x;
}

stated_blocks block_quantizer::beside(const stored_array& array, const block_format& row) const {
  return is_x_ ? stated_beside(path_, *input_, "", array, row) : stated_blocks{};
}

// Rows of to.columns elements, in the order of blocks.
void block_quantizer::add_matrix(quantized_array& to, const stored_array& array, const block_format& row,
                                 std::vector<float> x, std::size_t rows) const {
  const std::size_t before = to.x.size();
  to.x.insert(to.x.end(), x.begin(), x.end());
  to.codes.resize(to.x.size());
  to.numbers.resize(to.x.size());
  const stated_blocks stated = beside(array, row);
  block_conversion how{.rounding = options_.rounding,
                       .random = {.seed = options_.seed, .stream = stream_of(array.name, 0)},
                       .threads = options_.threads,
                       .block = stated.block};
  for (const tensor_rows& tensor : tensors_of(path_, array, row, rows, stated)) {
    const std::size_t begin = before + tensor.first * to.columns;
    block_part part{.first_row = begin / std::max<std::size_t>(1, to.columns),
                    .of = {tensor.count, to.columns},
                    .grid = {},
                    .first_scale = to.scales()};
    const std::span<float> x_of{to.x.data() + begin, tensor.count * to.columns};
    if (row.transposed_hadamard) {
      if (part.of.rows % 16 != 0) fail(array, "has " + std::to_string(part.of.rows) + " rows, no multiple of 16");
      const std::vector<float> transformed = hadamard_of_transpose(x_of, part.of);
      std::ranges::copy(transformed, x_of.begin());
      part.of = {part.of.columns, part.of.rows};
    }
    part.grid = grid_of(row, part.of, how.block);
    const std::vector<float> found = tensor.amax.empty() ? tensor_amax(row, x_of, part.of) : tensor.amax;
    how.tensor_amax = found;
    how.random.first = begin;
    const bool is_number = row.scale == scale_type::float32;
    std::vector<std::uint8_t> scale_codes(is_number ? 0 : part.grid.scales());
    std::vector<float> scale_numbers(is_number ? part.grid.scales() : 0);
    quantize_blocks(row, x_of, part.of, std::span{to.codes}.subspan(begin, x_of.size()),
                    is_number ? scale_span{scale_numbers} : scale_span{scale_codes}, how,
                    std::span{to.numbers}.subspan(begin, x_of.size()), &to.counts);
    add_scales(row, part, scale_codes, to.scale_codes);
    add_scales(row, part, scale_numbers, to.scale_numbers);
    to.amax.insert(to.amax.end(), found.begin(), found.end());
    to.parts.push_back(part);
  }
}

// Squares are of the last two dimensions, each matrix on its own.
quantized_array block_quantizer::quantize(std::size_t n, const block_format& row) const {
  const stored_array& array = this->array(n);
  quantized_array q{.shape = array.shape.empty() ? array_shape{1} : array.shape,
                    .axis = axis_of(path_, array, row, options_.axis)};
  q.extent = {product(q.shape, 0, q.axis), q.shape[q.axis], product(q.shape, q.axis + 1, q.shape.size())};
  const matrix_extent all = q.extent.matrix();
  q.columns = all.columns;
  std::vector<float> x = floats_of(chosen_[n]);
  to_block_order(q, x);
  const std::uint64_t matrices = matrices_in(q.shape, row);
  const std::size_t rows = matrices == 1 ? all.rows : q.shape[q.shape.size() - 2];
  if (matrices == 1) {
    add_matrix(q, array, row, std::move(x), rows);
  } else {
    const auto size = static_cast<std::ptrdiff_t>(rows * all.columns);
    for (auto from = x.begin(); from != x.end(); from += size) add_matrix(q, array, row, {from, from + size}, rows);
  }
  if (row.transposed_hadamard) add_transposed_shape(q, array, row, matrices == 1);
  q.scale_shape = scale_shape(q, row, beside(array, row));
  return q;
}

// Tensors of as many rows, one below the other, each transposed.
void block_quantizer::add_transposed_shape(quantized_array& to, const stored_array& array, const block_format& row,
                                           bool of_one_matrix) const {
  if (!of_one_matrix) return std::swap(to.shape[to.shape.size() - 2], to.shape[to.shape.size() - 1]);
  if (to.shape.size() != 2) fail(array, "is no matrix, of which there is a transpose");
  const auto tensors = tensors_of(path_, array, row, to.shape[0], beside(array, row));
  if (std::ranges::any_of(tensors, [&](const tensor_rows& t) { return t.count != tensors[0].count; }))
    fail(array, "has tensors of different numbers of rows, whose transposes make no matrix");
  to.shape = {tensors.size() * to.shape[1], tensors[0].count};
}

}  // namespace ulp::io
