#include <ulp/model/outcomes/clamping.hpp>

#include <algorithm>
#include <limits>

#include "binades.hpp"
#include "cells/buckets.hpp"

namespace ulp {
namespace {

// Sum of min(|x|, bound)^2 over a binade that the bound cuts, by its cells.
value_range clamped_squares(const binade& o, const cell_table& table, double bound) {
  value_range all;
  for (const cell& c : o.cells) {
    const value_range x = magnitudes_of(c, table);
    const double low = std::min(x.low, bound);
    const double high = std::min(x.high, bound);
    const auto n = static_cast<double>(c.count);
    all += {n * low * low, n * high * high};
  }
  return all;
}

}  // namespace

clamping clamping_of(const cell_table& table, double bound, multiplier by) {
  const threshold on_x = divided({.at = magnitude_of(bound), .closed = false}, by);
  const auto edge =
      std::ranges::find_if(table.edges, [&](const edge_counts& e) { return magnitude_of(e.at) == on_x.at; });
  const bool at_edge = edge != table.edges.end() && table.has_sums && table.cut_significands == 0;
  const double unit = by.scale / by.factor;
  const double bound_on_x = bound / unit;

  clamping all{.elements = count_above(table, bound, by)};
  double above = 0;           // in binades beyond that of the bound
  double squares_in_cut = 0;  // of the binade of the bound, both signs
  auto in_no_cell = static_cast<double>(table.nonzero_finite());
  for_each_binade(table, [&](const binade& o) {
    in_no_cell -= o.count;
    if (o.exponent > on_x.at.exponent) {
      above += o.count;
      return;
    }
    const binade_total total = o.sums != nullptr ? total_of(o, table.cut_significands > 0)
                                                 : binade_total{{}, {0, std::numeric_limits<double>::infinity()}};
    const value_range by_cells = clamped_squares(o, table, bound_on_x);
    if (o.exponent < on_x.at.exponent)
      all.squares += both(by_cells, total.squares);
    else if (at_edge)
      squares_in_cut += total.squares.low;
    else
      all.squares += {by_cells.low, std::min(by_cells.high, total.squares.high)};
  });
  if (at_edge) {
    const double in_cut = static_cast<double>(edge->above) - above;
    const double beyond = std::ldexp(static_cast<double>(edge->squares_above), 2 * (on_x.at.exponent - 23));
    const double squares = squares_in_cut - beyond + in_cut * bound_on_x * bound_on_x;
    all.squares += {squares, squares};
  }
  for_each_bucket(table, [&](const bucket_values& v) {
    in_no_cell -= v.count;
    const double low = v.maybe_zero ? 0 : std::min(v.magnitudes.low, bound_on_x);
    const double high = std::min(v.magnitudes.high, bound_on_x);
    all.squares += {v.count * low * low, v.count * high * high};
  });
  const double clamped = (above + static_cast<double>(table.infinities())) * bound_on_x * bound_on_x;
  all.squares += {clamped, clamped + in_no_cell * bound_on_x * bound_on_x};
  all.squares = {all.squares.low * unit * unit, all.squares.high * unit * unit};
  return all;
}

}  // namespace ulp
