// --scalars: what a training loop logged, merged into the steps of another input.
#include <cmath>

#include "io/builders.hpp"
#include "support/catch.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

const std::string histogram =
    "step,tensor,n,zero,nan,inf,max_abs,e_min,counts\n"
    "0,t,1,0,0,0,1,0,1\n"
    "10,t,1,0,0,0,1,0,1\n";

source_options scalars_from(const std::string& file) {
  source_options options;
  options.scalars = file;
  return options;
}

}  // namespace

TEST_CASE("scalars: merged by step, other steps are fine") {
  const playground place;
  place.write("h.csv", histogram);
  place.write("s.csv",
              "step,loss,grad_norm,lr,scale,found_inf,applied,note\n5,9,9,9,9,1,1,x\n10,0.5,2,1e-4,1024,1,0,y\n");
  const contents read = place.open(std::vector<std::string>{"h.csv"}, scalars_from("s.csv"));
  REQUIRE(read.steps.size() == 2);
  CHECK(std::isnan(read.steps[0].scalars.loss));
  const step_scalars& merged = read.steps[1].scalars;
  CHECK(merged.loss == 0.5);
  CHECK(merged.grad_norm == 2);
  CHECK(merged.learning_rate == 1e-4);
  CHECK(merged.loss_scale == 1024);
  CHECK(merged.found_inf == true);
  CHECK(merged.applied == false);
}

TEST_CASE("scalars: fill what a step log or a table does not say, and replace what it does") {
  const playground place;
  const auto with = [&](const std::string& run, const std::string& scalars) {
    place.write("run.csv", run);
    place.write("s.csv", scalars);
    return place.open(std::vector<std::string>{"run.csv"}, scalars_from("s.csv"));
  };
  const contents log = with("step,maxabs,loss,scale\n0,inf,7,2\n", "step,loss,found_inf\n0,8,1\n");
  CHECK(log.description == "step log");
  CHECK(log.steps[0].scalars.loss == 8);
  CHECK(log.steps[0].scalars.found_inf == true);
  CHECK(log.steps[0].scalars.loss_scale == 2);
  const contents table = with("step,found_inf,loss\n0,1,7\n", "step,loss,scale\n0,8,\n");
  CHECK(table.description == "table of a run (CSV)");
  CHECK(table.steps[0].scalars.loss == 8);
  CHECK(table.steps[0].scalars.found_inf == true);
  CHECK(std::isnan(table.steps[0].scalars.loss_scale));
}

TEST_CASE("scalars: each way they can be wrong") {
  const playground place;
  place.write("h.csv", histogram);
  place.write("a.step0003.npy", npy(npy_dict("<f4", "()"), "1234"));
  const auto error_of = [&](const std::string& scalars, const std::string& input = "h.csv") {
    place.write("s.csv", scalars);
    return place.error(std::vector<std::string>{input}, scalars_from("s.csv"));
  };
  CHECK(error_of("") == "s.csv: is empty");
  CHECK(error_of("loss\n1\n") == "s.csv: line 1: the column 'step' is missing");
  CHECK(error_of("step,acc\n1,1\n") ==
        "s.csv: line 1: none of the columns loss, grad_norm, lr, scale, found_inf, applied is here");
  CHECK(error_of("step,loss\n") == "s.csv: holds no rows below its header");
  CHECK(error_of("step,loss\n1,x\n") == "s.csv: line 2, column 'loss': 'x' is not a number");
  CHECK(error_of("step,loss\n1\n") == "s.csv: line 2, column 'loss': the field is missing; the line has 1");
  CHECK(error_of("step,loss\n1,1\n1,1\n") == "s.csv: line 3, column 'step': step 1 follows step 1; steps must ascend");
  CHECK(error_of("step,loss\n1,1\n") == "s.csv: column 'step': none of its steps is one of the input's");
  CHECK(error_of("step,loss\n1,1\n", "a.step0003.npy") ==
        "s.csv: column 'step': none of its steps is one of the input's, which begin at step 3");
  CHECK(place.error(std::vector<std::string>{"h.csv"}, scalars_from("absent.csv")) ==
        "absent.csv: No such file or directory");
  CHECK(place.error(std::vector<std::string>{"h.csv"}, scalars_from("")).empty());
}

