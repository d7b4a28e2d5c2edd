#include <ulp/report/pictures/layer_metrics.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <ulp/model/outcomes/lost_mass.hpp>
#include <ulp/model/outcomes/noise.hpp>
#include <ulp/report/tables/table.hpp>

namespace ulp {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

bool is_maximum(layer_metric m) { return m == layer_metric::largest || m == layer_metric::headroom; }

value_range as_values(const count_range& c) { return {static_cast<double>(c.low), static_cast<double>(c.high)}; }

// What answers at both ends of the scales leave open of something that falls as the scale rises.
value_range falling(const value_range& at_least_scale, const value_range& at_greatest_scale) {
  return {at_greatest_scale.low, at_least_scale.high};
}
value_range rising(const value_range& at_least_scale, const value_range& at_greatest_scale) {
  return falling(at_greatest_scale, at_least_scale);
}

// Subnormal results are those below the smallest normal number without those that underflow, and both fall.
value_range subnormal_between(const outcome_counts& least, const outcome_counts& greatest, double nonzero) {
  if (least == greatest) return as_values(least.subnormal);
  const auto low = [](const count_range& c) { return static_cast<double>(c.low); };
  const auto high = [](const count_range& c) { return static_cast<double>(c.high); };
  return {std::max(0.0, low(greatest.underflow) + low(greatest.subnormal) - high(least.underflow)),
          std::min(nonzero, high(least.underflow) + high(least.subnormal) - low(greatest.underflow))};
}

// Of the finite values as recorded.
value_range largest_of(const cell_table& table) {
  if (!std::isnan(table.max_abs)) return {table.max_abs, table.max_abs};
  value_range largest{0, table.largest_possible()};
  for (const bucket& b : table.buckets)
    largest.low = std::max(largest.low, b.may_hold_zero() ? 0 : std::min(std::abs(b.low), std::abs(b.high)));
  for (const cell& c : table.cells) largest.low = std::max(largest.low, double_from(range_of(c).low));
  return largest;
}

layer_cell counted(const layer_question& q, const tensor_tables::entry& of, const value_range& scales) {
  const auto counts_at = [&](double scale) {
    return outcomes_of(of.table, {q.to, q.mode}, {.scale = scale, .factor = of.factor}, of.type);
  };
  const outcome_counts least = counts_at(scales.low);
  const outcome_counts greatest = scales.exact() ? least : counts_at(scales.high);
  layer_cell cell;
  if (q.metric == layer_metric::zeros) {
    cell.part = as_values(least.zeros());
    cell.whole = as_values({least.numel, least.numel});
  } else {
    const auto nonzero = static_cast<double>(least.nonzero().high);
    cell.whole = {nonzero, nonzero};
    cell.part = q.metric == layer_metric::underflow ? falling(as_values(least.underflow), as_values(greatest.underflow))
                : q.metric == layer_metric::overflow ? rising(as_values(least.overflow), as_values(greatest.overflow))
                                                     : subnormal_between(least, greatest, nonzero);
  }
  cell.known = cell.whole.high > 0;
  return cell;
}

layer_cell lost(const layer_question& q, const tensor_tables::entry& of, const value_range& scales) {
  const auto lost_at = [&](double scale) {
    const lost_mass all = lost_to_underflow(of.table, {q.to, q.mode}, {.scale = scale, .factor = of.factor}, of.type);
    return q.metric == layer_metric::lost_l1 ? all.magnitudes : all.squares;
  };
  layer_cell cell;
  const value_range least = lost_at(scales.low);
  cell.part = scales.exact() ? least : falling(least, lost_at(scales.high));
  if (q.metric == layer_metric::lost_l1) {
    const value_range all = magnitudes_bounds(of.table);
    cell.whole = {all.low / of.factor, all.high / of.factor};
    cell.known = of.table.nonzero_finite() > 0;
  } else {
    const value_sum all = squares_sum(of.table);
    const double squares = all.value / of.factor / of.factor;
    cell.whole = {squares, squares};
    cell.modelled = all.quality == sum_quality::estimated;
    cell.known = of.table.nonzero_finite() > 0;
  }
  return cell;
}

layer_cell noise(const layer_question& q, const tensor_tables::entry& of, const value_range& scales) {
  const auto noise_at = [&](double scale) {
    return noise_of(of.table, {q.to, q.mode}, {.scale = scale, .factor = of.factor}, of.type);
  };
  const rounding_noise least = noise_at(scales.low);
  const rounding_noise greatest = scales.exact() ? least : noise_at(scales.high);
  // The coarser spacing of a smaller scale makes more noise; what overflows makes none, so that then it is a model.
  return {.part = {std::min(greatest.squares, least.squares), std::max(greatest.squares, least.squares)},
          .whole = {std::min(greatest.signal, least.signal), std::max(greatest.signal, least.signal)},
          .modelled = !least.squares_exact || !greatest.squares_exact || (!scales.exact() && greatest.overflowing > 0),
          .known = of.table.nonzero_finite() > 0};
}

layer_cell extreme(const layer_question& q, const tensor_tables::entry& of, const value_range& scales) {
  value_range largest = largest_of(of.table);
  largest = {largest.low / of.factor, largest.high / of.factor};
  if (q.metric == layer_metric::headroom) largest = {largest.low * scales.low, largest.high * scales.high};
  return {.part = largest, .whole = {}, .modelled = false, .known = largest.high > 0};
}

// As `ulp outcomes` has it: the part of a whole that may be a range too.
value_range share(const layer_cell& of) {
  if (!(of.whole.high > 0) || !std::isfinite(of.part.high)) return {not_known, not_known};
  const double least = of.whole.low + of.open;
  return {of.part.low / of.whole.high, of.whole.exact() || of.part.high < least ? of.part.high / least : 1};
}

}  // namespace

