#include <ulp/model/outcomes/quantized_outcomes.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include <ulp/formats/codec.hpp>

namespace ulp {
namespace {

// Of a matrix under a row: its scales, and what each is worth.
class quantizer {
 public:
  quantizer(const block_quantization& asked, std::span<const float> x, matrix_extent of)
      : asked_(asked), row_(asked.row), x_(x), of_(of), grid_(grid_of(row_, of)), level_(tensor_amax(row_, x, of)) {}

  quantized_outcomes run(const random_stream& random) {
    std::vector<std::uint8_t> codes(x_.size());
    std::vector<float> numbers(asked_.with_errors ? x_.size() : 0);
    scales made(row_, grid_.scales());
    conversion_counts counts;
    quantize_blocks(row_, x_, of_, codes, made.span(row_),
                    {.tensor_amax = level_, .rounding = asked_.how, .random = random}, numbers, &counts);
    units_.resize(x_.size());
    const std::vector<std::uint8_t> ones(x_.size(), one());
    dequantize_blocks(row_, ones, made.span(row_), of_, units_, {.tensor_amax = level_});

    quantized_outcomes found{.counts = {.numel = x_.size(), .blocks = grid_.scales()},
                             .knows_clamped = why_block_tables_do_not_tell(row_).empty()};
    count_elements(found.counts, codes, overflowed(counts.overflowed, random));
    for (std::size_t down = 0; down < grid_.down; ++down)
      for (std::size_t across = 0; across < grid_.across; ++across) count_block(found, down, across);
    if (asked_.with_errors) found.errors = errors_of(numbers);
    return found;
  }

 private:
  struct scales {
    scales(const block_format& row, std::size_t size)
        : codes(row.scale == scale_type::float32 ? 0 : size), numbers(row.scale == scale_type::float32 ? size : 0) {}
    scale_span span(const block_format& row) {
      return row.scale == scale_type::float32 ? scale_span{numbers} : scale_span{codes};
    }
    std::vector<std::uint8_t> codes;
    std::vector<float> numbers;
  };

  // Under a scale of zero, as E4M3 may have it, elements are clipped and become zero all the same: that is underflow. Under one that
  // is not finite their codes tell.
  [[nodiscard]] std::uint64_t overflowed(std::uint64_t clipped, const random_stream& random) const {
    const auto decides = [](float unit) { return unit == 0 || !std::isfinite(unit); };
    if (clipped == 0 || std::ranges::none_of(units_, decides)) return clipped;
    std::vector<float> others(x_.begin(), x_.end());
    for (std::size_t i = 0; i < others.size(); ++i)
      if (decides(units_[i])) others[i] = 0;
    std::vector<std::uint8_t> codes(x_.size());
    scales made(row_, grid_.scales());
    conversion_counts counts;
    quantize_blocks(row_, others, of_, codes, made.span(row_),
                    {.tensor_amax = level_, .rounding = asked_.how, .random = random}, {}, &counts);
    return counts.overflowed;
  }

  // The code of 1.
  [[nodiscard]] std::uint8_t one() const {
    if (row_.element.numbers == nullptr) return static_cast<std::uint8_t>(1U << row_.element.fraction_bits);
    return static_cast<std::uint8_t>(encode(*row_.element.numbers, 1.0F).code);
  }

  // An infinite scale, as an infinity in the tensor may make it, leaves infinities, and of the code 0 NaN.
  void count_elements(block_outcomes& to, std::span<const std::uint8_t> codes, std::uint64_t overflowed) const {
    const format* const numbers = row_.element.numbers;
    const auto magnitude =
        static_cast<std::uint8_t>(numbers != nullptr ? numbers->sign_mask() - 1 : (1U << row_.element.width) - 1);
    std::uint64_t lost = 0;
    std::uint64_t underflow = 0;
    std::uint64_t subnormal = 0;
    for (std::size_t i = 0; i < x_.size(); ++i) {
      const unsigned code = codes[i] & magnitude;
      if (x_[i] == 0)
        ++to.zero;
      else if (!std::isfinite(x_[i]))
        ++to.nonfinite;
      else if (std::isnan(units_[i]) || (std::isinf(units_[i]) && code == 0))
        ++lost;
      else if (std::isinf(units_[i]))
        ++overflowed;
      else if (code == 0 || units_[i] == 0)
        ++underflow;
      else if (numbers != nullptr && code >> numbers->fraction_bits == 0)
        ++subnormal;
    }
    const auto exactly = [](std::uint64_t n) { return count_range{n, n}; };
    to.lost = exactly(lost);
    to.underflow = exactly(underflow);
    to.subnormal = exactly(subnormal);
    to.overflow = exactly(overflowed);
    to.normal = exactly(to.nonzero() - lost - underflow - subnormal - overflowed);
  }

