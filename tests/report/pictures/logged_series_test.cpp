// Pins what is drawn of a log: only what was logged is a series, a value holds until the next, and what is infinite or NaN is
// kept apart and never lost.
#include <ulp/report/pictures/logged_series.hpp>

#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "support/catch.hpp"

using namespace ulp;

namespace {

std::shared_ptr<const run_picture> run_of(const std::vector<step_scalars>& logged) {
  const auto run = std::make_shared<run_picture>();
  for (std::size_t i = 0; i < logged.size(); ++i) {
    step s;
    s.key.step = 10 * static_cast<std::int64_t>(i);
    s.scalars = logged[i];
    run->add(s, {});
  }
  return run;
}

}  // namespace

TEST_CASE("what was not logged is no series") {
  CHECK(logged_in(run_of({})).empty());
  CHECK(logged_in(run_of({{}, {}})).empty());
  const auto some = logged_in(run_of({{.loss = 2}, {.loss_scale = 1024}}));
  REQUIRE(some.size() == 2);
  CHECK(some[0].what() == logged_value::loss);
  CHECK(some[1].what() == logged_value::scale);
  CHECK(some[1].size() == 1);
  CHECK(some[1].step(0) == 10);
  CHECK(some[1].drawn(0) == 10);  // log2
}

TEST_CASE("a logged value holds until the next") {
  const auto run = run_of({{}, {.loss = 3}, {}, {.loss = 1}});
  const logged_series loss(run, logged_value::loss);
  REQUIRE(loss.size() == 2);
  CHECK(!loss.index_at(9));
  CHECK(loss.index_at(10) == 0U);
  CHECK(loss.index_at(29) == 0U);
  CHECK(loss.index_at(1000) == 1U);
  const extremes all = loss.known().between(0, loss.size(), [&](std::size_t i) { return loss.drawn(i); });
  CHECK(all.least == 1);
  CHECK(all.greatest == 3);
}

TEST_CASE("infinite and NaN values are marked, and zero has no logarithm") {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const auto run = run_of({{.loss = 3, .grad_norm = 0},
                           {.loss = infinity, .grad_norm = 4},
                           {.grad_norm = -infinity, .loss_is_nan = true},
                           {.loss = 1, .grad_norm_is_nan = true}});
  const logged_series loss(run, logged_value::loss);
  CHECK(loss.size() == 4);
  CHECK(loss.lost() == std::vector<std::int64_t>{10, 20});
  CHECK(std::isnan(loss.drawn(1)));
  CHECK(std::isinf(loss.value(1)));
  CHECK(std::isnan(loss.value(2)));
  const logged_series norm(run, logged_value::norm);
  CHECK(norm.lost() == std::vector<std::int64_t>{20, 30});
  CHECK(std::isnan(norm.drawn(0)));
  CHECK(norm.drawn(1) == 2);
}
