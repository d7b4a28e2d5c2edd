#include <ulp/io/arrays/verify_blocks.hpp>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include <ulp/formats/codec.hpp>
#include <ulp/io/arrays/npz.hpp>
#include <ulp/io/bytes/error.hpp>
#include <ulp/model/cells/byte_order.hpp>

#include "block_quantizer.hpp"
#include "bytes/text.hpp"

namespace ulp {
namespace {

using namespace io;

// In the order of blocks.
struct results {
  std::vector<std::uint8_t> codes;
  std::vector<std::uint8_t> scale_codes;
  std::vector<float> scale_numbers;
  std::vector<float> numbers;  // none where the file has none
};

std::vector<float> as_floats(const std::vector<std::uint8_t>& bytes) {
  std::vector<float> floats(bytes.size() / 4);
  load_little(bytes.data(), std::span{floats});
  return floats;
}

// Somebody's results of a matrix, in the shapes of `of`.
class reader {
 public:
  reader(const std::string& path, const read_limits& limits, const block_format& row, const quantized_array& of)
      : path_(path), input_(open_array_file(path, limits)), row_(row), of_(of) {}

  [[nodiscard]] results read() const {
    results all;
    all.codes = codes();
    if (row_.scale == scale_type::float32)
      all.scale_numbers = as_floats(needed("scale", 4, of_.scale_shape));
    else
      all.scale_codes = needed("scale", 1, of_.scale_shape);
    expect("scale", all.scale_codes.size() + all.scale_numbers.size(), of_.scales(), of_.scale_shape);
    if (const auto numbers = bytes_of("dequantized", 4)) {
      all.numbers = as_floats(*numbers);
      expect("dequantized", all.numbers.size(), of_.numbers.size(), of_.shape);
    }
    to_block_order(of_, all.codes);
    to_block_order(of_, all.scale_codes);
    to_block_order(of_, all.scale_numbers);
    to_block_order(of_, all.numbers);
    return all;
  }

 private:
  [[noreturn]] void fail(const std::string& name, const std::string& reason) const {
    throw input_error(path_, "array " + in_quotes(name), reason);
  }
  void expect(const std::string& name, std::size_t elements, std::size_t expected, const array_shape& shape) const {
    for (const stored_array& array : input_->arrays())
      if (array.name == name && elements == expected && array.numel == elements && !same_shape(array.shape, shape))
        fail(name, "is of the shape " + text_of(array.shape) + "; of x " + std::string{row_.name} + " makes " +
                       text_of(shape));
    if (elements == expected) return;
    const bool has_tensors = !shape.empty() || expected == 1;
    fail(name, "has " + std::to_string(elements) + " elements; of x " + std::string{row_.name} + " makes " +
                   std::to_string(expected) +
                   (has_tensors ? ", in the shape " + text_of(shape) : ", one for each tensor of `tensor`"));
  }

  // nullopt where there is no array of that name.
  [[nodiscard]] std::optional<std::vector<std::uint8_t>> bytes_of(std::string_view name, std::size_t element) const {
    const stored_array* const array = array_named(*input_, name);
    if (array == nullptr) return std::nullopt;
    return io::bytes_of(path_, *input_, *array, element, row_);
  }
  [[nodiscard]] std::vector<std::uint8_t> needed(const std::string& name, std::size_t bytes,
                                                 const array_shape& shape) const {
    auto all = bytes_of(name, bytes);
    if (!all)
      throw input_error(
          path_, "",
          "has no array " + in_quotes(name) + ": add what your kernel makes of x, in the shape " + text_of(shape));
    return std::move(*all);
  }
  [[nodiscard]] std::vector<std::uint8_t> codes() const {
    std::vector<std::uint8_t> all = needed("codes", 1, of_.shape);
    const std::size_t expected = of_.codes.size();
    if (row_.element.width > 4 || all.size() == expected || all.size() != (expected + 1) / 2) {
      expect("codes", all.size(), expected, of_.shape);
      // 0xFF and of integers 0x80 stand for NaN where there is no code for it.
      const auto wrong = std::ranges::find_if(
          all, [&](std::uint8_t code) { return code >> row_.element.width != 0 && code != 0xFF && code != 0x80; });
      if (wrong != all.end())
        fail("codes", "has " + std::to_string(*wrong) + " at element " + std::to_string(wrong - all.begin()) +
                          ", more than the " + std::to_string(row_.element.width) +
                          " bits of a code: write one to a byte" +
                          (row_.element.width > 4 ? "" : ", or all of them two to a byte"));
      return all;
    }
    std::vector<std::uint8_t> apart(expected);
    for (std::size_t i = 0; i < expected; ++i) apart[i] = all[i / 2] >> (i % 2 * 4) & 15U;
    return apart;
  }

