// What a deterministic rounding loses of one binade of a cell table.
#ifndef ULP_MODEL_OUTCOMES_LOST_IN_BINADE_HPP
#define ULP_MODEL_OUTCOMES_LOST_IN_BINADE_HPP

#include <ulp/model/outcomes/lost_mass.hpp>

#include "binades.hpp"

namespace ulp {

// Of values of one sign.
struct zero_rule {
  threshold least;  // from here on every rounding of the rule gives a number above zero
  threshold most;   // below here none does
};

inline lost_mass sum_of(const value_range& x, double count) {
  return {{count * x.low, count * x.high}, {count * x.low * x.low, count * x.high * x.high}};
}

inline lost_mass from_nothing(const lost_mass& m) { return {{0, m.magnitudes.high}, {0, m.squares.high}}; }

inline lost_mass both(const lost_mass& a, const lost_mass& b) {
  return {both(a.magnitudes, b.magnitudes), both(a.squares, b.squares)};
}

inline lost_mass difference(const lost_mass& all, const lost_mass& part) {
  return {{all.magnitudes.low - part.magnitudes.high, all.magnitudes.high - part.magnitudes.low},
          {all.squares.low - part.squares.high, all.squares.high - part.squares.low}};
}

inline lost_mass all_kept(const lost_mass& total) {
  return {.magnitudes = {}, .squares = {}, .kept = total.magnitudes};
}

// All values of a binade, lost.
inline lost_mass total_mass(const binade& o, const cell_table& table) {
  lost_mass all;
  for (const cell& c : o.cells) all += sum_of(magnitudes_of(c, table), static_cast<double>(c.count));
  if (o.sums == nullptr) return all;
  const binade_total exact = total_of(o, table.cut_significands > 0);
  return both(all, {exact.sum, exact.squares});
}

// What a deterministic rounding loses of a binade.
inline lost_mass lost_in(const binade& o, const cell_table& table, const zero_rule& rule) {
  lost_mass lost;
  lost_mass kept;
  bool any_lost = false;
  bool any_kept = false;
  for (const cell& c : o.cells) {
    const cell_range range = range_of(c);
    const lost_mass mass = sum_of(magnitudes_of(c, table), static_cast<double>(c.count));
    const bool point = range.low == range.high;
    const magnitude largest = table.max_abs > 0 ? magnitude_of(table.max_abs) : range.high;
    const bool some = largest < range.high ? rule.most.reached_by(largest)
                      : point              ? rule.most.reached_by(range.high)
                                           : rule.most.at < range.high;
    const bool all = range.low_closed ? rule.least.reached_by(range.low) : rule.least.reached_above(range.low);
    lost += all ? lost_mass{} : some ? from_nothing(mass) : mass;
    kept += all ? mass : some ? from_nothing(mass) : lost_mass{};
    any_lost = any_lost || !all;
    any_kept = any_kept || some;
  }
  const lost_mass total = total_mass(o, table);
  if (!any_lost) return all_kept(total);
  if (!any_kept) return total;
  lost_mass some = both(lost, difference(total, kept));
  some.kept = both(kept, difference(total, lost)).magnitudes;
  return some;
}

}  // namespace ulp

#endif
