// Pins where labels stand: at round values, below their steps, and never on each other.
#include "page/axis.hpp"

#include "support/catch.hpp"

#include <cmath>

using namespace ulp;

namespace {

std::vector<column_span> spans_of(std::int64_t first, std::int64_t width, std::size_t columns) {
  std::vector<column_span> spans;
  for (std::size_t i = 0; i < columns; ++i) {
    const std::int64_t from = first + static_cast<std::int64_t>(i) * width;
    spans.push_back({from, from + width - 1, static_cast<std::uint64_t>(width)});
  }
  return spans;
}

std::vector<std::string> labels_of(const std::vector<tick>& ticks) {
  std::vector<std::string> labels;
  for (const tick& t : ticks) labels.push_back(t.label);
  return labels;
}

using labels = std::vector<std::string>;

}  // namespace

TEST_CASE("steps are labelled at round numbers") {
  const auto ticks = step_ticks(spans_of(0, 2, 125));
  CHECK(labels_of(ticks) == labels{"0", "50", "100", "150", "200"});
  CHECK(ticks[1].at == 25);
  CHECK(labels_of(step_ticks(spans_of(0, 8, 188))) == labels{"0", "200", "400", "600", "800", "1000", "1200", "1400"});
  CHECK(labels_of(step_ticks(spans_of(993, 1, 40))) ==
        labels{"995", "1000", "1005", "1010", "1015", "1020", "1025", "1030"});
  // Within a column its share of the way: step 1000 is the 8th of 10 from 993 on.
  CHECK(step_ticks(spans_of(993, 10, 100)).front().at == Approx(0.7));
}

TEST_CASE("a column that is one step has its label in the middle, and few columns have one each") {
  CHECK(step_ticks(spans_of(0, 1, 100))[1].at == 10.5);
  CHECK(labels_of(step_ticks({{0, 0, 1}, {700, 700, 1}, {1000, 1000, 1}})) == labels{"0", "700", "1000"});
  CHECK(step_ticks({{5, 5, 1}}).front().at == 0.5);
  CHECK(step_ticks({}).empty());
}

TEST_CASE("steps that are far apart do not put labels on each other") {
  std::vector<column_span> spans = spans_of(0, 1, 100);
  spans.push_back({100000, 100000, 1});
  const auto ticks = step_ticks(spans);
  for (std::size_t i = 1; i < ticks.size(); ++i) CHECK(ticks[i].at - ticks[i - 1].at > 7);
  CHECK(ticks.front().label == "0");
}

TEST_CASE("runs that begin at large steps have labels of their own steps only") {
  const auto ticks = step_ticks(spans_of(1'000'000'001, 80'000'000, 100));
  REQUIRE(!ticks.empty());
  for (const tick& t : ticks) CHECK(t.at >= 0);
  CHECK(ticks.front().label == "2000000000");
}

TEST_CASE("round values are multiples of 1, 2 or 5, and do not drift") {
  CHECK(round_values(0, 1, 5) == std::vector<double>{0, 0.2, 0.4, 3 * 0.2, 0.8, 1});
  CHECK(round_values(-7, 16, 6) == std::vector<double>{-5, 0, 5, 10, 15});
  CHECK(round_values(3, 3, 5).empty());
  CHECK(round_values(0, 1, 5, 1) == std::vector<double>{0, 1});
}

TEST_CASE("labels of powers are whole") {
  CHECK(labels_of(power_ticks(15, 17, 7)) == labels{"2¹⁵", "2¹⁶", "2¹⁷"});
  CHECK(labels_of(power_ticks(-40, 2, 5)) == labels{"2⁻⁴⁰", "2⁻³⁰", "2⁻²⁰", "2⁻¹⁰", "2⁰"});
}

TEST_CASE("a logarithmic axis has decades, and finer values where it is short") {
  CHECK(labels_of(axis_of(1e-3, 10, true).ticks) == labels{"0.001", "0.01", "0.1", "1", "10"});
  CHECK(labels_of(axis_of(1e-7, 1e-3, true).ticks) == labels{"10⁻⁷", "10⁻⁶", "10⁻⁵", "10⁻⁴", "10⁻³"});
  CHECK(labels_of(axis_of(0.1, 5, true).ticks) == labels{"0.1", "0.2", "0.5", "1", "2", "5"});
  const value_axis narrow = axis_of(0.21, 0.23, true);
  CHECK(narrow.ticks.size() >= 3);
  CHECK(narrow.ticks.front().at == Approx(std::log10(std::stod(narrow.ticks.front().label))));
}

TEST_CASE("an axis of one value has room around it, and none below zero") {
  const value_axis axis = axis_of(0.02, 0.02, false);
  CHECK(axis.low < 0.02);
  CHECK(axis.high > 0.02);
  CHECK(axis_of(0, 2, false).low == 0);
  const value_axis zero = axis_of(0, 0, false);
  CHECK(zero.high > zero.low);
}
