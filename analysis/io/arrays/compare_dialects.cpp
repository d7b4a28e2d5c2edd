#include <ulp/io/arrays/compare_dialects.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include <ulp/io/bytes/error.hpp>

#include "block_quantizer.hpp"
#include "bytes/text.hpp"

namespace ulp {
namespace {

using namespace io;

// What a row makes of one block.
struct one_block {
  std::vector<std::uint8_t> codes;
  std::vector<float> numbers;
  double scale = 0;
};
one_block block_of(const block_format& row, const std::vector<float>& x, matrix_extent of, block_extent block,
                   std::span<const float> tensor_amax) {
  one_block made{std::vector<std::uint8_t>(x.size()), std::vector<float>(x.size())};
  std::uint8_t code = 0;
  float number = 0;
  const bool is_number = row.scale == scale_type::float32;
  quantize_blocks(row, x, of, made.codes,
                  is_number ? scale_span{std::span{&number, 1}} : scale_span{std::span{&code, 1}},
                  {.tensor_amax = tensor_amax, .threads = 1, .block = block}, made.numbers);
  made.scale = is_number ? static_cast<double>(number) : code;
  return made;
}

bool part_ways(const one_block& a, const one_block& b) {
  return !(a.scale == b.scale || (a.scale != a.scale && b.scale != b.scale)) ||
         !std::ranges::equal(a.numbers, b.numbers, same_number);
}

// With as many zeros as can be: elements are left out one after the other, the smallest first.
smallest_block reduced(std::array<const block_format*, 2> rows, std::vector<float> x, matrix_extent of,
                       block_extent block, std::array<std::span<const float>, 2> amax) {
  const auto made = [&](std::size_t which) { return block_of(*rows[which], x, of, block, amax[which]); };
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (x[i] != 0) order.push_back(i);
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return std::fabs(x[a]) < std::fabs(x[b]); });
  for (const std::size_t i : order) {
    const float kept = std::exchange(x[i], 0.0F);
    if (!part_ways(made(0), made(1))) x[i] = kept;
  }
  const one_block a = made(0);
  const one_block b = made(1);
  smallest_block small{
      .array = {}, .elements = x.size(), .places = {}, .x = {}, .scale = {a.scale, b.scale}, .numbers = {}};
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] == 0 && same_number(a.numbers[i], b.numbers[i])) continue;
    small.places.push_back(i);
    small.x.push_back(x[i]);
    small.numbers[0].push_back(a.numbers[i]);
    small.numbers[1].push_back(b.numbers[i]);
  }
  return small;
}

class pair_of_arrays {
 public:
  pair_of_arrays(const stored_array& array, const quantized_array& a, const quantized_array& b, dialect_pair& to)
      : array_(array), of_{&a, &b}, to_(to) {}

  void compare() {
    const quantized_array& a = *of_[0];
    std::size_t level = 0;  // of the part's second level
    for (const block_part& part : a.parts) {
      const std::size_t copies = to_.rows[0]->scale_for_each_row ? part.grid.block.rows : 1;
      for (std::size_t down = 0; down < part.grid.down; ++down)
        for (std::size_t across = 0; across < part.grid.across; ++across)
          compare(part, down, across, part.first_scale + down * copies * part.grid.across + across, level);
      level += to_.rows[0]->scales_rows ? part.of.rows : 1;
    }
  }

 private:
  [[nodiscard]] static double scale_of(const quantized_array& q, std::size_t i) {
    return q.scale_numbers.empty() ? q.scale_codes[i] : static_cast<double>(q.scale_numbers[i]);
  }

