// Arrays that a file has as codes and scales of a block row, as the numbers that they stand for.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include <ulp/io/bytes/error.hpp>
#include <ulp/model/cells/byte_order.hpp>

#include "block_layout.hpp"
#include "bytes/text.hpp"

namespace ulp::io {
namespace {

class floats_in_memory final : public byte_stream {
 public:
  explicit floats_in_memory(std::vector<float> floats)
      : floats_(std::move(floats)), bytes_(std::span<const float>{floats_}) {}
  [[nodiscard]] std::uint64_t left() const noexcept override { return floats_.size() * sizeof(float) - at_; }
  void read(std::span<std::uint8_t> into) override {
    std::memcpy(into.data(), std::string_view{bytes_}.data() + at_, into.size());
    at_ += into.size();
  }

 private:
  std::vector<float> floats_;
  little_bytes<float> bytes_;
  std::size_t at_ = 0;
};

// Of tiles as convert_blocks.cpp writes them, the scales of so many rows and columns.
std::vector<std::uint8_t> from_tiles(const std::vector<std::uint8_t>& tiles, std::size_t rows, std::size_t columns) {
  const std::size_t across = (columns + 3) / 4;
  std::vector<std::uint8_t> scales(rows * columns);
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < columns; ++c)
      scales[r * columns + c] = tiles[(r / 128 * across + c / 4) * 512 + r % 32 * 16 + r % 128 / 32 * 4 + c % 4];
  return scales;
}

// The members of one array.
struct stored_blocks {
  std::string prefix;
  const stored_array* codes;
  const stored_array* scale;
};

class blocks_input final : public array_input {
 public:
  blocks_input(const std::string& path, std::unique_ptr<array_input> file, const block_source& how)
      : path_(path), file_(std::move(file)), how_(how) {
    for (const stored_array& array : file_->arrays()) add(array);
    if (stored_.empty())
      throw input_error(path_, "",
                        "has no array 'codes', or NAME.codes, of " + std::string{row().name} +
                            ", as ulp convert --to " + std::string{row().name} + " writes it" + what_there_is());
  }

  [[nodiscard]] const std::vector<stored_array>& arrays() const override { return arrays_; }
  [[nodiscard]] std::unique_ptr<byte_stream> open(std::size_t index) const override {
    return std::make_unique<floats_in_memory>(decode(stored_.at(index), arrays_[index].shape));
  }

 private:
  [[nodiscard]] const block_format& row() const { return *how_.row; }
  [[noreturn]] void fail(const stored_array& array, const std::string& reason) const {
    throw input_error(path_, "array " + in_quotes(array.name), reason);
  }
  [[nodiscard]] std::string what_there_is() const {
    std::vector<std::string> names;
    for (const stored_array& array : file_->arrays()) names.push_back(in_quotes(array.name));
    return names.empty() ? ": it is empty" : ": it holds " + joined(names);
  }

  void add(const stored_array& codes) {
    constexpr std::string_view of_codes = "codes";
    if (codes.name != of_codes && !codes.name.ends_with("." + std::string{of_codes})) return;
    const std::string prefix = codes.name.substr(0, codes.name.size() - of_codes.size());
    const stored_array* const scale = array_named(*file_, prefix + "scale");
    if (scale == nullptr) fail(codes, "has no array " + in_quotes(prefix + "scale") + " beside it");
    if (codes.name == of_codes && codes.by_columns)
      fail(codes, "is stored by columns (Fortran order): save numpy.ascontiguousarray of it");
    stored_array& array = arrays_.emplace_back();
    array.name = prefix.empty() ? "dequantized" : prefix.substr(0, prefix.size() - 1);
    array.type = codes.type;
    array.shape = shape_of_numbers(codes, prefix);
    array.numel = product(array.shape, 0, array.shape.size());
    array.numbers = stored_elements{.of = binary32};
    array.how = "codes of " + std::string{row().element.name} + " times their scales, of " + std::string{row().name};
    stored_.push_back({prefix, &codes, scale});
    static_cast<void>(axis_of(path_, codes, row(), how_.axis));
  }

  // Of two codes in a byte the last dimension is twice as long, or one less where the numbers beside it say so.
  [[nodiscard]] array_shape shape_of_numbers(const stored_array& codes, const std::string& prefix) const {
    if (!how_.packed) return codes.shape;
    if (codes.shape.empty()) return {};
    array_shape shape = codes.shape;
    shape.back() *= 2;
    const stored_array* const numbers = array_named(*file_, prefix + "dequantized");
    if (numbers != nullptr && numbers->shape.empty() && codes.numel == 1) return {};
    if (numbers != nullptr && !numbers->shape.empty() && numbers->shape.back() + 1 == shape.back()) --shape.back();
    return shape;
  }