  const std::string& path_;
  std::unique_ptr<array_input> input_;
  const block_format& row_;
  const quantized_array& of_;
};

// Where a block lies, in the order of blocks.
struct place {
  std::size_t first_row;
  std::size_t first_column;
  std::size_t rows;
  std::size_t columns;
  std::size_t scale;
};

template <class Act>
void for_blocks(const quantized_array& q, bool scale_for_each_row, Act act) {
  for (const block_part& part : q.parts) {
    const block_grid& grid = part.grid;
    for (std::size_t down = 0; down < grid.down; ++down)
      for (std::size_t across = 0; across < grid.across; ++across) {
        const std::size_t top = down * grid.block.rows;
        const std::size_t left = across * grid.block.columns;
        act(part, place{top, left, std::min(grid.block.rows, part.of.rows - top),
                        std::min(grid.block.columns, part.of.columns - left),
                        part.first_scale + (scale_for_each_row ? top : down) * grid.across + across});
      }
  }
}

class block_comparison {
 public:
  block_comparison(const block_format& row, const quantized_array& expected, const results& given)
      : row_(row), expected_(expected), given_(given) {
    for (int code = 0; code < 1 << row.element.width; ++code) {
      const int value = code >= 1 << (row.element.width - 1) ? code - (1 << row.element.width) : code;
      numbers_.push_back(row.element.numbers != nullptr
                             ? to_float(*row.element.numbers, static_cast<std::uint64_t>(code))
                             : std::ldexp(static_cast<float>(value), -row.element.fraction_bits));
    }
  }

  // nullopt where the block is right.
  [[nodiscard]] std::optional<differing_block> of(const block_part& part, const place& at, bool in_detail) const {
    differing_block found{.index = at.scale,
                          .row = part.first_row + at.first_row,
                          .column = at.first_column,
                          .rows = at.rows,
                          .columns = at.columns,
                          .scale = {given_scale(at.scale), expected_scale(at.scale)},
                          .follows = {}};
    std::optional<block_difference> what = scale_difference(at.scale);
    std::optional<block_difference> in_numbers;
    for (std::size_t r = 0; r < at.rows; ++r) {
      const std::size_t begin =
          part.first_row * expected_.columns + (at.first_row + r) * part.of.columns + at.first_column;
      for (std::size_t c = 0; c < at.columns; ++c) {
        const std::size_t i = begin + c;
        if (in_detail) found.amax = greater(found.amax, std::fabs(expected_.x[i]));
        if (!given_.numbers.empty() && !same_number(given_.numbers[i], expected_.numbers[i]))
          in_numbers = block_difference::dequantized;
        if (same_code(i)) continue;
        if (!in_detail) return found;
        if (found.elements++ > 0) continue;
        found.element_row = part.first_row + at.first_row + r;
        found.element_column = at.first_column + c;
        found.element = expected_.x[i];
        found.codes = {given_.codes[i], expected_.codes[i]};
        if (!what) what = element_difference(i, unit_of(part, at));
      }
    }
    if (!what) what = in_numbers;
    if (!what) return std::nullopt;
    found.what = *what;
    return found;
  }

 private:
  static float greater(float a, float b) { return a != a || a > b ? a : b; }

