#include "underflow_counts.hpp"

#include <cmath>
#include <functional>
#include <limits>
#include <map>

#include <ulp/formats/catalog.hpp>
#include <ulp/formats/codec.hpp>

#include "cells/buckets.hpp"

namespace ulp {
namespace {

// Makes entries for the scales 2^last to 2^first too.
void widen(underflow_counts& a, int first, int last) {
  if (first > a.first) {
    a.at.insert(a.at.begin(), static_cast<std::size_t>(first - a.first), a.at.front());
    a.first = first;
  }
  const int end = a.first - static_cast<int>(a.at.size()) + 1;
  if (last < end) a.at.insert(a.at.end(), static_cast<std::size_t>(end - last), a.at.back());
}

// Adds to counts the underflow of a table whose values are recorded times `factor`, a power of two: the threshold at the
// scale 2^j lies in one binade, all below it underflow, and in that binade the cells decide.
void add_underflow(underflow_counts& counts, const cell_table& table, const treatment& how, int factor_exponent) {
  for (const bool negative : {false, true}) {
    const threshold edge = thresholds_of(how, negative).nonzero;
    if (edge.at.exponent < 2 * binary64.emin()) continue;  // no nonzero value becomes zero
    // Binade by binade: how many values, and how many of them are below the threshold's place in a binade.
    struct binade {
      std::uint64_t all = 0;
      count_range below;
    };
    std::map<int, binade> binades;
    for (const cell& c : table.cells) {
      if (c.sign != (negative ? cell_sign::negative : cell_sign::positive) &&
          !(c.sign == cell_sign::unknown && !negative))
        continue;
      const cell_range range = range_of(c);
      const magnitude at{.exponent = c.exponent, .fraction = edge.at.fraction};
      const auto is_below = [&](const magnitude& m, bool included) {
        return m < at || (m == at && (!edge.closed || !included));
      };
      binade& o = binades[c.exponent];
      o.all += c.count;
      const bool single = range.low == range.high;
      const bool all = is_below(range.high, single);
      const bool some = all || range.low < at || (range.low == at && range.low_closed && !edge.closed);
      if (all) o.below.low += c.count;
      if (some) o.below.high += c.count;
    }
    if (binades.empty()) continue;
    const int lowest = binades.begin()->first;
    const int highest = binades.rbegin()->first;
    // At 2^j the threshold is in binade edge.exponent - j + factor_exponent.
    const auto j_of = [&](int k) { return edge.at.exponent + factor_exponent - k; };
    const int first = j_of(lowest - 1);
    const int last = j_of(highest + 1);
    if (counts.at.empty()) {
      counts.first = first;
      counts.at.assign(static_cast<std::size_t>(first - last) + 1, {});
    }
    widen(counts, first, last);
    std::uint64_t below = 0;
    auto next = binades.begin();
    for (std::size_t i = 0; i < counts.at.size(); ++i) {
      const int k = edge.at.exponent + factor_exponent - (counts.first - static_cast<int>(i));
      while (next != binades.end() && next->first < k) {
        below += next->second.all;
        ++next;
      }
      const bool here = next != binades.end() && next->first == k;
      counts.at[i].low += below + (here ? next->second.below.low : 0);
      counts.at[i].high += below + (here ? next->second.below.high : 0);
    }
  }
}

// The same for its buckets: each underflows up to some scale for certain, and perhaps up to a greater one.
void add_buckets(underflow_counts& counts, const cell_table& table, const treatment& how, int factor_exponent) {
  const threshold edge = thresholds_of(how, false).nonzero;
  if (edge.at.exponent < 2 * binary64.emin()) return;
  // The greatest j with x * 2^j / factor below the threshold.
  const auto last_below = [&](double x) {
    const magnitude m = magnitude_of(x);
    const bool in_binade = m.fraction < edge.at.fraction || (m.fraction == edge.at.fraction && !edge.closed);
    return edge.at.exponent + factor_exponent - m.exponent - (in_binade ? 0 : 1);
  };
  struct change {
    int from;  // this scale down
    count_range by;
  };
  std::vector<change> changes;
  std::uint64_t always = 0;
  for_each_bucket(table, [&](const bucket_values& v) {
    const auto n = static_cast<std::uint64_t>(v.count);
    if (v.maybe_zero)
      always += n;  // some may be as small as one likes
    else
      changes.push_back({last_below(v.magnitudes.low), {0, n}});
    if (!v.maybe_zero) changes.push_back({last_below(v.magnitudes.high), {n, 0}});
  });
  if (changes.empty() && always == 0) return;
  int first = counts.first;
  int last = counts.first - static_cast<int>(counts.at.size()) + 1;
  for (const change& c : changes) {
    first = counts.at.empty() && &c == &changes.front() ? c.from + 1 : std::max(first, c.from + 1);
    last = counts.at.empty() && &c == &changes.front() ? c.from : std::min(last, c.from);
  }
  if (counts.at.empty()) {
    counts.first = first;
    counts.at.assign(static_cast<std::size_t>(std::max(first - last, 0)) + 1, {});
  }
  widen(counts, first, last);
  std::ranges::sort(changes, std::greater{}, &change::from);
  count_range below{0, always};
  auto next = changes.begin();
  for (std::size_t i = 0; i < counts.at.size(); ++i) {
    for (; next != changes.end() && next->from >= counts.first - static_cast<int>(i); ++next) below += next->by;
    counts.at[i] += below;
  }
}

}  // namespace

void stored_underflow::add(const underflow_counts& counts) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
  const bool is_exact =
      std::ranges::all_of(counts.at, [](const count_range& c) { return c.exact() && c.high <= most; });
  steps_.push_back({.begin = is_exact ? exact_.size() : ranges_.size(),
                    .first = counts.first,
                    .size = static_cast<std::uint32_t>(counts.at.size()) & 0x7fff'ffffU,
                    .is_exact = is_exact ? 1U : 0U});
  if (is_exact)
    for (const count_range& c : counts.at) exact_.push_back(static_cast<std::uint32_t>(c.high));
  else
    ranges_.insert(ranges_.end(), counts.at.begin(), counts.at.end());
}