  // In the order of the array.
  [[nodiscard]] std::vector<std::uint8_t> codes_of(const stored_blocks& all, std::size_t numel) const {
    std::vector<std::uint8_t> codes = bytes_of(path_, *file_, *all.codes, 1, row());
    if (!how_.packed) return codes;
    std::vector<std::uint8_t> apart(numel);
    for (std::size_t i = 0; i < numel; ++i) apart[i] = codes[i / 2] >> (i % 2 * 4) & 15U;
    return apart;
  }

  // Codes have no bits above their own, but for the byte that stands for NaN where there is no code for it.
  void check(const stored_blocks& all, std::span<const std::uint8_t> codes, std::span<const float> numbers) const {
    for (std::size_t i = 0; i < codes.size(); ++i) {
      if (codes[i] >> row().element.width == 0) continue;
      if ((codes[i] == 0xFF || codes[i] == 0x80) && numbers[i] != numbers[i]) continue;
      fail(*all.codes, "has " + std::to_string(codes[i]) + " at element " + std::to_string(i) + ", more than the " +
                           std::to_string(row().element.width) + " bits of a code of " +
                           std::string{row().element.name} +
                           (row().element.width > 4 ? "" : ": if a byte has two codes, give --packed"));
    }
  }

  // Where the parts lie, with the amax of each.
  struct part {
    block_part at;
    std::vector<float> amax;
  };
  [[nodiscard]] std::vector<part> parts_of(const stored_blocks& all, const stated_blocks& stated,
                                           const quantized_array& q) const {
    std::vector<part> parts;
    const std::uint64_t matrices = matrices_in(q.shape, row());
    const std::size_t rows = q.extent.matrix().rows / std::max<std::uint64_t>(1, matrices);
    const bool has_one_each = stated.tensor.empty() && matrices > 1 && stated.amax.size() == matrices;
    std::size_t scales = 0;
    for (std::uint64_t m = 0; m < matrices; ++m) {
      stated_blocks of_matrix = stated;
      if (has_one_each) of_matrix.amax = {stated.amax[m]};
      for (const tensor_rows& tensor : tensors_of(path_, *all.codes, row(), rows, of_matrix)) {
        const matrix_extent of{tensor.count, q.columns};
        parts.push_back({{.first_row = m * rows + tensor.first,
                          .of = of,
                          .grid = grid_of(row(), of, stated.block),
                          .first_scale = scales},
                         tensor.amax});
        const block_grid& grid = parts.back().at.grid;
        scales += row().scale_for_each_row ? of.rows * grid.across : grid.scales();
      }
    }
    return parts;
  }

  // Of a transform's codes `tensor` counts the rows that were transformed; each tensor has as many rows of codes.
  [[nodiscard]] stated_blocks stated_of(const stored_blocks& all, const quantized_array& q) const {
    const std::size_t rows = q.extent.matrix().rows;
    stated_blocks stated = stated_beside(path_, *file_, all.prefix, *all.codes, row());
    if (row().transposed_hadamard && stated.amax.size() > 1 && matrices_in(q.shape, row()) == 1) {
      if (rows % stated.amax.size() != 0)
        fail(*all.codes, "has " + std::to_string(rows) + " rows, which " + std::to_string(stated.amax.size()) +
                             " tensors of `global_amax` do not share alike");
      stated.tensor.resize(rows);
      for (std::size_t r = 0; r < rows; ++r)
        stated.tensor[r] = static_cast<std::int32_t>(r / (rows / stated.amax.size()));
    }
    const bool has_second_level = !tensor_amax(row(), std::array{1.0F}, {1, 1}).empty();
    if (has_second_level && stated.amax.empty() && !q.codes.empty())
      fail(*all.codes, "has no array " + in_quotes(all.prefix + "global_amax") +
                           " (float32) beside it, the amax that " + std::string{row().name} + " scales a tensor by");
    return stated;
  }

