#include <ulp/model/outcomes/magnitude_loss.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include <ulp/formats/catalog.hpp>
#include <ulp/formats/codec.hpp>
#include <ulp/model/outcomes/lost_mass.hpp>

#include "binades.hpp"
#include "cells/buckets.hpp"
#include "lost_in_binade.hpp"

namespace ulp {
namespace {

// The threshold at the scale 2^exponent, given that at the scale 1.
threshold shifted(threshold t, int exponent) {
  t.at.exponent -= exponent;
  return t;
}

// Makes entries for first to last too.
void widen(magnitude_loss& of, int first, int last) {
  if (first > last) return;
  if (of.lost.empty()) {
    of.first = first;
    of.lost.assign(static_cast<std::size_t>(last - first) + 1, 0);
    return;
  }
  if (first < of.first) {
    of.lost.insert(of.lost.begin(), static_cast<std::size_t>(of.first - first), of.lost.front());
    of.first = first;
  }
  const int end = of.first + static_cast<int>(of.lost.size());
  if (last >= end) of.lost.insert(of.lost.end(), static_cast<std::size_t>(last - end) + 1, of.lost.back());
}

int last_of(const magnitude_loss& of) { return of.first + static_cast<int>(of.lost.size()) - 1; }

// What the threshold of nonzero results takes of a binade that it lies in.
double cut_from(const binade& o, const cell_table& table, const threshold& nonzero) {
  const cell& lowest = o.cells.front();
  // Nearly always it is the binade's lower edge, and only values of that edge may be below it.
  if (nonzero.at.fraction == 0 && lowest.slot != whole_binade)
    return lowest.slot == 0 && !nonzero.closed ? std::ldexp(static_cast<double>(lowest.count), o.exponent) : 0;
  return lost_in(o, table, {nonzero, nonzero}).magnitudes.high;
}

// Of both signs.
struct binade_mass {
  double total = 0;
  double cut = 0;      // lost where the threshold lies in it
  double count = 0;    // of its values
  double clamped = 0;  // what exceeds the largest finite number where the threshold of overflow lies in it
};

// What exceeds `largest` of the values of a binade that are clamped from `overflow` on; `total` is their sum.
double excess_in(const binade& o, const cell_table& table, const threshold& overflow, double largest, double total) {
  if (overflow.reached_by({.exponent = o.exponent})) return std::max(0.0, total - o.count * largest);
  double sum = 0;
  for (const cell& c : o.cells) {
    const cell_range range = range_of(c);
    const bool any = range.low == range.high ? overflow.reached_by(range.high) : overflow.at < range.high;
    if (any) sum += static_cast<double>(c.count) * std::max(0.0, magnitudes_of(c, table).high - largest);
  }
  return sum;
}

// A format and rounding at the scale 1, in units of the recorded values.
struct delivery_edges {
  threshold nonzero;
  threshold overflow;
  bool any_is_lost = false;  // else no nonzero value becomes zero
  bool clamps = false;
  double largest = 0;  // finite number
};

delivery_edges edges_of(const treatment& how, double factor) {
  const outcome_thresholds t = thresholds_of(how, false);
  const multiplier by{.factor = factor};
  return {.nonzero = divided(t.nonzero, by),
          .overflow = divided(t.overflow, by),
          .any_is_lost = t.nonzero.at.exponent >= 2 * binary64.emin(),
          .clamps = !overflow_is_infinite(how, false),
          .largest = to_double(how.format, how.format.max_finite_code()) * factor};
}

// By exponent from that of the least value on.
std::vector<binade_mass> masses_of(const cell_table& table, const delivery_edges& edges, int least) {
  std::vector<binade_mass> masses;
  for_each_binade(table, [&](const binade& o) {
    const auto i = static_cast<std::size_t>(o.exponent - least);
    if (masses.size() <= i) masses.resize(i + 1);
    const double total =
        o.sums == nullptr ? total_mass(o, table).magnitudes.high : total_of(o, table.cut_significands > 0).sum.high;
    masses[i].total += total;
    masses[i].count += o.count;
    if (edges.any_is_lost)
      masses[i].cut += cut_from(o, table, shifted(edges.nonzero, edges.nonzero.at.exponent - o.exponent));
    if (!edges.clamps) return;
    const int scale = edges.overflow.at.exponent - o.exponent;
    masses[i].clamped += excess_in(o, table, shifted(edges.overflow, scale), std::ldexp(edges.largest, -scale), total);
  });
  return masses;
}

// The scale of an entry at which a threshold lies in the binade that many above the least.
void add_underflow(magnitude_loss& to, const std::vector<binade_mass>& masses, int threshold_exponent, int least) {
  const int none_lost = threshold_exponent - least + 1;
  const int all_lost = none_lost - static_cast<int>(masses.size()) - 1;
  widen(to, all_lost, none_lost);
  double below = 0;
  int binade = 0;
  const int count = static_cast<int>(masses.size());
  for (int j = last_of(to); j >= to.first; --j) {
    const int cut = threshold_exponent - j - least;  // the binade that the threshold is in
    for (; binade < std::min(cut, count); ++binade) below += masses[static_cast<std::size_t>(binade)].total;
    const double here = cut >= 0 && cut < count ? masses[static_cast<std::size_t>(cut)].cut : 0;
    to.lost[static_cast<std::size_t>(j - to.first)] += below + here;
  }
}

void add_clamping(magnitude_loss& to, const std::vector<binade_mass>& masses, const delivery_edges& edges, int least) {
  const int all_clamped = edges.overflow.at.exponent - least + 1;
  const int count = static_cast<int>(masses.size());
  widen(to, all_clamped - count - 1, all_clamped);
  double above = 0;
  double values = 0;
  int binade = count - 1;
  for (int j = to.first; j <= last_of(to); ++j) {
    const int cut = edges.overflow.at.exponent - j - least;
    for (; binade > std::max(cut, -1); --binade) {
      above += masses[static_cast<std::size_t>(binade)].total;
      values += masses[static_cast<std::size_t>(binade)].count;
    }
    const double here = cut >= 0 && cut < count ? masses[static_cast<std::size_t>(cut)].clamped : 0;
    to.lost[static_cast<std::size_t>(j - to.first)] +=
        std::max(0.0, above - values * std::ldexp(edges.largest, -j)) + here;
  }
}

// Counts between edges of the source's own: the worst that a bucket leaves open, scale by scale.
void add_bucket(magnitude_loss& to, const bucket_values& v, const delivery_edges& edges) {
  if (!(v.magnitudes.high > 0)) return;
  constexpr int span = 60;  // of its binades; what is left below them weighs nothing
  const int highest = std::ilogb(v.magnitudes.high);
  const int lowest = std::max(std::ilogb(v.magnitudes.low), highest - span);
  const double low = v.maybe_zero ? 0 : v.magnitudes.low;
  if (edges.any_is_lost) widen(to, edges.nonzero.at.exponent - highest - 1, edges.nonzero.at.exponent - lowest + 1);
  if (edges.clamps) widen(to, edges.overflow.at.exponent - highest - 1, edges.overflow.at.exponent - lowest + 1);
  for (std::size_t i = 0; i < to.lost.size(); ++i) {
    const int j = to.first + static_cast<int>(i);
    const threshold nonzero = shifted(edges.nonzero, j);
    if (edges.any_is_lost && !nonzero.reached_by(magnitude_of(v.magnitudes.low)))
      to.lost[i] += v.count * std::max(low, std::min(v.magnitudes.high, double_from(nonzero.at)));
    if (edges.clamps) to.lost[i] += v.count * std::max(0.0, v.magnitudes.high - std::ldexp(edges.largest, -j));
  }
}

}  // namespace

double magnitude_loss::at(int exponent) const {
  if (lost.empty()) return 0;
  return lost[static_cast<std::size_t>(std::clamp(exponent, first, last_of(*this)) - first)];
}

magnitude_loss& magnitude_loss::operator+=(const magnitude_loss& other) {
  total += other.total;
  if (other.lost.empty()) return *this;
  widen(*this, other.first, last_of(other));
  for (std::size_t i = 0; i < lost.size(); ++i) lost[i] += other.at(first + static_cast<int>(i));
  return *this;
}

magnitude_loss magnitude_loss_of(const cell_table& table, const treatment& how, double factor) {
  magnitude_loss all;
  const delivery_edges edges = edges_of(how, factor);
  if (!table.cells.empty()) {
    int least = std::numeric_limits<int>::max();
    for_each_binade(table, [&](const binade& o) { least = std::min(least, o.exponent); });
    const std::vector<binade_mass> masses = masses_of(table, edges, least);
    for (const binade_mass& m : masses) all.total += m.total;
    if (edges.any_is_lost) add_underflow(all, masses, edges.nonzero.at.exponent, least);
    if (edges.clamps) add_clamping(all, masses, edges, least);
  }
  for_each_bucket(table, [&](const bucket_values& v) {
    all.total += v.count * v.magnitudes.high;
    add_bucket(all, v, edges);
  });
  if (in_no_cell(table) > 0) all.total = not_known;
  for (double& x : all.lost) x /= factor;
  all.total /= factor;
  return all;
}

}  // namespace ulp
