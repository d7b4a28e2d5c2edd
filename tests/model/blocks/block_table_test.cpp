// Counts from block tables against quantize_blocks, element by element.
#include <ulp/model/blocks/block_table.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <ulp/model/blocks/block_outcomes.hpp>
#include <ulp/model/cells/cell_counter.hpp>

#include "brute_force.hpp"
#include "support/catch.hpp"

namespace {

using namespace ulp;

struct sample {
  std::string name;
  matrix_extent of;
  std::vector<float> x;
};

// The same in every standard library.
class random_numbers {
 public:
  explicit random_numbers(std::uint32_t seed) : engine_(seed) {}
  std::uint32_t bits() { return static_cast<std::uint32_t>(engine_()); }
  std::uint32_t below(std::uint32_t n) { return bits() % n; }
  float sign() { return (bits() & 1) != 0 ? -1.0F : 1.0F; }
  // Of 1 + f: any, one with few bits, an edge, or beside one.
  float significand() {
    const std::uint32_t fraction = bits() & 0x7FFFFF;
    const auto edge = [&] { return below(3) == 0 ? 0x1.D0p0F : 2 - std::ldexp(1.0F, -static_cast<int>(below(9))); };
    switch (below(5)) {
      case 0: return std::bit_cast<float>(0x3F800000 | (fraction & 0x7F0000));
      case 1: return std::max(1.0F, edge());
      case 2:
        return std::bit_cast<float>(std::bit_cast<std::uint32_t>(std::max(1.0F, edge())) + below(3) - (below(2) + 0));
      default: return std::bit_cast<float>(0x3F800000 | fraction);
    }
  }
  // Magnitudes from 2^low to 2^high.
  float of_binades(int low, int high) {
    return sign() *
           std::ldexp(significand(), low + static_cast<int>(below(static_cast<std::uint32_t>(high - low + 1))));
  }