  // In the order of blocks.
  void read_scales(const stored_blocks& all, const stated_blocks& stated, std::size_t scales, std::size_t across,
                   quantized_array& q) const {
    const bool are_numbers = row().scale == scale_type::float32;
    std::vector<std::uint8_t> bytes = bytes_of(path_, *file_, *all.scale, are_numbers ? 4 : 1, row());
    const std::size_t given = bytes.size() / (are_numbers ? 4 : 1);
    const std::size_t rows = across == 0 ? 0 : scales / across;
    const std::size_t tiles = how_.swizzled ? (rows + 127) / 128 * ((across + 3) / 4) * 512 : scales;
    q.scale_codes.resize(scales);  // of so many, what their shape is
    const array_shape expected = how_.swizzled ? array_shape{tiles} : scale_shape(q, row(), stated);
    if (given != tiles || !same_shape(all.scale->shape, expected)) {
      const bool may_be_pairs = !how_.packed && row().element.width <= 4;
      const bool may_be_tiles = !how_.swizzled && !are_numbers && given > 0 && given % 512 == 0;
      fail(*all.scale, "is of the shape " + text_of(all.scale->shape) + "; codes of the shape " +
                           text_of(all.codes->shape) + " have scales of " + text_of(expected) + ", of " +
                           std::string{row().name} + (may_be_pairs ? ": if a byte has two codes, give --packed" : "") +
                           (may_be_tiles ? ": if they lie in tiles of 128 x 4, give --swizzled" : ""));
    }
    if (how_.swizzled) {
      q.scale_codes = from_tiles(bytes, rows, across);
      return;
    }
    if (are_numbers) {
      q.scale_codes.clear();
      q.scale_numbers.resize(scales);
      load_little(bytes.data(), std::span{q.scale_numbers});
    } else {
      q.scale_codes = std::move(bytes);
    }
    to_block_order(q, q.scale_codes);
    to_block_order(q, q.scale_numbers);
  }

  template <class Scale>
  [[nodiscard]] std::vector<Scale> scales_of(const block_part& part, const std::vector<Scale>& all) const {
    const block_grid& grid = part.grid;
    const std::size_t step = (row().scale_for_each_row ? grid.block.rows : 1) * grid.across;
    std::vector<Scale> scales;
    for (std::size_t down = 0; down < grid.down; ++down)
      for (std::size_t across = 0; across < grid.across; ++across)
        scales.push_back(all[part.first_scale + down * step + across]);
    return scales;
  }

  [[nodiscard]] std::vector<float> decode(const stored_blocks& all, const array_shape& shape) const {
    quantized_array q{.shape = shape.empty() ? array_shape{1} : shape,
                      .axis = axis_of(path_, *all.codes, row(), how_.axis)};
    q.extent = {product(q.shape, 0, q.axis), q.shape[q.axis], product(q.shape, q.axis + 1, q.shape.size())};
    q.columns = q.extent.length;
    q.codes = codes_of(all, product(q.shape, 0, q.shape.size()));
    to_block_order(q, q.codes);
    const stated_blocks stated = stated_of(all, q);
    const std::vector<part> parts = parts_of(all, stated, q);
    std::size_t scales = 0;
    if (!parts.empty()) {
      const block_part& last = parts.back().at;
      scales = last.first_scale + (row().scale_for_each_row ? last.of.rows * last.grid.across : last.grid.scales());
    }
    read_scales(all, stated, scales, parts.empty() ? 0 : parts.front().at.grid.across, q);
    q.numbers.resize(q.codes.size());
    const bool are_numbers = row().scale == scale_type::float32;
    for (const part& p : parts) {
      const std::size_t begin = p.at.first_row * q.columns;
      const std::size_t size = p.at.of.rows * q.columns;
      if (size == 0) continue;
      const std::vector<std::uint8_t> codes =
          are_numbers ? std::vector<std::uint8_t>{} : scales_of(p.at, q.scale_codes);
      const std::vector<float> numbers = are_numbers ? scales_of(p.at, q.scale_numbers) : std::vector<float>{};
      dequantize_blocks(row(), std::span{q.codes}.subspan(begin, size),
                        are_numbers ? const_scale_span{numbers} : const_scale_span{codes}, p.at.of,
                        std::span{q.numbers}.subspan(begin, size),
                        {.tensor_amax = p.amax, .threads = how_.threads, .block = stated.block});
    }
    check(all, q.codes, q.numbers);
    to_array_order(q, q.numbers);
    return std::move(q.numbers);
  }

  std::string path_;
  std::unique_ptr<array_input> file_;
  block_source how_;
  std::vector<stored_array> arrays_;
  std::vector<stored_blocks> stored_;  // of arrays_
};

}  // namespace

std::unique_ptr<array_input> open_blocks(const std::string& path, array_file_kind kind, const block_source& how,
                                         const read_limits& limits) {
  return std::make_unique<blocks_input>(path, open_array_file(path, kind, std::nullopt, limits), how);
}

}  // namespace ulp::io
