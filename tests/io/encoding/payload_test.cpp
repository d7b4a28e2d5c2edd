// Pins what a reader of payloads refuses: tables that are written as they are, each with one thing in it that no values have.
#include "encoding/payload.hpp"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <ulp/model/cells/cell_counter.hpp>
#include <ulp/model/outcomes/row_outcomes.hpp>

#include "encoding/numbers.hpp"
#include "support/catch.hpp"

using namespace ulp;
using namespace ulp::io;

namespace {

constexpr uint128 unit = uint128{1} << 23;  // the significand of a power of two

tensor_row read_back(const tensor_row& row) {
  std::string summary;
  std::string payload;
  append_summary(summary, row);
  append_payload(payload, row);
  tensor_row back = parse_summary(summary);
  std::string_view rest = payload;
  take_payload(rest, back);
  CHECK(rest.empty());
  return back;
}

tensor_row row_of(cell_table table) { return {.type = dtype::float32, .table = std::move(table)}; }

std::string refusal(const tensor_row& row) {
  try {
    static_cast<void>(read_back(row));
  } catch (const payload_error& problem) {
    return problem.what();
  }
  return "";
}
std::string refusal(const cell_table& table) { return refusal(row_of(table)); }

cell_table counted(const std::vector<float>& values, cell_counter::with what = cell_counter::with::sums) {
  cell_counter counter(what);
  counter.add(values);
  return counter.take();
}

}  // namespace

TEST_CASE("payloads come back as they were") {
  const std::vector<float> values{1, 1.25F, 1.5F, -3, 0, 1e-30F, 7e20F};
  for (const auto what : {cell_counter::with::nothing, cell_counter::with::sums, cell_counter::with::sums_and_errors}) {
    cell_table table = counted(values, what);
    table.reported_abs_sum = table.reported_square_sum = not_known;
    CHECK(read_back(row_of(table)).table == table);
  }
}

TEST_CASE("codes come back as they were, and are those of their summary") {
  const std::vector<code_count> codes{
      {.code = 0x3C00, .count = 2}, {.code = 0x3C01, .count = 1}, {.code = 0xC000, .count = 5}};
  cell_counter counter(cell_counter::with::sums);
  counter.add(*format_of_codes(dtype::float16), codes);
  tensor_row row{.type = dtype::float16, .table = counter.take(), .codes = codes};
  CHECK(read_back(row).codes == codes);
  row.table.max_abs = 4;
  CHECK(refusal(row) == "the codes do not fit the summary");
  row.table.max_abs = 2;
  row.table.nans = 1;
  CHECK(refusal(row) == "the codes do not fit the summary");
}

TEST_CASE("a table without values has no extremes") {
  cell_table zeros{.numel = 3, .zeros = 3};
  CHECK(refusal(zeros).empty());
  zeros.min_abs = 1;
  CHECK(refusal(zeros) == "has extremes without values");
  zeros.min_abs = 0;
  zeros.max_abs = 1;
  CHECK(refusal(zeros) == "has extremes without values");
}

TEST_CASE("the smallest magnitude is not above the largest") {
  cell_table table = counted({1.25F, 1.25F, 1.375F}, cell_counter::with::nothing);
  CHECK(refusal(table).empty());
  table.min_abs = 1.4375;  // of the same cell
  CHECK(refusal(table) == "the smallest magnitude does not fit the counts");
}

TEST_CASE("cells ascend and hold something") {
  cell_table table{.numel = 2, .max_abs = 1, .min_abs = 1, .cells = {{.count = 1}, {.count = 1}}};
  CHECK(refusal(table) == "cells are out of order");
  table.cells = {{.count = 2}, {.exponent = 1, .count = 0}};
  table.max_abs = 2;
  CHECK(refusal(table) == "an empty cell");
}

TEST_CASE("sums are those of some significands") {
  cell_table table = counted({1.25F, 1.75F});
  binade_sums& sums = table.sums.front();
  const std::string wrong = "has sums that no values of their binade have";
  CHECK(refusal(table).empty());
  const auto said = [&](uint128 y, uint128 y2) {
    // Of two values: each 2^23 + y.
    sums.significands = 2 * unit + y;
    sums.squares = 2 * unit * unit + 2 * unit * y + y2;
    return refusal(table);
  };
  CHECK(said(1, 1).empty());
  CHECK(said(1, 0) == wrong);
  CHECK(said(1, unit) == wrong);  // one value of y = 1 has no larger square
  CHECK(said(4, 8).empty());
  CHECK(said(4, 7) == wrong);  // two that are 4 together have at least 8
  CHECK(said(4, 16).empty());
  CHECK(said(2 * unit, 4 * unit * unit) == wrong);
}

TEST_CASE("what lies above an edge is in its binade or beyond") {
  cell_counter counter(cell_counter::with::sums);
  const double at = 1.5;
  counter.set_edges(std::vector{at});
  counter.add(std::vector{1.0F, 1.25F, 1.75F, 4.0F});
  cell_table table = counter.take();
  CHECK(refusal(table).empty());
  REQUIRE(table.edges.size() == 1);
  edge_counts& e = table.edges.front();
  CHECK(e.above == 2);
  table.has_sums = false;
  table.sums.clear();
  e.squares_above = 0;
  e.above = 4;
  CHECK(refusal(table).empty());
  e.above = 5;  // three are in the binade, and one beyond
  CHECK(refusal(table) == "an edge that no values have");
  e.above = 0;
  CHECK(refusal(table) == "an edge that no values have");
}

TEST_CASE("a bucket on both sides of zero says nothing of the largest magnitude") {
  cell_table table{.numel = 2,
                   .maybe_zeros = 2,
                   .max_abs = 0.5,
                   .min_abs = not_known,
                   .buckets = {{.low = -1, .high = 2, .count = 2}}};
  CHECK(refusal(table).empty());
  table.max_abs = 2.5;
  CHECK(refusal(table) == "the largest magnitude does not fit the counts");
  table.maybe_zeros = 0;
  table.buckets = {{.low = 1, .high = 2, .count = 2}};
  table.max_abs = 0.5;
  CHECK(refusal(table) == "the largest magnitude does not fit the counts");
}

TEST_CASE("edges of buckets are finite, and no minus zero") {
  cell_table table{.numel = 1, .maybe_zeros = 1, .max_abs = 1, .min_abs = not_known};
  for (const auto& [low, high] : {std::pair{-0.0, 1.0}, {-1.0, -0.0}, {2.0, 1.0}, {0.0, 0.0}, {0.0, HUGE_VAL}}) {
    table.buckets = {{.low = low, .high = high, .count = 1}};
    CHECK(refusal(table) == "a bucket that does not exist");
  }
  table.buckets = {{.low = 0, .high = 1, .count = 1}};
  CHECK(refusal(table).empty());
}