TEST_CASE("scalars that are given as the input are a table of the run") {
  const playground place;
  for (const char* const text : {"step,loss\n0,1\n", "step,loss,grad_norm,lr\n0,1,1,1\n", "step,scale,applied\n0,1,1\n",
                                 "step,loss,found_inf\n0,1,0\n"})
    CHECK(place.open("a.csv", text).description == "table of a run (CSV)");
  CHECK_FALSE(place.error("a.csv", "step,accuracy\n0,1\n").empty());
  CHECK(place.open("a.csv", "step,scale,found_inf\n0,1,0\n").description == "step log");
}

TEST_CASE("scalars: columns by the names that tools give them, and by --columns") {
  const playground place;
  place.write("h.csv", histogram);
  source_options options = scalars_from("s.csv");
  place.write("s.csv", "_step,train/loss,optim/grad_norm,lr-AdamW,val/loss\n0,5,1,1e-4,\n10,4,2,1e-5,6\n");
  const contents read = place.open(std::vector<std::string>{"h.csv"}, options);
  CHECK(read.steps[1].scalars.loss == 4);
  CHECK(read.steps[1].scalars.grad_norm == 2);
  CHECK(read.steps[1].scalars.learning_rate == 1e-5);
  CHECK(read.notes.back().find("loss from 'train/loss'") != std::string::npos);
  options.columns = {{"loss", "val/loss"}, {"lr", ""}};
  const contents told = place.open(std::vector<std::string>{"h.csv"}, options);
  CHECK(std::isnan(told.steps[0].scalars.loss));
  CHECK(told.steps[1].scalars.loss == 6);
  CHECK(std::isnan(told.steps[1].scalars.learning_rate));
  place.write("s.csv", "{\"_step\": 0, \"train\": {\"loss\": NaN}}\n{\"_step\": 10, \"train\": {\"loss\": 3}}\n");
  options.columns.clear();
  const contents lines = place.open(std::vector<std::string>{"h.csv"}, options);
  CHECK(lines.steps[0].scalars.loss_is_nan);
  CHECK(lines.steps[1].scalars.loss == 3);
}

TEST_CASE("scalars: a NaN that was logged is not an empty field") {
  const playground place;
  place.write("log.csv", "step,found_inf,loss,grad_norm,scale\n0,1,nan,,2\n1,0,,nan,1\n2,0,3,inf,1\n");
  const contents read = place.open(std::vector<std::string>{"log.csv"});
  REQUIRE(read.steps.size() == 3);
  CHECK(read.steps[0].scalars.loss_is_nan);
  CHECK_FALSE(read.steps[0].scalars.grad_norm_is_nan);
  CHECK_FALSE(read.steps[1].scalars.loss_is_nan);
  CHECK(read.steps[1].scalars.grad_norm_is_nan);
  CHECK_FALSE(read.steps[2].scalars.grad_norm_is_nan);
  // A number that --scalars gives replaces it, and an empty field leaves it.
  place.write("s.csv", "step,loss,grad_norm\n0,8,\n1,,\n2,nan,1\n");
  const contents filled = place.open(std::vector<std::string>{"log.csv"}, scalars_from("s.csv"));
  CHECK_FALSE(filled.steps[0].scalars.loss_is_nan);
  CHECK(filled.steps[1].scalars.grad_norm_is_nan);
  CHECK(filled.steps[2].scalars.loss_is_nan);
  CHECK(std::isnan(filled.steps[2].scalars.loss));
}

TEST_CASE("scalars: a norm of -1 is one that is not finite, and no number") {
  const playground place;
  place.write("log.csv", "step,found_inf\n0,1\n1,0\n");
  place.write("s.csv", "step,grad_norm\n0,-1\n1,-2\n");
  const contents read = place.open(std::vector<std::string>{"log.csv"}, scalars_from("s.csv"));
  CHECK(read.steps[0].scalars.grad_norm_is_nan);
  CHECK_FALSE(read.steps[1].scalars.grad_norm_is_nan);
  CHECK(std::isnan(read.steps[1].scalars.grad_norm));
}
