// Pins when a run's end is said to count although the run was lost before it.
#include <ulp/ask/reading/lost_end.hpp>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "support/catch.hpp"

namespace {

using namespace ulp;
using lines = std::vector<std::string>;

constexpr double infinity = std::numeric_limits<double>::infinity();

step with_loss(std::int64_t number, double loss) {
  step s;
  s.key.step = number;
  s.scalars.loss = loss;
  s.scalars.loss_is_nan = std::isnan(loss);
  return s;
}

step with_gradient(std::int64_t number, bool is_finite) {
  step s;
  s.key.step = number;
  s.tensors.resize(1);
  s.tensors[0].table.nans = is_finite ? 0 : 1;
  return s;
}

lines after(const std::vector<step>& steps) {
  lost_end end;
  for (const step& s : steps) end.see(s);
  return end.lines();
}

TEST_CASE("an end whose loss is not finite is told, by its first step") {
  std::vector<step> steps;
  for (int i = 0; i < 50; ++i) steps.push_back(with_loss(i, i < 30 ? 2.5 : i % 2 == 0 ? infinity : not_known));
  CHECK(after(steps) ==
        lines{"the loss is not finite in all 20 steps that tell, from 30 to the end, and these count here; leave "
              "them out with --steps :30"});
  // Attempts of a step are one.
  steps.push_back(steps.back());
  CHECK(after(steps).front().find("all 20 steps") != std::string::npos);
  steps.pop_back();
  steps.pop_back();
  CHECK(after(steps).empty());  // few
  steps.push_back(with_loss(49, not_known));
  steps.push_back(with_loss(50, 2.5));
  CHECK(after(steps).empty());
}

TEST_CASE("gradients tell where the loss was not logged, and a loss that was tells more") {
  std::vector<step> steps{with_gradient(0, true)};
  for (int i = 1; i <= 25; ++i) steps.push_back(with_gradient(i, false));
  CHECK(after(steps) ==
        lines{"gradients are not finite in all 25 steps that tell, from 1 to the end, and these count here; leave "
              "them out with --steps :1"});
  for (step& s : steps) s.scalars.loss = 2.5;
  CHECK(after(steps).empty());
  // Without a step before it nothing is left.
  steps.erase(steps.begin());
  for (step& s : steps) s.scalars.loss = infinity;
  CHECK(after(steps).empty());
}

}  // namespace
