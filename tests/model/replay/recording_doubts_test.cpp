// Pins what is said of gradients that were recorded with a wrong factor, as zeros, or beside a wrong scale; and that
// right ones are left alone.
#include "support/catch.hpp"

#include <ulp/model/cells/cell_counter.hpp>
#include <ulp/model/replay/recording_doubts.hpp>

#include <limits>

using namespace ulp;

namespace {

const std::vector<tensor_info> tensors{
    {.name = "fc.weight", .kind = tensor_kind::weight_grad, .role = tensor_role::low, .through = "float16"},
    {.name = "norm.weight", .kind = tensor_kind::weight_grad, .role = tensor_role::float32}};

step step_of(std::int64_t number, double scale, double factor, std::vector<float> values) {
  step s;
  s.key.step = number;
  s.scalars.loss_scale = scale;
  const cell_table table = count_cells(std::span<const float>{values});
  s.tensors = {{.tensor = 0, .type = dtype::float32, .factor = factor, .table = table},
               {.tensor = 1, .type = dtype::float32, .factor = factor, .table = table}};
  return s;
}

std::vector<std::string> said_of(const std::vector<step>& run) {
  recording_doubts doubts;
  for (const step& s : run) doubts.see(s, tensors);
  return doubts.lines();
}

bool says(const std::vector<std::string>& lines, const std::string& what) {
  return lines.size() == 1 && lines.front().find(what) != std::string::npos;
}

}  // namespace

TEST_CASE("gradients that are right are left alone") {
  CHECK(said_of({step_of(0, 65536, 65536, {0x1p-24F, 65504})}).empty());
  CHECK(said_of({step_of(0, 65536, 1, {0x1p-40F, 0.9F})}).empty());
  CHECK(said_of({step_of(0, not_known, not_known, {1e-30F, 1e30F})}).empty());
  CHECK(said_of({step_of(0, 1, 1, {1e-30F})}).empty());
  // The mean of eight ranks or micro-batches, and a sum of them.
  CHECK(said_of({step_of(0, 65536, 65536 / 8.0, {0x1p-27F})}).empty());
  CHECK(said_of({step_of(0, 65536, 65536, {0x1p-27F, 65504 * 8.0F})}).empty());
}

TEST_CASE("a wrong factor is told from values that float16 does not have") {
  CHECK(says(said_of({step_of(7, 65536, 65536, {0x1p-34F, 0.1F})}), "not: 5.82e-11 (fc.weight, step 7) is below"));
  CHECK(says(said_of({step_of(7, 65536, 1, {1, 1000})}), "are said to be unscaled, and are not"));
  // Kept in float32 it may have any value.
  step kept = step_of(0, 65536, 65536, {0x1p-34F});
  kept.tensors.erase(kept.tensors.begin());
  CHECK(said_of({kept}).empty());
}

TEST_CASE("steps without any gradient are counted") {
  CHECK(says(said_of({step_of(0, 1024, 1024, {1}), step_of(1, 1024, 1024, {0, 0}), step_of(2, 1024, 1024, {0})}),
             "all gradients are zero in 2 steps of 3, first in step 1"));
}

TEST_CASE("a scale that falls with the overflow is that of the next step") {
  const float inf = std::numeric_limits<float>::infinity();
  std::vector<step> right;
  std::vector<step> wrong;
  double scale = 65536;
  for (std::int64_t i = 0; i < 12; ++i) {
    const bool lost = i % 4 == 2;
    const double next = lost ? scale / 2 : scale;
    const std::vector<float> values{1, lost ? inf : 2};
    right.push_back(step_of(i, scale, scale, values));
    wrong.push_back(step_of(i, next, next, values));
    scale = next;
  }
  CHECK(said_of(right).empty());
  CHECK(says(said_of(wrong), "the loss scale falls in the steps that overflow (3 times, first in step 2)"));
}

TEST_CASE("overflows in a row do not hide that the scale is that of the next step") {
  const auto run = [](std::vector<std::pair<double, bool>> of) {
    std::vector<step> steps;
    for (const auto& [scale, found] : of) {
      steps.push_back(step_of(static_cast<std::int64_t>(steps.size()), scale, scale, {1}));
      steps.back().scalars.found_inf = found;
    }
    return said_of(steps);
  };
  CHECK(says(run({{512, true}, {256, true}, {128, true}, {128, false}, {64, true}, {64, false}}),
             "that of the next step"));
  CHECK(run({{1024, true}, {512, true}, {256, true}, {128, false}, {128, true}, {64, false}}).empty());
  // At the floor of a policy.
  CHECK(run({{2, false}, {2, true}, {1, true}, {1, false}}).empty());
}
