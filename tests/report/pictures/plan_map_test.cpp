// Pins the map of a plan: lengths worked out by hand, that no cell is lost where a line ends, and what is said of each.
#include <ulp/report/pictures/plan_map.hpp>

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "support/catch.hpp"

using namespace ulp;

namespace {

std::size_t index_of(const plan_answer& plan, std::string_view name) {
  for (std::size_t i = 0; i < plan.treatments.size(); ++i)
    if (plan.treatment(i).name == name) return i;
  FAIL(name);
  return 0;
}

plan_answer plan_of(const std::vector<std::uint64_t>& numels, std::string_view treatment,
                    tensor_kind kind = tensor_kind::weight_grad) {
  plan_answer plan{.hardware = &plan_hardware_named("blackwell")};
  plan.treatments = plan.hardware->rows();
  for (std::size_t i = 0; i < numels.size(); ++i) {
    plan.info.push_back({.name = "t" + std::to_string(i), .kind = kind});
    planned_tensor t{.tensor = static_cast<std::uint32_t>(i), .numel = numels[i]};
    t.chosen = index_of(plan, treatment);
    t.of.resize(plan.treatments.size());
    for (std::size_t j = 0; j < t.of.size(); ++j) t.of[j].bits = plan.treatment(j).bits(numels[i], {});
    plan.tensors.push_back(t);
  }
  return plan;
}

double length_of(const plan_cell& cell) {
  double all = 0;
  for (const plan_cell::piece& p : cell.pieces) all += p.to - p.from;
  return all;
}

}  // namespace

TEST_CASE("cells are as long as they have elements, over a least length") {
  // A tenth for each, and 0.7 by elements: 0.1 + 0.7 * 70 / 100 and so on.
  const plan_map map = plan_map_of(plan_of({70, 20, 10}, "bfloat16"), 0.1);
  REQUIRE(map.bands.size() == 1);
  const plan_band& band = map.bands.front();
  CHECK(band.title == "gradients of weights: 3 tensors, 100 elements in 16 bits each");
  CHECK(band.lines == 1);
  REQUIRE(band.cells.size() == 3);
  const double lengths[] = {0.59, 0.24, 0.17};
  double at = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    REQUIRE(band.cells[i].pieces.size() == 1);
    CHECK(band.cells[i].pieces.front().from == Approx(at).margin(1e-12));
    CHECK(length_of(band.cells[i]) == Approx(lengths[i]));
    at += lengths[i];
  }
  REQUIRE(map.legend.size() == 1);
  CHECK(map.legend.front().text == "16 bits: bfloat16 (3)");
}

TEST_CASE("where a line ends a cell goes on in the next, and nothing is lost") {
  for (const std::size_t tensors : {1, 2, 7, 100, 999}) {
    const std::vector<std::uint64_t> numels(tensors, 5);
    const plan_map map = plan_map_of(plan_of(numels, "float32"), 0.01);
    const plan_band& band = map.bands.front();
    CAPTURE(tensors, band.lines);
    CHECK(static_cast<double>(band.lines) >= 2 * 0.01 * static_cast<double>(tensors) - 1e-9);
    CHECK(band.cells.size() == tensors);
    double all = 0;
    std::size_t line = 0;
    double end = 0;
    for (const plan_cell& cell : band.cells) {
      CHECK(length_of(cell) == Approx(static_cast<double>(band.lines) / static_cast<double>(tensors)));
      for (const plan_cell::piece& p : cell.pieces) {
        // One after the other.
        CHECK((p.line == line ? std::abs(p.from - end) < 1e-6 : p.line == line + 1 && p.from < 1e-6 && end > 1 - 1e-6));
        line = p.line;
        end = p.to;
      }
      all += length_of(cell);
    }
    CHECK(all == Approx(static_cast<double>(band.lines)));
  }
}

TEST_CASE("treatments are grouped by their bits and what shares a scale, each in a colour of its own") {
  const plan_answer plan = plan_of({1}, "float32");
  const auto group = [&](std::string_view name) { return group_of(plan.treatment(index_of(plan, name))); };
  CHECK(group("float32") == plan_group::wide);
  CHECK(group("bfloat16") == plan_group::half);
  CHECK(group("mxfp8_e4m3") == plan_group::blocks);
  CHECK(group("nvfp4") == plan_group::narrow_blocks);
  std::set<std::string_view> colours;
  for (const plan_treatment& t : plan.treatments) colours.insert(colour_of(group_of(t)));
  CHECK(colours.size() == 5);
}

TEST_CASE("kinds are bands, and each cell says why it is what it is") {
  plan_answer plan = plan_of({64, 32}, "bfloat16");
  plan.info[0].kind = tensor_kind::weight;
  plan.tensors[1].of[plan.tensors[1].chosen].add(7, {.share = {2e-6, 2e-6}, .estimate = 2e-6});
  const plan_map map = plan_map_of(plan, 0.01);
  REQUIRE(map.bands.size() == 2);
  CHECK(map.bands[0].cells.front().name == "t0");
  const std::string& why = map.bands[1].cells.front().why;
  CHECK_THAT(why, Contains("t1: bfloat16, 16 bits for each of 32 elements. Loses 2e-06 at most, in step 7."));
}