  void count_block(quantized_outcomes& to, std::size_t down, std::size_t across) const {
    const std::size_t first = down * grid_.block.rows;
    const std::size_t left = across * grid_.block.columns;
    float amax = 0;
    for (std::size_t r = first; r < std::min(of_.rows, first + grid_.block.rows); ++r)
      for (std::size_t c = left; c < std::min(of_.columns, left + grid_.block.columns); ++c) {
        const float size = std::fabs(x_[r * of_.columns + c]);
        if (!(size <= amax) && !std::isnan(amax)) amax = size;
      }
    const float unit = units_[first * of_.columns + left];
    const auto add = [](count_range& n) { n += count_range{1, 1}; };
    if (amax == 0)
      ++to.counts.zero_blocks;
    else if (!std::isfinite(amax))
      ++to.counts.nonfinite_blocks;
    else if (std::isnan(unit))
      add(to.counts.nan_blocks);
    else if (to.knows_clamped && is_clamped(amax, unit))
      add(to.counts.clamped_blocks);
  }

  // Whether the scale, relative to amax, is not that of the same significand elsewhere. A logarithm that is rounded to float32 makes
  // two of that.
  [[nodiscard]] bool is_clamped(float amax, float unit) const {
    constexpr float far = 0x1p100F;  // beyond it an end of E8M0 may be near
    const float least = std::max(1 / far, 2 * row_.epsilon);
    if (amax >= least && amax <= far && unit >= 1 / far && unit <= far) return false;
    const int k = std::ilogb(amax);
    const int here = std::ilogb(unit) - k;
    return here != relative_scale(std::ldexp(amax, -k)) && here != relative_scale(std::ldexp(amax, 100 - k));
  }

  [[nodiscard]] int relative_scale(float amax) const {
    std::uint8_t code = 0;
    scales scale(row_, 1);
    quantize_blocks(row_, {&amax, 1}, {1, 1}, {&code, 1}, scale.span(row_), {.rounding = asked_.how, .threads = 1});
    code = one();
    float unit = 0;
    dequantize_blocks(row_, {&code, 1}, scale.span(row_), {1, 1}, {&unit, 1}, {.threads = 1});
    return std::ilogb(unit) - std::ilogb(amax);
  }

  [[nodiscard]] error_energies errors_of(std::span<const float> numbers) const {
    error_energies sums;
    for (std::size_t i = 0; i < x_.size(); ++i) {
      if (!std::isfinite(x_[i])) continue;
      const double exact = static_cast<double>(x_[i]);
      const double error = exact - static_cast<double>(numbers[i]);
      if (!std::isfinite(error)) {
        ++sums.not_finite;
        continue;
      }
      sums.signal += exact * exact;
      sums.error += error * error;
    }
    return sums;
  }

  const block_quantization& asked_;
  const block_format& row_;
  std::span<const float> x_;
  matrix_extent of_;
  block_grid grid_;
  std::vector<float> level_;
  std::vector<float> units_;  // what the code of 1 stands for, at each element
};

}  // namespace

double error_energies::relative() const noexcept {
  return not_finite > 0 || !(signal > 0) ? std::numeric_limits<double>::quiet_NaN() : error / signal;
}

double error_energies::sqnr() const noexcept { return -10 * std::log10(relative()); }

error_energies& error_energies::operator+=(const error_energies& other) noexcept {
  signal += other.signal;
  error += other.error;
  not_finite += other.not_finite;
  return *this;
}

quantized_outcomes& quantized_outcomes::operator+=(const quantized_outcomes& other) noexcept {
  counts += other.counts;
  knows_clamped = knows_clamped || other.knows_clamped;
  if (other.errors && errors)
    *errors += *other.errors;
  else if (other.errors)
    errors = other.errors;
  return *this;
}

std::string why_not_quantized(const block_quantization& asked, matrix_extent of) {
  if (!asked.row.transposed_hadamard) return {};
  const std::size_t rows = asked.along_other ? of.columns : of.rows;
  return rows % 16 == 0 ? "" : "has no multiple of 16 rows, which " + std::string{asked.row.name} + " transforms";
}

quantized_outcomes quantize_values(const block_quantization& asked, std::span<const float> x, matrix_extent of,
                                   std::uint64_t random_stream) {
  if (x.empty()) return {};
  std::vector<float> made;
  if (asked.along_other) {
    made.resize(x.size());
    rows_along<float>({1, of.rows, of.columns}, x, made);
    std::swap(of.rows, of.columns);
    x = made;
  }
  if (asked.row.transposed_hadamard) {
    made = hadamard_of_transpose(x, of);
    std::swap(of.rows, of.columns);
    x = made;
  }
  return quantizer(asked, x, of).run({.seed = asked.seed, .stream = random_stream});
}

}  // namespace ulp
