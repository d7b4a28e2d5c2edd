// Pins the picture of a trajectory in text.
#include <ulp/report/page/sparkline.hpp>

#include "support/catch.hpp"

#include <cmath>
#include <limits>
#include <vector>

using namespace ulp;

namespace {

trajectory_row row_of(std::int64_t step, double scale, bool skipped = false) {
  trajectory_row row;
  row.key.step = step;
  row.scale_used = scale;
  row.skipped = skipped;
  return row;
}

std::vector<trajectory_row> rising(int steps) {
  std::vector<trajectory_row> rows;
  for (int i = 0; i < steps; ++i) rows.push_back(row_of(i, std::ldexp(1.0, 10 + i)));
  return rows;
}

}  // namespace

TEST_CASE("eight scales are eight blocks") {
  CHECK(sparkline_of(rising(8), 80) ==
        "scale        2^10 ▁▂▃▄▅▆▇█ 2^17\n"
        "skipped\n"
        "step              0      7\n");
  CHECK(sparkline_of({}, 80).empty());
}

TEST_CASE("skips are marked under the step") {
  const std::vector<trajectory_row> rows{row_of(5, 1024), row_of(6, 1024, true), row_of(7, 512), row_of(8, 512, true)};
  CHECK(sparkline_of(rows, 80) ==
        "scale        2^9 ██▁▁ 2^10\n"
        "skipped           x x\n"
        "step             5  8\n");
}

TEST_CASE("a column stands for several steps and hides no skip") {
  std::vector<trajectory_row> rows = rising(800);
  rows[401].skipped = true;
  const std::string picture = sparkline_of(rows, 60);
  CHECK(picture.find('x') != std::string::npos);
  const std::string marks = picture.substr(picture.find("skipped"), picture.find("step") - picture.find("skipped"));
  CHECK(marks.size() <= 61);
  CHECK(std::count(picture.begin(), picture.end(), 'x') == 1);
  CHECK_FALSE(sparkline_of(rows, 3).empty());
}

TEST_CASE("scales that are constant, zero or infinite are drawn too") {
  const std::vector<trajectory_row> flat{row_of(0, 4), row_of(1, 4)};
  CHECK(sparkline_of(flat, 80).starts_with("scale        4 ▁▁ 4\n"));
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<trajectory_row> ends{row_of(0, 0), row_of(1, 4), row_of(2, infinity)};
  CHECK(sparkline_of(ends, 80).starts_with("scale        4 ▁▁█ 4\n"));
}