void stored_underflow::clear() {
  steps_.clear();
  exact_.clear();
  ranges_.clear();
}

count_range stored_underflow::of(std::size_t step, int j) const {
  const one_step& s = steps_[step];
  const auto i = static_cast<std::size_t>(std::clamp(s.first - j, 0, static_cast<int>(s.size) - 1));
  if (!s.is_exact) return ranges_[s.begin + i];
  return {exact_[s.begin + i], exact_[s.begin + i]};
}

void add_underflow(underflow_counts& counts, const cell_table& table, const treatment& how, double factor) {
  const int exponent = std::ilogb(factor);
  const auto add = [&](underflow_counts& at, int power) {
    add_underflow(at, table, how, power);
    if (!table.buckets.empty()) add_buckets(at, table, how, power);
  };
  if (std::ldexp(1.0, exponent) == factor) return add(counts, exponent);
  underflow_counts fewest;
  underflow_counts most;
  add(fewest, exponent);
  add(most, exponent + 1);
  if (fewest.at.empty()) return;
  const int first = std::max(fewest.first, most.first);
  const int last =
      std::min(fewest.first - static_cast<int>(fewest.at.size()), most.first - static_cast<int>(most.at.size())) + 1;
  if (counts.at.empty()) {
    counts.first = first;
    counts.at.assign(static_cast<std::size_t>(first - last) + 1, {});
  }
  widen(counts, first, last);
  for (std::size_t i = 0; i < counts.at.size(); ++i) {
    const int j = counts.first - static_cast<int>(i);
    counts.at[i] += {fewest.of(j).low, most.of(j).high};
  }
}

}  // namespace ulp