  [[nodiscard]] double given_scale(std::size_t i) const {
    return row_.scale == scale_type::float32 ? static_cast<double>(given_.scale_numbers[i]) : given_.scale_codes[i];
  }
  [[nodiscard]] double expected_scale(std::size_t i) const {
    return row_.scale == scale_type::float32 ? static_cast<double>(expected_.scale_numbers[i])
                                             : expected_.scale_codes[i];
  }
  [[nodiscard]] bool is_nan_scale(double scale) const {
    switch (row_.scale) {
      case scale_type::e8m0: return scale == 255;
      case scale_type::e4m3: return (static_cast<unsigned>(scale) & 0x7FU) == 0x7F;
      case scale_type::float32: break;
    }
    return scale != scale;
  }
  [[nodiscard]] std::optional<block_difference> scale_difference(std::size_t i) const {
    const double given = given_scale(i);
    const double expected = expected_scale(i);
    if (is_nan_scale(given) || is_nan_scale(expected)) {
      if (is_nan_scale(given) && is_nan_scale(expected)) return std::nullopt;
      return block_difference::scale_is_nan;
    }
    if (given == expected && std::signbit(given) == std::signbit(expected)) return std::nullopt;
    return given > expected ? block_difference::scale_higher : block_difference::scale_lower;
  }

  [[nodiscard]] float number_of(std::uint8_t code) const { return numbers_[code & (numbers_.size() - 1)]; }
  [[nodiscard]] bool same_code(std::size_t i) const {
    if (given_.codes[i] == expected_.codes[i]) return true;
    if (expected_.numbers[i] == expected_.numbers[i]) return false;
    // What is NaN as a number has one as its code, where there is one.
    return row_.element.width < 8 || row_.element.numbers == nullptr ||
           number_of(given_.codes[i]) != number_of(given_.codes[i]) ||
           number_of(expected_.codes[i]) == number_of(expected_.codes[i]);
  }
  // What a code's number is multiplied by, by the first element of the block that tells it; NaN where none does.
  [[nodiscard]] double unit_of(const block_part& part, const place& at) const {
    for (std::size_t r = 0; r < at.rows; ++r) {
      const std::size_t begin =
          part.first_row * expected_.columns + (at.first_row + r) * part.of.columns + at.first_column;
      for (std::size_t i = begin; i < begin + at.columns; ++i) {
        const float number = number_of(expected_.codes[i]);
        if (number != 0 && std::isfinite(number) && std::isfinite(expected_.numbers[i]))
          return static_cast<double>(expected_.numbers[i]) / static_cast<double>(number);
      }
    }
    return std::nan("");
  }
  [[nodiscard]] block_difference element_difference(std::size_t i, double unit) const {
    const float given = number_of(given_.codes[i]);
    const float expected = number_of(expected_.codes[i]);
    if (given != given || expected != expected) return block_difference::nan_element;
    if (given == 0 && expected == 0) return block_difference::sign_of_zero;
    if (std::fabs(given) == row_.element.largest || std::fabs(expected) == row_.element.largest)
      if (std::fabs(expected - given) > row_.element.largest / 8) return block_difference::saturation;
    const float least = std::min(given, expected);
    const float most = std::max(given, expected);
    const bool are_neighbours = std::ranges::none_of(numbers_, [&](float n) { return n > least && n < most; });
    if (!are_neighbours) return block_difference::other_element;
    const double middle = (static_cast<double>(given) + static_cast<double>(expected)) / 2 * unit;
    return middle == static_cast<double>(expected_.x[i]) ? block_difference::tie : block_difference::one_apart;
  }

