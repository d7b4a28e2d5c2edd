// Pins which scenarios a grid has, and how its mistakes are told.
#include <ulp/ask/runs/sweep_answer.hpp>

#include "support/catch.hpp"

#include <stdexcept>
#include <string>
#include <vector>

using namespace ulp;

namespace {

std::string refusal(const grid_text& grid) {
  try {
    static_cast<void>(scenarios_of(grid_of(grid), {}));
    return "";
  } catch (const std::invalid_argument& mistake) {
    return mistake.what();
  }
}

}  // namespace

TEST_CASE("a grid without scalers is of that of its base") {
  const grid_text grid{.base = {.scaler = "pytorch", .parameters = {"init_scale=8,16"}, .format = "float16"}};
  const std::vector<scenario_text> all = grid_of(grid);
  REQUIRE(all.size() == 2);
  CHECK(all[1].scaler == "pytorch");
  CHECK(parameters_text(all[1]) == "init_scale=16");
  CHECK(refusal({.base = {.format = "float16"}}).find("--scaler: the name is empty") != std::string::npos);
}

TEST_CASE("mistakes of a grid name the combination") {
  const auto check = [](const std::vector<std::string>& parameters, const std::string& part) {
    const std::string why = refusal({.base = {.scaler = "pytorch", .parameters = parameters, .format = "float16"}});
    INFO(why);
    CHECK(why.find(part) != std::string::npos);
  };
  check({"growth_interval=5", "init_scale=8,-1"}, "pytorch with growth_interval=5 init_scale=-1: ");
  check({"init_scale=8", "init_scale=9"}, "--set: init_scale is given twice");
}

TEST_CASE("of policies that are equal by estimate the less doubtful come first") {
  std::vector<scenario_text> grid(3);
  std::vector<sweep_result> results(3);
  for (std::size_t i = 0; i < grid.size(); ++i) {
    grid[i].parameters = {"init_scale=" + std::to_string(i)};
    results[i].steps = 100;
  }
  results[0].uncertain = 1;
  results[0].bounds.known = false;
  results[1].uncertain = 1;
  results[1].bounds.known = true;
  results[1].bounds.skipped = {0, 13};
  std::vector<std::string> order;
  for (const swept_policy& p : ranked(grid, results, 100)) order.push_back(parameters_text(p.text));
  CHECK(order == std::vector<std::string>{"init_scale=2", "init_scale=1", "init_scale=0"});
}