  void compare(const block_part& part, std::size_t down, std::size_t across, std::size_t scale, std::size_t level) {
    const quantized_array& a = *of_[0];
    const quantized_array& b = *of_[1];
    const std::size_t top = down * part.grid.block.rows;
    const std::size_t left = across * part.grid.block.columns;
    const matrix_extent size{std::min(part.grid.block.rows, part.of.rows - top),
                             std::min(part.grid.block.columns, part.of.columns - left)};
    ++to_.blocks;
    double amax = 0;
    double difference = 0;
    bool codes_differ = false;
    bool numbers_differ = false;
    std::vector<float> x;
    for (std::size_t r = 0; r < size.rows; ++r)
      for (std::size_t c = 0; c < size.columns; ++c) {
        const std::size_t i = part.first_row * a.columns + (top + r) * part.of.columns + left + c;
        x.push_back(a.x[i]);
        codes_differ = codes_differ || a.codes[i] != b.codes[i];
        amax = std::max(amax, std::fabs(static_cast<double>(a.x[i])));
        if (same_number(a.numbers[i], b.numbers[i])) continue;
        numbers_differ = true;
        const double apart = std::fabs(static_cast<double>(a.numbers[i]) - static_cast<double>(b.numbers[i]));
        difference = std::max(difference, std::isnan(apart) ? std::numeric_limits<double>::infinity() : apart);
      }
    const double scales[2]{scale_of(a, scale), scale_of(b, scale)};
    const bool scale_differs = scales[0] != scales[1] && (scales[0] == scales[0] || scales[1] == scales[1]);
    to_.other_scale += scale_differs ? 1 : 0;
    to_.other_codes += codes_differ ? 1 : 0;
    if (difference > 0) to_.largest_difference = std::max(to_.largest_difference, difference / amax);
    if (to_.smallest || !(scale_differs || numbers_differ)) return;
    const auto amax_of = [&](std::size_t which) {
      const auto& all = of_[which]->amax;
      return all.empty() ? std::span<const float>{}
                         : std::span{all}.subspan(level + (to_.rows[0]->scales_rows ? top : 0), 1);
    };
    to_.smallest = reduced(to_.rows, std::move(x), size, part.grid.block, {amax_of(0), amax_of(1)});
    to_.smallest->array = array_.name;
    to_.smallest->row = part.first_row + top;
    to_.smallest->column = left;
  }

  const stored_array& array_;
  std::array<const quantized_array*, 2> of_;
  dialect_pair& to_;
};

}  // namespace

std::vector<dialect_pair> compare_dialects(const std::string& path, std::span<const block_format* const> rows,
                                           const block_conversion_options& how,
                                           const std::function<void(const std::string&)>& note,
                                           const std::function<void(std::uint64_t)>& advance) {
  const block_quantizer input(path, how);
  for (const std::string& line : input.notes()) note(path + ": " + line);
  std::vector<dialect_pair> pairs;
  for (std::size_t a = 0; a < rows.size(); ++a)
    for (std::size_t b = a + 1; b < rows.size(); ++b) pairs.push_back({.rows = {rows[a], rows[b]}, .smallest = {}});
  std::vector<block_counts> counts(rows.size());
  for (std::size_t n = 0; n < input.size(); ++n) {
    std::vector<quantized_array> made;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      made.push_back(input.quantize(n, *rows[i]));
      counts[i] += errors_of(made.back().x, made.back().numbers);
      if (!have_same_blocks(made[0], made[i]))
        throw input_error(path, "array " + in_quotes(input.array(n).name),
                          std::string{rows[0]->name} + " and " + std::string{rows[i]->name} +
                              " have other blocks: they cannot be compared block by block");
    }
    std::size_t pair = 0;
    for (std::size_t a = 0; a < rows.size(); ++a)
      for (std::size_t b = a + 1; b < rows.size(); ++b)
        pair_of_arrays(input.array(n), made[a], made[b], pairs[pair++]).compare();
    advance(input.array(n).numel);
  }
  for (dialect_pair& pair : pairs)
    for (const std::size_t which : {0, 1})
      pair.sqnr[which] =
          counts[static_cast<std::size_t>(std::ranges::find(rows, pair.rows[which]) - rows.begin())].sqnr();
  return pairs;
}

}  // namespace ulp