 private:
  std::mt19937 engine_;
};

template <class Make>
sample filled(std::string name, matrix_extent of, Make make) {
  sample made{std::move(name), of, std::vector<float>(of.rows * of.columns)};
  for (float& x : made.x) x = make();
  return made;
}

std::vector<sample> samples(std::uint32_t seed) {
  random_numbers random(seed);
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
  constexpr matrix_extent ragged{37, 83};
  std::vector<sample> all;
  const auto ordinary = [&] { return random.of_binades(-20, 3); };
  all.push_back(filled("near", {64, 96}, [&] { return random.of_binades(-4, 0); }));
  all.push_back(filled("wide", ragged, [&] { return random.of_binades(-45, 8); }));
  all.push_back(filled("ragged", ragged, ordinary));
  all.push_back(filled("one row", {1, 100}, ordinary));
  all.push_back(filled("one column", {100, 1}, ordinary));
  all.push_back(filled("with zeros", ragged, [&] { return random.below(4) != 0 ? 0.0F * random.sign() : ordinary(); }));
  all.push_back(filled("any bits", ragged, [&] { return std::bit_cast<float>(random.bits()); }));
  all.push_back(filled("rarely infinite", ragged, [&] { return random.below(60) == 0 ? infinity : ordinary(); }));
  all.push_back(filled("rarely NaN", ragged, [&] {
    return random.below(60) == 0 ? not_a_number : random.below(90) == 0 ? -infinity : ordinary();
  }));
  all.push_back(filled("subnormal", ragged, [&] {
    return random.sign() * std::bit_cast<float>(random.below(1U << (1 + random.below(23))));
  }));
  all.push_back(filled("partly subnormal", ragged, [&] { return random.of_binades(-149, -90); }));
  for (const int at : {-127, -121, -115, -111, -109})
    all.push_back(filled("low end", {29, 64}, [&] { return random.of_binades(at - 5, at); }));
  all.push_back(filled("high end", ragged, [&] { return random.of_binades(110, 127); }));
  all.push_back(filled("the whole range", ragged, [&] { return random.of_binades(-149, 127); }));
  sample equal{"equal", {40, 64}, {}};
  for (std::size_t r = 0; r < equal.of.rows; ++r) {
    const float value = random.of_binades(-120, 120);
    for (std::size_t c = 0; c < equal.of.columns; ++c) equal.x.push_back(value * random.sign());
  }
  all.push_back(equal);
  // Blocks of zeros among others, and blocks of magnitudes of their own.
  sample mixed{"mixed", {48, 128}, {}};
  for (std::size_t b = 0; b < 48 * 4; ++b) {
    const bool is_zero = random.below(4) == 0;
    const int top = -140 + static_cast<int>(random.below(268));
    for (int i = 0; i < 32; ++i)
      mixed.x.push_back(
          is_zero ? 0
                  : random.of_binades(std::max(top - static_cast<int>(random.below(40)), -149), std::max(top, -149)));
  }
  all.push_back(mixed);
  return all;
}

constexpr std::array roundings{direction::nearest_even,    direction::nearest_away,    direction::toward_zero,
                               direction::toward_positive, direction::toward_negative, direction::to_odd};

bool holds(const count_range& range, const count_range& exact) {
  return range.low <= exact.low && exact.low <= range.high;
}

void expect_held(const block_outcomes& told, const block_outcomes& exact) {
  CHECK(told.numel == exact.numel);
  CHECK(told.zero == exact.zero);
  CHECK(told.nonfinite == exact.nonfinite);
  CHECK(told.blocks == exact.blocks);
  CHECK(told.zero_blocks == exact.zero_blocks);
  CHECK(told.nonfinite_blocks == exact.nonfinite_blocks);
  for (const auto& [name, part] :
       {std::pair{"underflow", &block_outcomes::underflow}, std::pair{"subnormal", &block_outcomes::subnormal},
        std::pair{"normal", &block_outcomes::normal}, std::pair{"overflow", &block_outcomes::overflow},
        std::pair{"lost", &block_outcomes::lost}, std::pair{"clamped", &block_outcomes::clamped_blocks},
        std::pair{"nan", &block_outcomes::nan_blocks}}) {
    INFO(name << " [" << (told.*part).low << ", " << (told.*part).high << "], counted " << (exact.*part).low);
    CHECK(holds(told.*part, exact.*part));
  }
}

block_format with_block(block_format row, block_extent block) {
  row.block = block;
  return row;
}

TEST_CASE("Counts from block tables are those of every element, under four rules, five formats and six roundings") {
  const std::array rules{amax_rule::floor, amax_rule::ceil, amax_rule::even, amax_rule::round_up};
  std::uint64_t cases = 0;
  std::uint64_t exact = 0;
  for (const block_format& row : block_formats()) {
    if (row.scale != scale_type::e8m0 || std::ranges::find(rules, row.rule) == rules.end()) continue;
    CAPTURE(row.name);
    for (const direction way : roundings) {
      CAPTURE(static_cast<int>(way));
      const rounding how{.direction = way};
      const block_outcome_counter outcomes(row, how);
      for (const sample& s : samples(7)) {
        CAPTURE(s.name);
        const block_outcomes told = outcomes(count_blocks(s.x, s.of, row.block));
        expect_held(told, tests::brute_force(row, how)(s.x, s.of));
        ++cases;
        exact += told.exact() ? 1 : 0;
      }
    }
  }
  CHECK(cases == 20 * 6 * samples(7).size());
  WARN(exact << " of " << cases << " counts are exact");
  CHECK(exact * 100 >= cases * 95);
}

TEST_CASE("Every row that block tables tell of is counted in ranges that hold, in blocks of other extents too") {
  for (const block_format& row : block_formats()) {
    if (!why_block_tables_do_not_tell(row).empty()) continue;
    CAPTURE(row.name);
    for (const block_extent block : {row.block, block_extent{1, 16}, block_extent{32, 32}, block_extent{32, 1}}) {
      CAPTURE(block.rows, block.columns);
      const block_format changed = with_block(row, block);
      const block_outcome_counter outcomes(changed);
      for (const sample& s : samples(11)) {
        CAPTURE(s.name);
        expect_held(outcomes(count_blocks(s.x, s.of, block)), tests::brute_force(changed, {})(s.x, s.of));
      }
    }
  }
}

TEST_CASE("Flushing results and saturating are counted as quantize_blocks does") {
  const block_format& row = *find_block_format("mxfp8_e5m2");
  for (const flush ftz : {flush::before_rounding, flush::after_rounding, flush::result}) {
    const rounding how{.flush = ftz, .daz = true};
    const block_outcome_counter outcomes(row, how);
    for (const sample& s : samples(13)) {
      CAPTURE(s.name);
      expect_held(outcomes(count_blocks(s.x, s.of, row.block)), tests::brute_force(row, how)(s.x, s.of));
    }
  }
}

// As block_table.hpp says it, one element after the other, in doubles.
block_table counted_one_by_one(const sample& s, block_extent block) {
  block_table all{.block = block, .numel = s.x.size()};
  std::map<std::uint32_t, std::uint64_t> classes;
  std::map<std::uint32_t, std::uint64_t> cells;
  const auto place = [](const auto& places, double significand) {
    return static_cast<std::uint8_t>(
        std::ranges::find_if(places, [&](const significands& p) { return significand <= p.high; }) - places.begin());
  };
  bool seen = false;
  for (std::size_t row = 0; row < s.of.rows; row += block.rows)
    for (std::size_t column = 0; column < s.of.columns; column += block.columns) {
      std::vector<double> elements;
      for (std::size_t r = row; r < std::min(row + block.rows, s.of.rows); ++r)
        for (std::size_t c = column; c < std::min(column + block.columns, s.of.columns); ++c)
          elements.push_back(s.x[r * s.of.columns + c]);
      const auto is_nan = [](double x) { return std::isnan(x); };
      const auto is_infinite = [](double x) { return std::isinf(x); };
      const auto is_zero = [](double x) { return x == 0; };
      const auto n = [&](auto which) { return static_cast<std::uint64_t>(std::ranges::count_if(elements, which)); };
      if (n(is_nan) + n(is_infinite) > 0) {
        nonfinite_blocks& to = n(is_nan) > 0 ? all.with_nan : all.with_infinity;
        ++to.blocks;
        to.zeros += n(is_zero);
        to.infinities += n(is_infinite);
        to.nans += n(is_nan);
        to.numbers += elements.size() - n(is_zero) - n(is_infinite) - n(is_nan);
        continue;
      }
      double amax = 0;
      for (const double x : elements) amax = std::max(amax, std::fabs(x));
      if (amax == 0) {
        ++all.zero_blocks;
        all.in_zero_blocks += elements.size();
        continue;
      }
      const int k = std::ilogb(amax);
      const bool is_ordinary = k >= least_ordinary && k <= greatest_ordinary;
      if (is_ordinary) {
        all.least_exponent = static_cast<std::int16_t>(seen ? std::min<int>(all.least_exponent, k) : k);
        all.greatest_exponent = static_cast<std::int16_t>(seen ? std::max<int>(all.greatest_exponent, k) : k);
        seen = true;
      }
      const block_class of{.exponent = is_ordinary ? ordinary : static_cast<std::int16_t>(k),
                           .place = place(amax_places, std::ldexp(amax, -k))};
      ++classes[of.key()];
      for (const double x : elements) {
        if (x == 0) {
          ++all.zeros;
          continue;
        }
        const int e = std::ilogb(x);
        ++cells[block_cell{.of = of.key(),
                           .below = static_cast<std::uint16_t>(k - e),
                           .place = place(element_places, std::ldexp(std::fabs(x), -e)),
                           .negative = x < 0}
                    .key()];
      }
    }
  for (const auto& [key, count] : classes) {
    all.classes.push_back(block_class::of_key(key));
    all.classes.back().blocks = count;
  }
  for (const auto& [key, count] : cells) {
    all.cells.push_back(block_cell::of_key(key));
    all.cells.back().count = count;
  }
  return all;
}

TEST_CASE("Block tables are what counting one by one gives, and merging parts gives them in any order") {
  for (const block_extent block : {block_extent{1, 32}, block_extent{1, 16}, block_extent{16, 1}, block_extent{32, 32},
                                   block_extent{1, 3}, block_extent{5, 7}}) {
    CAPTURE(block.rows, block.columns);
    for (const sample& s : samples(17)) {
      CAPTURE(s.name);
      const block_table whole = count_blocks(s.x, s.of, block);
      CHECK(whole == counted_one_by_one(s, block));
      CHECK(whole.is_consistent());
      const std::size_t upper = s.of.rows / 2 / block.rows * block.rows;
      const std::span<const float> x = s.x;
      block_table top = count_blocks(x.first(upper * s.of.columns), {upper, s.of.columns}, block);
      block_table bottom = count_blocks(x.subspan(upper * s.of.columns), {s.of.rows - upper, s.of.columns}, block);
      const block_table again = bottom;
      bottom.merge(top);
      CHECK(bottom == whole);
      top.merge(again);
      CHECK(top == whole);
    }
  }
}

TEST_CASE("All places of amax and of elements are found, whatever the fraction") {
  // Each fraction once as the largest of its block, beside a 1 of its own binade.
  std::array<std::uint64_t, amax_places.size()> of_amax{};
  std::array<std::uint64_t, element_places.size()> of_element{};
  std::vector<float> x;
  for (std::uint32_t fraction = 0; fraction < 1U << 23; fraction += 1U << 20) {
    x.clear();
    for (std::uint32_t i = fraction; i < fraction + (1U << 20); ++i) {
      x.push_back(-1);
      x.push_back(std::bit_cast<float>(0x3F800000 | i));
    }
    const block_table t = count_blocks(x, {1, x.size()}, {1, 2});
    for (const block_class& c : t.classes) of_amax[c.place] += c.blocks;
    for (const block_cell& c : t.cells) of_element[c.place] += c.negative ? 0 : c.count;
  }
  const auto size_of = [](const significands& s) {
    return static_cast<std::uint64_t>(std::bit_cast<std::uint32_t>(s.high) - std::bit_cast<std::uint32_t>(s.low) + 1);
  };
  for (std::size_t p = 0; p < amax_places.size(); ++p) CHECK(of_amax[p] == size_of(amax_places[p]));
  for (std::size_t p = 0; p < element_places.size(); ++p) CHECK(of_element[p] == size_of(element_places[p]));
}

TEST_CASE("All levels of the processor count the same blocks") {
  std::vector<block_table> first;
  for (const std::string_view kernel : counting_kernels()) {
    CAPTURE(kernel);
    REQUIRE(force_counting_kernel(kernel));
    std::vector<block_table> tables;
    for (const sample& s : samples(23))
      for (const block_extent block : {block_extent{1, 32}, block_extent{32, 1}, block_extent{1, 7}})
        tables.push_back(count_blocks(s.x, s.of, block));
    if (first.empty()) first = tables;
    CHECK(tables == first);
  }
}

TEST_CASE("Threads do not change block tables") {
  random_numbers random(3);
  const sample large = filled("large", {3000, 3001}, [&] { return random.of_binades(-30, 2); });
  for (const block_extent block : {block_extent{1, 32}, block_extent{32, 1}, block_extent{128, 128}})
    CHECK(count_blocks(large.x, large.of, block, 2) == count_blocks(large.x, large.of, block, 1));
}

TEST_CASE("A table whose parts do not add up is not consistent") {
  const std::vector<sample> all = samples(19);
  const sample& s = all[2];
  const block_table good = count_blocks(s.x, s.of, {1, 32});
  REQUIRE(good.is_consistent());
  const auto breaks = [&](auto change) {
    block_table bad = good;
    change(bad);
    return !bad.is_consistent();
  };
  CHECK(breaks([](block_table& t) { ++t.numel; }));
  CHECK(breaks([](block_table& t) { t.cells.pop_back(); }));
  CHECK(breaks([](block_table& t) { ++t.cells.front().count; }));
  CHECK(breaks([](block_table& t) { t.cells.front().below = 277; }));
  CHECK(breaks([](block_table& t) { t.cells.front().place = 18; }));
  CHECK(breaks([](block_table& t) { std::swap(t.cells[0], t.cells[1]); }));
  CHECK(breaks([](block_table& t) { t.classes.pop_back(); }));
  CHECK(breaks([](block_table& t) { t.classes.front().blocks = t.numel; }));
  CHECK(breaks([](block_table& t) { t.classes.front().place = 9; }));
  CHECK(breaks([](block_table& t) { t.least_exponent = 127; }));
  CHECK(breaks([](block_table& t) { t.with_nan.blocks = 1; }));
  CHECK(breaks([](block_table& t) { t.zero_blocks = 1; }));
}

TEST_CASE("Rows that take more than a block's own numbers are refused, with the reason") {
  CHECK_THROWS_WITH(block_outcome_counter(*find_block_format("nvfp4")), Contains("follow from the whole tensor"));
  CHECK_THROWS_WITH(block_outcome_counter(*find_block_format("te_current_e4m3_f32")), Contains("no powers of two"));
  CHECK_THROWS_WITH(block_outcome_counter(*find_block_format("mxfp8"), rounding{.direction = direction::stochastic}),
                    Contains("place of each element"));
  CHECK(why_block_tables_do_not_tell(*find_block_format("fp8_1x128")).empty());
}

}  // namespace
