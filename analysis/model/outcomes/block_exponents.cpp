#include <ulp/model/outcomes/block_exponents.hpp>

#include <cmath>

namespace ulp {
namespace {

void add_nonfinite(block_exponents& to, const nonfinite_blocks& of) {
  to.numel += of.elements();
  to.zeros += of.zeros;
  to.nonfinite += of.infinities + of.nans;
  to.unplaced += of.numbers;
}

}  // namespace

block_exponents& block_exponents::operator+=(const block_exponents& other) {
  for (const auto& [exponent, count] : other.by_exponent) by_exponent[exponent] += count;
  numel += other.numel;
  zeros += other.zeros;
  nonfinite += other.nonfinite;
  unplaced += other.unplaced;
  lost += other.lost;
  return *this;
}

block_exponents exponents_outside_classes(const block_table& table) {
  block_exponents all;
  all.numel = all.zeros = table.zeros + table.in_zero_blocks;
  add_nonfinite(all, table.with_infinity);
  add_nonfinite(all, table.with_nan);
  return all;
}

block_exponents exponents_below_amax(const block_table& table) {
  block_exponents all = exponents_outside_classes(table);
  for (const block_cell& c : table.cells) {
    all.by_exponent[-c.below] += {c.count, c.count};
    all.numel += c.count;
  }
  return all;
}

block_exponents exponents_over(const cell_table& table, double unit) {
  block_exponents all;
  all.numel = table.numel;
  all.zeros = table.zeros;
  all.nonfinite = table.nonfinite();
  all.unplaced = table.maybe_zeros;
  for (const bucket& b : table.buckets)
    if (!b.may_hold_zero()) all.unplaced += b.count;
  for (const cell& c : table.cells) {
    const cell_range range = range_of(c);
    const double low = double_from(range.low);
    const double high = double_from(range.high);
    const int first = std::ilogb(low / unit);
    // The upper end is no value of the cell, but where it is a point.
    const int last = std::ilogb((high > low ? std::nextafter(high, 0) : high) / unit);
    for (int exponent = first; exponent <= last; ++exponent)
      all.by_exponent[exponent] += {first == last ? c.count : 0, c.count};
  }
  return all;
}

}  // namespace ulp