  const block_format& row_;
  const quantized_array& expected_;
  const results& given_;
  std::vector<float> numbers_;  // of all codes
};

// What another row makes of x, where it has as many scales of the same blocks; else nullopt.
std::optional<quantized_array> by_other_row(const block_quantizer& input, const block_format& row,
                                            const quantized_array& expected, const block_format& other) {
  if (other.element.name != row.element.name || other.scale != row.scale ||
      other.scale_for_each_row != row.scale_for_each_row || other.transposed_hadamard != row.transposed_hadamard)
    return std::nullopt;
  try {
    quantized_array its = input.quantize(0, other);
    if (!have_same_blocks(its, expected)) return std::nullopt;
    return its;
  } catch (const input_error&) {  // another row may take other arrays beside x
    return std::nullopt;
  }
}

// One of each difference before the second of any.
std::vector<differing_block> chosen(std::vector<differing_block> all, std::size_t keep) {
  std::array<std::size_t, block_difference_count> seen{};
  std::vector<std::pair<std::size_t, std::size_t>> order;  // how many of its kind came before, and its place
  for (std::size_t i = 0; i < all.size(); ++i) order.emplace_back(seen[static_cast<std::size_t>(all[i].what)]++, i);
  std::ranges::sort(order);
  std::vector<differing_block> first;
  for (std::size_t i = 0; i < std::min(keep, order.size()); ++i) first.push_back(std::move(all[order[i].second]));
  return first;
}

}  // namespace

std::string_view to_string(block_difference what) noexcept {
  constexpr std::array<std::string_view, block_difference_count> names{
      "NaN scale", "higher scale",           "lower scale",   "sign of zero",      "NaN element", "saturation",
      "tie",       "element one code apart", "other element", "dequantized number"};
  return names[static_cast<std::size_t>(what)];
}

verified_blocks verify_blocks(const std::string& path, const std::string& of_kernel,
                              const block_conversion_options& how, std::size_t keep) {
  const block_format& row = *how.row;
  const block_quantizer input(path, how);
  if (!input.has_x())
    throw input_error(path, "", "has no array `x` of numbers: ulp vectors --block writes such a file");
  const quantized_array expected = input.quantize(0, row);
  const results given = reader(of_kernel, how.limits, row, expected).read();

  verified_blocks all;
  std::vector<differing_block> differing;
  std::array<std::size_t, block_difference_count> kept{};
  for_blocks(expected, row.scale_for_each_row, [&](const block_part& part, const place& at) {
    ++all.blocks;
    all.elements += at.rows * at.columns;
    auto found = block_comparison(row, expected, given).of(part, at, true);
    if (!found) return;
    ++all.differing;
    all.differing_elements += found->elements;
    const auto what = static_cast<std::size_t>(found->what);
    ++all.by_difference[what];
    if (kept[what]++ < keep) differing.push_back(std::move(*found));
  });
  all.first = chosen(std::move(differing), keep);

  for (const block_format& listed : block_formats()) {
    // Blocks of another shape than the row's have no scales to compare.
    const block_format* const in_shape =
        listed.block == listed_row(row).block ? with_block(listed, row.block) : &listed;
    if (in_shape == nullptr) continue;
    const block_format& other = *in_shape;
    const auto its = &other == &row ? std::optional{expected} : by_other_row(input, row, expected, other);
    if (!its) continue;
    const block_comparison with_its(other, *its, given);
    std::uint64_t right = 0;
    for_blocks(*its, other.scale_for_each_row, [&](const block_part& part, const place& at) {
      if (with_its.of(part, at, false)) return;
      ++right;
      for (differing_block& block : all.first)
        if (block.index == at.scale) block.follows.push_back(&other);
    });
    if (right == all.blocks) all.gives_all.push_back(&other);
    if (right > all.nearest_blocks) {
      all.nearest = &other;
      all.nearest_blocks = right;
    }
  }
  return all;
}

void write_block_vectors(const std::string& path, const block_vectors& vectors) {
  npz_writer out(path);
  out.add("x", "<f4", {vectors.of.rows, vectors.of.columns}, little_bytes(vectors.x));
  out.add("tensor", "<i4", {vectors.tensor.size()}, little_bytes(vectors.tensor));
  if (!vectors.amax.empty()) out.add("global_amax", "<f4", {vectors.amax.size()}, little_bytes(vectors.amax));
  out.finish();
}

}  // namespace ulp
