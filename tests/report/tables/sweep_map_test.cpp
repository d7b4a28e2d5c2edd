// Pins where the policies of a sweep lie on its map, and what is written there.
#include <ulp/report/tables/sweep_map.hpp>

#include "support/catch.hpp"

#include <ulp/report/tables/sweep_table.hpp>

#include <string>
#include <vector>

using namespace ulp;

namespace {

swept_policy policy(std::vector<std::string> parameters, std::uint64_t skipped) {
  swept_policy p{.text = {.scaler = "pytorch_gradscaler", .parameters = std::move(parameters), .format = "float16"}};
  p.result.steps = 100;
  p.result.skipped = skipped;
  return p;
}

}  // namespace

TEST_CASE("two parameters are the axes, in the order of their values") {
  const std::vector<swept_policy> all{
      policy({"init_scale=65536", "growth_interval=50"}, 1), policy({"init_scale=256", "growth_interval=2000"}, 2),
      policy({"init_scale=256", "growth_interval=50"}, 3), policy({"init_scale=65536", "growth_interval=200"}, 4)};
  const sweep_map map = map_of(all);
  CHECK(map.x.name == "growth_interval");
  CHECK(map.x.values == std::vector<std::string>{"50", "200", "2000"});
  CHECK(map.y.name == "init_scale");
  CHECK(map.y.values == std::vector<std::string>{"256", "65536"});
  CHECK(map.cells == std::vector<std::optional<std::size_t>>{2, {}, 1, 0, 3, {}});
}

TEST_CASE("one parameter makes a row, none no map, and of several policies in a cell the first stands there") {
  const sweep_map one = map_of({policy({"init_scale=2^16"}, 1), policy({"init_scale=8"}, 2)});
  CHECK(one.y.name.empty());
  CHECK(one.cells == std::vector<std::optional<std::size_t>>{1, 0});
  CHECK(map_of({policy({"init_scale=8"}, 2)}).cells.empty());
  const sweep_map three =
      map_of({policy({"a=1", "b=1", "c=2"}, 1), policy({"a=1", "b=1", "c=1"}, 2), policy({"a=2", "b=2", "c=1"}, 3)});
  CHECK(three.cells == std::vector<std::optional<std::size_t>>{0, {}, {}, 2});
}

TEST_CASE("what is not decided is a range, and what is not known is nothing") {
  swept_policy open = policy({"init_scale=8"}, 3);
  open.result.uncertain = 2;
  open.result.bounds.known = true;
  open.result.bounds.skipped = {1, 5};
  CHECK(metric_text(open.result, sweep_metric::skipped) == "~3 [1, 5]");
  CHECK(metric_of(open.result, sweep_metric::skipped) == value_range{1, 5});
  CHECK(estimate_of(open.result, sweep_metric::skipped) == 3);
  CHECK(metric_text(open.result, sweep_metric::regret).empty());
  CHECK(metric_text(open.result, sweep_metric::underflow).empty());
  open.result.has_counts = true;
  open.result.nonzero = 1000;
  open.result.underflow = {1, 2};
  CHECK(metric_text(open.result, sweep_metric::underflow) == "[0.1, 0.2] %");
}