void add(layer_metric metric, layer_cell& into, const layer_cell& other) {
  if (!other.known) return;
  if (is_maximum(metric)) {
    into.part.low = std::max(into.part.low, other.part.low);
    into.part.high = std::max(into.part.high, other.part.high);
  } else {
    into.part += other.part;
    into.whole += other.whole;
    into.open += other.open;
  }
  into.modelled = into.modelled || other.modelled;
  into.known = true;
}

layer_cell cell_of(const layer_question& q, const tensor_tables::entry& of, const value_range& scales) {
  const value_range by = of.is_scaled ? scales : value_range{1, 1};
  switch (q.metric) {
    case layer_metric::underflow:
    case layer_metric::subnormal:
    case layer_metric::overflow:
    case layer_metric::zeros: return counted(q, of, by);
    case layer_metric::lost_l1:
    case layer_metric::lost_l2: return lost(q, of, by);
    case layer_metric::sqnr: return noise(q, of, by);
    case layer_metric::largest:
    case layer_metric::headroom: return extreme(q, of, by);
    case layer_metric::lost_updates:
    case layer_metric::saturated:
    case layer_metric::stale: break;
  }
  return {};
}

value_range value_of(const layer_question& q, const layer_cell& cell) {
  if (!cell.known) return {not_known, not_known};
  switch (q.metric) {
    case layer_metric::lost_l2: {
      const value_range of_squares = share(cell);
      return {std::sqrt(of_squares.low), std::sqrt(of_squares.high)};
    }
    case layer_metric::sqnr: {
      const auto decibels = [](double signal, double squares) {
        return signal > 0 ? 10 * std::log10(signal / squares) : not_known;
      };
      return {decibels(cell.whole.low, cell.part.high), decibels(cell.whole.high, cell.part.low)};
    }
    case layer_metric::largest: return {std::log2(cell.part.low), std::log2(cell.part.high)};
    case layer_metric::headroom: {
      const double limit = limits_of({q.to, q.mode}).overflow;
      return {limit - std::log2(cell.part.high), limit - std::log2(cell.part.low)};
    }
    default: return share(cell);
  }
}

bool crosses(const layer_question& q, const layer_cell& cell) {
  return cell.known && (q.metric == layer_metric::headroom ? value_of(q, cell).high < 0 : cell.part.low > 0);
}

bool may_cross(const layer_question& q, const layer_cell& cell) {
  return cell.known && (q.metric == layer_metric::headroom ? value_of(q, cell).low < 0 : cell.part.high > 0);
}

std::string value_text(const layer_question& q, const layer_cell& cell) {
  return value_text(q, value_of(q, cell), cell.modelled);
}

std::string value_text(const layer_question& q, const value_range& value, bool modelled) {
  if (std::isnan(value.low) || std::isnan(value.high)) return {};
  const auto text = [&](double x) {
    if (is_share(q.metric)) return fmt::format("{:.4g}", 100 * x);
    if (x == infinity) return std::string{"infinite"};
    return fmt::format("{:.{}f}", x, q.metric == layer_metric::sqnr && !modelled ? 2 : 1);
  };
  if (q.metric == layer_metric::sqnr && value.low == infinity) return "no error";
  if (value.low == -infinity) return "at most " + text(value.high);
  if (q.metric == layer_metric::headroom && value.high == infinity) return "at least " + text(value.low);
  return (modelled ? "~" : "") + ends_text(text(value.low), text(value.high)) +
         (is_share(q.metric)               ? " %"
          : q.metric == layer_metric::sqnr ? " dB"
                                           : "");
}

layer_answer answer_to(const layer_question& q, const std::vector<layer_column>& columns, std::size_t tensors,
                       listener& to) {
  layer_answer all{.question = q, .tensors = tensors, .cells = std::vector<layer_cell>(columns.size() * tensors)};
  work counting(to, "columns", columns.size());
  for (std::size_t c = 0; c < columns.size(); ++c) {
    counting.advance();
    for (const tensor_tables::entry& e : columns[c].tables->entries)
      if (e.tensor < tensors) add(q.metric, all.cells[c * tensors + e.tensor], cell_of(q, e, columns[c].scales));
  }
  return all;
}

}  // namespace ulp
