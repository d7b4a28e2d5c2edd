#include <ulp/model/plan/lost_energy.hpp>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <ulp/formats/codec.hpp>
#include <ulp/model/outcomes/noise.hpp>
#include <ulp/model/outcomes/row_outcomes.hpp>

#include "outcomes/block_scales.hpp"

namespace ulp {
namespace {

// Between these, no scale is near an end of float32, and no product with one a subnormal number.
constexpr double least_amax = 0x1p-80;
constexpr double greatest_amax = 0x1p127;

// Whether the largest value is known, and scales for it are ordinary.
bool has_ordinary_amax(const cell_table& table) {
  return table.max_abs >= least_amax && table.max_abs <= greatest_amax;
}

// The sum of squares of the finite values.
value_range energy_of(const cell_table& table) {
  const value_sum sum = squares_sum(table);
  if (sum.quality == sum_quality::exact) return {sum.value, sum.value};
  value_range all;
  for (const cell& c : table.cells) {
    const cell_range r = range_of(c);
    const auto n = static_cast<double>(c.count);
    const double low = double_from(r.low);
    const double high = double_from(r.high);
    all += {n * low * low, n * high * high};
  }
  for (const bucket& b : table.buckets) {
    const auto n = static_cast<double>(b.count);
    const double high = std::max(std::fabs(b.low), std::fabs(b.high));
    const double low = b.may_hold_zero() ? 0 : std::min(std::fabs(b.low), std::fabs(b.high));
    all += {n * low * low, n * high * high};
  }
  return all;
}

lost_energy share_of(const value_range& error, double estimate, const value_range& energy) {
  if (energy.high == 0) return {};
  lost_energy all;
  all.share = {error.low / energy.high, energy.low > 0 ? error.high / energy.low : no_bound};
  all.estimate = std::clamp(estimate / (energy.exact() ? energy.low : (energy.low + energy.high) / 2), all.share.low,
                            all.share.high);
  return all;
}

lost_energy nothing_known() { return {.share = {0, no_bound}, .estimate = no_bound, .may_saturate = true}; }

// With as many exponents as it takes.
format with_fraction_bits(int bits) { return {.exponent_bits = 11, .fraction_bits = bits, .bias = 1023}; }

}  // namespace

lost_energy lost_energy_of(const tensor_row& row, const treatment& how, multiplier by) {
  if (row.table.nonzero_finite() == 0) return {};
  const bool may_saturate = reaches(thresholds_of(how, false).overflow, by, row.table.largest_possible());
  if (may_saturate && !std::isnan(row.table.max_abs)) {
    lost_energy all = nothing_known();
    all.saturates = true;
    return all;
  }
  const rounding_noise noise = noise_of(row, how, by);
  const double per_unit = by.factor * by.factor;
  lost_energy all =
      share_of({noise.least * per_unit, noise.most * per_unit}, noise.squares * per_unit, energy_of(row.table));
  all.may_saturate = may_saturate;
  return all;
}

lost_energy lost_energy_in_tensor_scale(const tensor_row& row, const format& to) {
  if (row.table.nonzero_finite() == 0) return {};
  if (!has_ordinary_amax(row.table)) return nothing_known();
  const double largest = to_double(to, to.max_finite_code());
  const double scale = std::ldexp(1.0, std::ilogb(static_cast<float>(largest) / static_cast<float>(row.table.max_abs)));
  return lost_energy_of(row, {to, {.overflow = overflow_mode::saturate}}, {.scale = scale});
}

lost_energy lost_energy_of(const quantized_outcomes& counted) {
  const error_energies& e = *counted.errors;
  const bool lost = e.not_finite > 0 || counted.counts.overflow.high > 0;
  // Of what is finite no more there is no error that could be told.
  if (e.not_finite > 0)
    return {
        .share = {0, no_bound}, .estimate = no_bound, .saturates = true, .may_saturate = true, .makes_nonfinite = true};
  if (!(e.signal > 0)) return {.saturates = lost, .may_saturate = lost};
  const double share = e.error / e.signal;
  return {.share = {share, share}, .estimate = share, .saturates = lost, .may_saturate = lost};
}

std::string why_tables_do_not_bound(const block_format& row) {
  if (row.transposed_hadamard) return "its blocks are of the transformed transpose";
  const bool is_nearest = row.rounding == direction::nearest_even || row.rounding == direction::nearest_away;
  if (row.element.numbers == nullptr || !is_nearest || row.rounds_by_log2f)
    return "its elements are not rounded to the nearest number";
  switch (row.rule) {
    case amax_rule::round_up:
    case amax_rule::round_up_of_numbers:
    case amax_rule::round_up_of_quotient: return {};
    case amax_rule::te_quotient:
    case amax_rule::torchao_double: return row.power_of_two ? "" : "its scales are no powers of two";
    case amax_rule::floor:
    case amax_rule::ceil:
    case amax_rule::even:
    case amax_rule::floor_of_log2f:
    case amax_rule::floor_of_field:
    case amax_rule::floor_clamped:
    case amax_rule::floor_clamped_log2f:
    case amax_rule::ceil_of_log2f: return "its scale may leave elements beyond the largest number";
    default: return "its scales are no powers of two";
  }
}

block_energy::block_energy(const block_format& row) : row_(row) {
  if (const std::string why = why_tables_do_not_bound(row); !why.empty())
    throw std::invalid_argument("tables do not bound the energy under " + std::string{row.name} + ": " + why);
  if (row.block.rows > 0 && row.block.columns > 0 && why_block_tables_do_not_tell(row).empty()) counter_.emplace(row);
}

lost_energy block_energy::operator()(const tensor_row& row, const block_table* blocks) const {
  if (row.table.nonzero_finite() == 0) return {};
  if (!has_ordinary_amax(row.table) || row.type == dtype::float64) return nothing_known();
  const float unit = detail::scales_of(row_, {static_cast<float>(row.table.max_abs)}).front();
  if (!(unit > 0) || !std::isfinite(unit)) return nothing_known();
  const format& to = *row_.element.numbers;
  const value_range energy = energy_of(row.table);
  const rounding_noise finest = noise_of(row, {with_fraction_bits(to.fraction_bits), {}}, {});
  const rounding_noise coarsest =
      noise_of(row, {to, {.overflow = overflow_mode::saturate}}, {.scale = 1 / static_cast<double>(unit)});
  value_range error{finest.least, std::max(finest.most, coarsest.most)};
  double estimate = (finest.squares + coarsest.squares) / 2;
  if (blocks != nullptr && counter_) {
    const block_outcomes counts = (*counter_)(*blocks);
    const double step = std::ldexp(static_cast<double>(unit), to.min_quantum_exponent());
    const auto coarse = static_cast<double>(counts.underflow.high + counts.subnormal.high);
    error.high = std::min(error.high, finest.most + coarse * step * step / 4);
    // Those below the least normal number, as if all blocks had one scale: in units of it, and of the tensor's energy.
    double sum = 0;
    double more = 0;
    const double half = std::ldexp(1.0, to.min_quantum_exponent() - 1);
    for (const auto& [exponent, count] : counter_->exponents(*blocks).by_exponent) {
      const double n = (static_cast<double>(count.low) + static_cast<double>(count.high)) / 2;
      const double square = std::ldexp(7.0 / 3, 2 * exponent);
      sum += n * square;
      if (exponent >= to.emin()) continue;
      const double fine = std::ldexp(1.0, 2 * (exponent - to.fraction_bits)) / 12;
      more += n * std::max(0.0, (std::ldexp(1.0, exponent) < half ? square : half * half / 3) - fine);
    }
    if (sum > 0) estimate = finest.squares + more / sum * (energy.low + energy.high) / 2;
  }
  return share_of(error, std::clamp(estimate, error.low, error.high), energy);
}

}  // namespace ulp
