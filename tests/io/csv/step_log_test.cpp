#include <cmath>

#include "io/builders.hpp"
#include "support/catch.hpp"

using namespace ulp;
using namespace ulp::test;

TEST_CASE("step log: found_inf in every spelling, gaps in the steps") {
  const playground place;
  const contents read = place.open("a.csv", "found_inf,step\n0,1\n1,2\nfalse,10\nTrue,11\n0.0,12\n1.0,13\n");
  CHECK(read.description == "step log");
  CHECK(read.tensors.empty());
  const std::vector<bool> expected{false, true, false, true, false, true};
  const std::vector<std::int64_t> steps{1, 2, 10, 11, 12, 13};
  REQUIRE(read.steps.size() == 6);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    CHECK(read.steps[i].key.step == steps[i]);
    CHECK(read.steps[i].scalars.found_inf == expected[i]);
    CHECK_FALSE(read.steps[i].max_abs);
  }
}

TEST_CASE("step log: maxabs may be nan or infinite") {
  const playground place;
  const contents read = place.open("a.csv", "step,maxabs,hex\n0,0.25,x\n1,nan,y\n2,inf,\n3,1e-40,\n");
  REQUIRE(read.steps.size() == 4);
  CHECK(read.steps[0].max_abs == 0.25);
  CHECK(std::isnan(read.steps[1].max_abs.value()));
  CHECK(read.steps[2].max_abs == HUGE_VAL);
  CHECK(read.steps[3].max_abs == 1e-40);
  CHECK_FALSE(read.steps[0].scalars.found_inf);
}

TEST_CASE("step log: further columns are ignored") {
  const playground place;
  const contents read = place.open("a.csv", "step,maxabs,found_inf,loss,applied\n4,1,0,n/a,yes\n5,1,,,\n");
  CHECK(read.steps.at(0).scalars.found_inf == false);
  CHECK(std::isnan(read.steps.at(0).scalars.loss_scale));
  CHECK_FALSE(read.steps.at(1).scalars.found_inf);
}

TEST_CASE("step log: with the loss scale come the scalars of its steps") {
  const playground place;
  const contents read = place.open("a.csv", "step,found_inf,loss_scale,loss,applied\n4,1,1024,2.5,0\n5,0,512,,\n");
  CHECK(read.steps.at(0).scalars.loss_scale == 1024);
  CHECK(read.steps.at(0).scalars.loss == 2.5);
  CHECK(read.steps.at(0).scalars.applied == false);
  CHECK(read.steps.at(1).scalars.loss_scale == 512);
  CHECK(read.steps.at(1).scalars.found_inf == false);
  CHECK(place.error("a.csv", "step,found_inf,scale\n4,1,big\n") ==
        "a.csv: line 2, column 'scale': 'big' is not a number");
}

TEST_CASE("step log: one in which steps go back is read as a table of a run") {
  const playground place;
  const contents again =
      place.open("a.csv", "step,scale,loss,found_inf\n0,8,2,0\n1,8,2,1\n2,4,3,0\n1,4,3,0\n2,4,3,0\n");
  CHECK(again.description != "step log");
  CHECK(again.steps.size() == 3);
  CHECK(place.open("a.csv", "step,scale,loss,found_inf\n0,8,2,0\n1,8,2,1\n").description == "step log");
  CHECK(place.error("a.csv", "step,scale,maxabs\n1,8,2\n1,8,2\n").find("steps must ascend") != std::string::npos);
  // A scale that is logged once the scaler has changed it.
  const std::string after = "step,scale,loss,found_inf\n0,8,2,0\n1,4,2,1\n2,4,2,0\n3,4,2,0\n";
  const contents late = place.open("a.csv", after);
  CHECK(late.description != "step log");
  CHECK(late.steps[1].scalars.found_inf == true);
  CHECK(place.open("a.csv", "step,scale,loss,found_inf\n0,8,2,0\n1,8,2,1\n2,4,2,0\n3,4,2,0\n").description ==
        "step log");
}

TEST_CASE("step log: each way it can be wrong") {
  const playground place;
  CHECK(place.error("a.csv", "step,found_inf\n") == "a.csv: holds no rows below its header");
  CHECK(place.error("a.csv", "step,found_inf\n0,\n") == "a.csv: line 2, column 'found_inf': the field is empty");
  CHECK(place.error("a.csv", "step,maxabs\n0,\n") == "a.csv: line 2, column 'maxabs': '' is not a number");
  CHECK(place.error("a.csv", "step,maxabs\n0,-1\n") ==
        "a.csv: line 2, column 'maxabs': a largest magnitude cannot be below zero");
  CHECK(place.error("a.csv", "step,maxabs\n3,1\n3,1\n") ==
        "a.csv: line 3, column 'step': step 3 follows step 3; steps must ascend");
  CHECK(place.error("a.csv", "step,found_inf\n3,maybe\n") ==
        "a.csv: line 2, column 'found_inf': 'maybe' is not one of 0, 1, true, false");
}
