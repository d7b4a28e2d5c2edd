// Pins totals: one for each kind, role and factor, in their order, none of them twice; and what becomes of cells where those
// of some values are not known.
#include "recording/totals.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include <ulp/model/cells/cell_counter.hpp>

#include "io/mended.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"

using namespace ulp;
using namespace ulp::io;
using namespace ulp::test;

namespace {

cell_table table_of(const std::vector<float>& values) { return count_cells(std::span{values}); }

group_total total_of(tensor_kind kind, tensor_role role, double factor) {
  group_total t;
  t.kind = kind;
  t.role = role;
  t.factor = factor;
  t.table = table_of({1});
  t.tensors = 1;
  return t;
}

}  // namespace

TEST_CASE("totals are sorted by kind, role and factor, unknown factors first, and none occurs twice") {
  using enum tensor_kind;
  const std::vector<group_total> sorted{total_of(weight_grad, tensor_role::unknown, not_known),
                                        total_of(weight_grad, tensor_role::unknown, 0.5),
                                        total_of(weight_grad, tensor_role::unknown, 2),
                                        total_of(weight_grad, tensor_role::low, not_known),
                                        total_of(weight_grad, tensor_role::low, 1),
                                        total_of(activation_grad, tensor_role::unknown, 1)};
  const auto keys = [](const std::vector<group_total>& totals) {
    std::vector<total_key> all;
    for (const group_total& t : totals) all.push_back(key_of(t.kind, t.role, t.factor));
    return all;
  };
  std::vector<group_total> totals{sorted.rbegin(), sorted.rend()};
  sort_totals(totals);
  CHECK((keys(totals) == keys(sorted)));
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    std::vector<group_total> twice = sorted;
    twice.push_back(sorted[i]);
    CHECK_THROWS_AS(sort_totals(twice), payload_error);
    std::vector<group_total> once = sorted;
    once.push_back(sorted[i]);
    once.back().factor = 3;
    sort_totals(once);
    CHECK(once.size() == sorted.size() + 1);
  }
}

TEST_CASE("a merger has one total for each, with all tensors and values of it") {
  total_merger merger;
  const auto add = [&](tensor_kind kind, double factor, std::vector<float> values, std::uint64_t tensors) {
    merger.add(kind, tensor_role::low, factor, table_of(values), tensors);
  };
  add(tensor_kind::weight_grad, not_known, {1}, 2);
  add(tensor_kind::activation_grad, 4, {2}, 1);
  add(tensor_kind::weight_grad, 4, {3}, 1);
  add(tensor_kind::weight_grad, std::nan("1"), {5, 0}, 3);
  const std::vector<group_total> totals = merger.take();
  REQUIRE(totals.size() == 3);
  CHECK(std::isnan(totals[0].factor));
  CHECK(totals[0].tensors == 5);
  CHECK(totals[0].table == table_of({1, 5, 0}));
  CHECK(totals[1].factor == 4);
  CHECK(totals[1].kind == tensor_kind::weight_grad);
  CHECK(totals[2].kind == tensor_kind::activation_grad);
  CHECK(merger.take().empty());
}

TEST_CASE("values in no cell leave those that they are merged with in none") {
  cell_table without = table_of({3, 4});
  without.cells.clear();
  for (const bool first : {false, true}) {
    cell_table to = first ? without : table_of({1, 2});
    merge_table(to, first ? table_of({1, 2}) : without);
    CHECK(to.cells.empty());
    CHECK(to.numel == 4);
    CHECK(to.max_abs == 4);
  }
  // Zeros and infinities are in no cell anyway.
  cell_table to = table_of({0, INFINITY});
  merge_table(to, table_of({1, 2}));
  CHECK(to == table_of({0, INFINITY, 1, 2}));
}

TEST_CASE("a recording in which a total occurs twice is refused") {
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  {
    recording_writer writer(path, recording_writer::mode::create);
    const std::vector<tensor_info> tensors{{.name = "a", .kind = tensor_kind::weight_grad}};
    step s;
    s.tensors = {tensor_row{.tensor = 0, .type = dtype::float32, .table = table_of({1, 2})}};
    writer.write(s, tensors);
  }
  CHECK(read_totals(path).size() == 1);
  alter(path, "INSERT INTO total SELECT * FROM total");
  CHECK_THROWS_AS(read_totals(path), input_error);
  step now;
  CHECK_THROWS_AS(open_totals(path)->next(now), input_error);
}
