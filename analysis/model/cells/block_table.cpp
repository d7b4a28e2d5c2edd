#include <ulp/model/cells/block_table.hpp>

#include <algorithm>
#include <stdexcept>

namespace ulp {
namespace {

constexpr int deepest = 276;  // from the greatest exponent, 127, down to -149

// Both are ascending; counts of equal keys are added.
template <class Counted, class Count>
std::vector<Counted> merged(const std::vector<Counted>& a, const std::vector<Counted>& b, Count Counted::*count) {
  std::vector<Counted> all;
  all.reserve(a.size() + b.size());
  std::vector<Counted> both;
  both.reserve(a.size() + b.size());
  std::ranges::merge(a, b, std::back_inserter(both), {}, &Counted::key, &Counted::key);
  for (const Counted& c : both) {
    if (!all.empty() && all.back().key() == c.key())
      all.back().*count += c.*count;
    else
      all.push_back(c);
  }
  return all;
}

void add(nonfinite_blocks& to, const nonfinite_blocks& more) {
  to.blocks += more.blocks;
  to.zeros += more.zeros;
  to.numbers += more.numbers;
  to.infinities += more.infinities;
  to.nans += more.nans;
}

// Takes counts off a number of elements, as long as there are some.
struct remaining {
  std::uint64_t left;
  bool take(std::uint64_t n) noexcept {
    if (n > left) return false;
    left -= n;
    return true;
  }
  bool take(const nonfinite_blocks& of) noexcept {
    return take(of.zeros) && take(of.numbers) && take(of.infinities) && take(of.nans);
  }
};

bool is_possible(const block_class& c) noexcept {
  return c.place < amax_places.size() && c.blocks > 0 &&
         (c.exponent == ordinary || (c.exponent >= -149 && c.exponent < least_ordinary) ||
          (c.exponent > greatest_ordinary && c.exponent <= 127));
}

bool is_possible(const block_cell& c, const block_class& of) noexcept {
  const int greatest = of.exponent == ordinary ? deepest : of.exponent + 149;
  return c.place < element_places.size() && c.below <= greatest && c.count > 0 &&
         (c.below > 0 || element_places[c.place].low <= amax_places[of.place].high);
}

}  // namespace

block_class block_class::of_key(std::uint32_t key) noexcept {
  const std::uint32_t exponent = key / 16;
  return {.exponent = exponent == 0 ? ordinary : static_cast<std::int16_t>(static_cast<int>(exponent % 1024) - 150),
          .place = static_cast<std::uint8_t>(key % 16),
          .blocks = 0};
}

block_cell block_cell::of_key(std::uint32_t key) noexcept {
  return {.of = key / 32768,
          .below = static_cast<std::uint16_t>(key / 64 % 512),
          .place = static_cast<std::uint8_t>(key % 32),
          .negative = key / 32 % 2 != 0,
          .count = 0};
}

std::uint64_t block_table::blocks() const noexcept {
  std::uint64_t all = zero_blocks + with_infinity.blocks + with_nan.blocks;
  for (const block_class& c : classes) all += c.blocks;
  return all;
}

bool block_table::has_ordinary() const noexcept { return !classes.empty() && classes.front().exponent == ordinary; }

void block_table::merge(const block_table& other) {
  if (!(block == other.block)) throw std::invalid_argument("tables of blocks of different extents cannot be merged");
  if (other.has_ordinary()) {
    least_exponent = has_ordinary() ? std::min(least_exponent, other.least_exponent) : other.least_exponent;
    greatest_exponent = has_ordinary() ? std::max(greatest_exponent, other.greatest_exponent) : other.greatest_exponent;
  }
  numel += other.numel;
  zeros += other.zeros;
  zero_blocks += other.zero_blocks;
  in_zero_blocks += other.in_zero_blocks;
  add(with_infinity, other.with_infinity);
  add(with_nan, other.with_nan);
  classes = merged(classes, other.classes, &block_class::blocks);
  cells = merged(cells, other.cells, &block_cell::count);
}

bool block_table::is_consistent() const noexcept {
  remaining of{numel};
  if (numel > max_numel || !of.take(zeros) || !of.take(in_zero_blocks) || !of.take(with_infinity) || !of.take(with_nan))
    return false;
  if (in_zero_blocks < zero_blocks || (in_zero_blocks > 0) != (zero_blocks > 0)) return false;
  if (with_infinity.nans != 0 || with_infinity.infinities < with_infinity.blocks || with_nan.nans < with_nan.blocks ||
      (with_infinity.blocks == 0) != (with_infinity.elements() == 0) ||
      (with_nan.blocks == 0) != (with_nan.elements() == 0))
    return false;
  if (has_ordinary() ? least_exponent < least_ordinary || greatest_exponent > greatest_ordinary ||
                           least_exponent > greatest_exponent
                     : least_exponent != 0 || greatest_exponent != 0)
    return false;
  // Each class has at least one element in its binade for each block, and no cell lacks its class.
  auto cell = cells.begin();
  const block_class* before = nullptr;
  for (const block_class& c : classes) {
    if (!is_possible(c) || (before != nullptr && before->key() >= c.key())) return false;
    before = &c;
    std::uint64_t at_amax = 0;
    for (; cell != cells.end() && cell->of == c.key(); ++cell) {
      if (!is_possible(*cell, c) || !of.take(cell->count)) return false;
      if (cell + 1 != cells.end() && cell->key() >= (cell + 1)->key()) return false;
      if (cell->below == 0 && element_places[cell->place].high >= amax_places[c.place].low) at_amax += cell->count;
    }
    if (at_amax < c.blocks) return false;
  }
  return cell == cells.end() && of.left == 0 && (zeros == 0 || !classes.empty());
}

}  // namespace ulp
