// Pins what pictures show: columns of steps, binades, losses, limits.
#include <ulp/ask/columns/run_columns.hpp>

#include "support/catch.hpp"

#include <ulp/formats/catalog.hpp>
#include <ulp/model/cells/cell_counter.hpp>

#include <cmath>
#include <vector>

using namespace ulp;

namespace {

struct counter {
  int steps = 0;
  void merge(const counter& other) { steps += other.steps; }
};

}  // namespace

TEST_CASE("columns are joined when they become too many, and lose no step") {
  for (const int steps : {1, 7, 240, 241, 1000, 100'003}) {
    CAPTURE(steps);
    columns_of<counter> all;
    for (int i = 0; i < steps; ++i) ++all.at_step(10 + i).steps;
    CHECK(all.columns().size() == all.spans().size());
    CHECK(all.columns().size() <= most_columns);
    CHECK(all.columns().size() * 2 + 1 >= std::min<std::size_t>(most_columns, static_cast<std::size_t>(steps)));
    int sum = 0;
    std::int64_t next = 10;
    for (std::size_t c = 0; c < all.columns().size(); ++c) {
      const column_span& span = all.spans()[c];
      CHECK(span.first_step == next);
      CHECK(static_cast<int>(span.steps) == all.columns()[c].steps);
      CHECK(span.last_step - span.first_step + 1 == static_cast<std::int64_t>(span.steps));
      next = span.last_step + 1;
      sum += all.columns()[c].steps;
    }
    CHECK(sum == steps);
    CHECK(next == 10 + steps);
  }
}

TEST_CASE("octaves are those of the true gradient") {
  const std::vector<float> values{1, 1.5F, 2, -3, 0, 0x1p-20F, INFINITY};
  binade_counts c;
  c.add(count_cells(std::span{values}), 4);
  CHECK(c.by_exponent == std::map<int, double>{{-22, 1}, {-2, 2}, {-1, 2}});
  CHECK(c.zeros == 1);
  CHECK(c.nonfinite == 1);
  binade_counts twice = c;
  twice.merge(c);
  CHECK(twice.by_exponent.at(-2) == 4);
}

TEST_CASE("losses of a tensor that appears later begin at nothing") {
  tensor_losses a;
  a.add({.tensor = 0, .counts = {.numel = 10, .zero = 2, .underflow = {4, 4}}});
  tensor_losses b;
  b.add({.tensor = 2, .counts = {.numel = 10, .underflow = {1, 3}}});
  a.merge(b);
  REQUIRE(a.by_tensor.size() == 3);
  CHECK(a.by_tensor[0].underflow == 4);
  CHECK(a.by_tensor[0].nonzero == 8);
  CHECK(a.by_tensor[1].nonzero == 0);
  CHECK(a.by_tensor[2].underflow == 2);
}

TEST_CASE("extremes of a column leave out what is not known") {
  scale_extremes all;
  trajectory_row row;
  row.scale_used = 8;
  row.critical_scale = not_known;
  row.skipped = true;
  all.add(row);
  row.scale_used = 2;
  row.critical_scale = 5;
  row.norm = 3;
  row.skipped = false;
  row.clipped = true;
  all.add(row);
  row.critical_scale = 0;  // NaN
  row.norm = INFINITY;
  all.add(row);
  CHECK(all.least == 2);
  CHECK(all.greatest == 8);
  CHECK(all.critical == 5);
  CHECK(all.norm == 3);
  CHECK(all.skipped == 1);
  CHECK(all.clipped == 2);
}

TEST_CASE("limits of float16") {
  const format_limits l = limits_of({float16});
  CHECK(l.nonzero == -25);
  CHECK(l.normal == Approx(std::log2(0x1p-14 * (1 - 0x1p-11))));
  CHECK(l.overflow == Approx(std::log2(65520)));
  CHECK(limits_of({float16, {.direction = direction::stochastic}}).nonzero == -25);
}
